#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# posref serve over its life: hostile requests by raw sockets, many connections, a database that is
# replaced under load, the end by SIGTERM.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 3
# shellcheck source=tests/e2e/server.sh
. tests/e2e/server.sh

# ---- hostile clients ---------------------------------------------------------------------------

hostile() {
    local out post='POST /v1/eval HTTP/1.1\r\nHost: a\r\n'
    local end='Host: a\r\nConnection: close\r\n\r\n'
    out=$(raw 'GET /v1/suites HTTP/1.1\r\nConnection: close\r\n\r\n')
    has 'no Host' "$out" 'HTTP/1.1 400'
    has 'no Host: ours' "$out" '/problems/malformed-request'
    out=$(raw 'GET /v1/suites HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n')
    has 'two Hosts' "$out" '/problems/malformed-request'
    out=$(raw 'GET /v1/suites HTTP/1.0\r\n\r\n')
    has 'HTTP/1.0' "$out" ' 200 OK'
    out=$(raw 'GET /v1/suites\000 HTTP/1.1\r\n'"$end")
    has 'NUL in the path' "$out" '/problems/malformed-request'
    out=$(raw 'GET /v1/eval?dim=8\000&base=3 HTTP/1.1\r\n'"$end")
    has 'NUL in the query' "$out" '/problems/malformed-request'
    out=$(raw 'GET /v1/eval?dim=8 x HTTP/1.1\r\n'"$end")
    has 'space in the query' "$out" ' 400 '
    has 'space in the query: ours' "$out" '"param": "dim"'
    out=$(raw 'GET /v1/eval?dim=\xff HTTP/1.1\r\n'"$end")
    has 'raw byte' "$out" '"param": "dim"'
    out=$(raw 'GET http://a/v1/suites HTTP/1.1\r\n'"$end")
    has 'absolute form' "$out" ' 200 OK'
    out=$(raw "GET /v1/eval?$(printf '%%%%26a&%.0s' {1..1500}) HTTP/1.1\r\n$end")
    has 'a thousand parameters: ours' "$out" 'application/problem+json'
    out=$(raw "${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}")
    has 'two lengths' "$out" '/problems/malformed-request'
    out=$(raw "${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    has 'length and chunks' "$out" '/problems/malformed-request'
    out=$(raw "${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")
    has 'unknown coding' "$out" '/problems/malformed-request'
    out=$(raw "${post}Content-Length: 99999999999\r\n\r\n{")
    has 'announced far too large' "$out" ' 413 '
    has 'announced far too large: ours' "$out" '/problems/too-large'
    # Two requests in one packet are answered in order; the second one's end closes.
    out=$(raw "GET /v1/nothing HTTP/1.1\r\nHost: a\r\n\r\nGET /v1/suites HTTP/1.1\r\n$end")
    has 'pipelining' "$(tr '\n' ' ' <<<"$out")" '404'
    has 'pipelining' "${out#*404}" '200 OK'
    # All that our limits allow at once, and more than they allow: the answer is ours.
    local headers
    headers=$(printf 'X: %0120d\\r\\n%.0s' {1..60})
    out=$(raw "GET /v1/eval?dim=$(printf '1,%.0s' {1..4000}) HTTP/1.1\r\n$headers$end")
    has 'an address and headers of 8000 bytes: ours' "$out" '"param": "dim"'
    out=$(raw "GET /$(printf '%020000d' 0) HTTP/1.1\r\n$end")
    has 'an address of 20000 bytes: ours' "$out" '/problems/uri-too-long'
    out=$(raw "GET / HTTP/1.1\r\nX: $(printf '%020000d' 0)\r\n$end")
    has 'a header of 20000 bytes: ours' "$out" '/problems/headers-too-large'
    local line
    for line in 'TRACE /' 'CONNECT a:80' 'OPTIONS *' "$(printf '%03000d' 0) /" '\xff\xfe /' \
        'GET \\v1' 'GET /%c0%af' 'GET /v1/suites#x' 'GET ftp://a/v1/suites' 'GET http://a?x=1'; do
        out=$(raw "$line HTTP/1.1\r\n$end")
        has "${line:0:30}: ours" "$out" 'application/problem+json'
    done
    for line in 'Content-Encoding: identity\r\nContent-Encoding: gzip' \
        'Transfer-Encoding: identity' 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked' \
        'Content-Type: application/json\r\nContent-Type: text/plain' 'Expect: 200-maybe'; do
        out=$(raw "${post}Content-Length: 2\r\n$line\r\nConnection: close\r\n\r\n{}")
        has "$line: ours" "$out" 'application/problem+json'
    done
    # A body that never ends, a request cut short, garbage: nothing of it hurts the others.
    raw "${post}Content-Length: 100\r\n\r\n{" 0.2 >/dev/null
    raw 'GET /v1/suites HTT' 0.2 >/dev/null
    raw '\x16\x03\x01\x00\xa5\x01\x00\x00' 0.2 >/dev/null
    raw '\r\n\r\n\r\n' 0.2 >/dev/null
    get /healthz
    check 'alive' "$status" 200
}

keeps_alive() {
    local n
    n=$(curl -s -o /dev/null -o /dev/null -o /dev/null -w '%{num_connects}\n' \
        "$url/v1/suites" "$url/v1/nothing" "$url/v1/eval?dim=8&positions=1" | paste -sd+)
    check 'three requests on one connection' "$((n))" 1
}

many_connections() {
    local fds=() fd i
    for ((i = 0; i < 300; i++)); do
        exec {fd}<>"/dev/tcp/127.0.0.1/$port" || break
        printf 'GET /v1/suites HTTP/1.1\r\n' >&"$fd"
        fds+=("$fd")
    done
    check 'slow senders connect' "${#fds[@]}" 300
    get /v1/suites
    check 'served beside 300 slow senders' "$status" 200
    for fd in "${fds[@]}"; do exec {fd}>&-; done
}

# ---- life --------------------------------------------------------------------------------------

# Clients that ask all the time, also for what workers do, notice nothing of ten exchanges of the
# database.
reload_under_load() {
    local id clients=() i n
    id=$(head -n 1 "$dir/all")
    for i in 1 2 3; do
        (
            for ((n = 0; n < 40; n++)); do
                curl -s --max-time 30 -o /dev/null -w '%{http_code}\n' "$url/v1/vectors/$id" \
                    "$url/v1/vectors?limit=20" -o /dev/null "$url/v1/vectors?op=table" -o /dev/null
            done >"$dir/client$i"
        ) &
        clients+=($!)
    done
    n=0
    while kill -0 "${clients[@]}" 2>/dev/null && [ $n -lt 10 ]; do
        cp "$db" "$dir/next.db" && mv "$dir/next.db" "$dir/served.db"
        kill -HUP "$pid"
        n=$((n + 1))
        sleep 0.1
    done
    wait "${clients[@]}"
    check 'answers while the database is exchanged' \
        "$(cat "$dir"/client? | sort | uniq -c | xargs)" '360 200'
}

# reopened N: waits until the log says N times that a database was opened anew; prints how often.
reopened() {
    local i
    for ((i = 0; i < 300; i++)); do
        if [ "$(grep -c reopened "$dir/log")" -ge "$1" ]; then break; fi
        sleep 0.1
    done
    grep -c reopened "$dir/log"
}

# Waits until no SIGHUP is pending and no reload runs: what is reloaded here is small and done in
# much less than the second in which nothing happens.
settle() {
    local i before pending
    for ((i = 0; i < 60; i++)); do
        before=$(grep -c reopened "$dir/log")
        sleep 1
        pending=$(awk '/^(Sig|Shd)Pnd:/ { print substr($2, length($2)) }' "/proc/$pid/status")
        if [ "$pending" = $'0\n0' ] && [ "$(grep -c reopened "$dir/log")" = "$before" ]; then
            return
        fi
    done
    bad 'reloads do not come to an end'
}

reload() {
    local i before id
    "$posref" generate --suite smoke -o "$dir/next.db" 2>/dev/null || bad 'generate smoke'
    "$posref" list --db "$dir/next.db" >"$dir/some"
    id=$(grep -vxFf "$dir/some" "$dir/all" | head -n 1)
    for i in 1 2 3; do
        get "/v1/vectors/$id"
        check "$id before the reload" "$status" 200
    done
    mv "$dir/next.db" "$dir/served.db"
    for ((i = 0; i < 300; i++)); do
        get "/v1/vectors/$id"
        if [ "$status" != 200 ]; then break; fi
        sleep 0.1
    done
    check 'a file renamed into place' "$status" 404
    settle
    before=$(grep -c reopened "$dir/log")
    cp "$dir/served.db" "$dir/next.db"
    mv "$dir/next.db" "$dir/served.db"
    check 'a file renamed into place' "$(reopened $((before + 1)))" $((before + 1))
    settle
    kill -HUP "$pid"
    check 'SIGHUP' "$(reopened $((before + 2)))" $((before + 2))
    settle
    check 'one reload each' "$(grep -c reopened "$dir/log")" $((before + 2))
    get '/v1/vectors?limit=1'
    check 'after the reload' "$status" 200
    echo 'no database' >"$dir/next.db"
    mv "$dir/next.db" "$dir/served.db"
    for ((i = 0; i < 300; i++)); do
        if grep -q 'served.db:' "$dir/log"; then break; fi
        sleep 0.1
    done
    has 'what is no database' "$(grep -v '^{' "$dir/log")" 'served.db: '
    get '/v1/vectors?limit=1'
    check 'the old database stays' "$status" 200
}

# A request that is half sent when SIGTERM comes is answered, and so are long ones that wait for a
# worker; the program then exits 0.
drain() {
    local fd idle out long=() n
    for n in 1 2 3 4 5 6; do
        curl -s --max-time 30 -o /dev/null -w '%{http_code}\n' \
            "$url/v1/diff?a=dim%3D1024&b=dim%3D1024%20base%3D1000$n" >"$dir/long$n" &
        long+=($!)
    done
    exec {idle}<>"/dev/tcp/127.0.0.1/$port"
    exec {fd}<>"/dev/tcp/127.0.0.1/$port"
    printf 'POST /v1/eval HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\n\r\n{"spec": {"dim"' >&"$fd"
    sleep 0.5
    kill -TERM "$pid"
    sleep 0.5
    printf ':4' >&"$fd"
    out=$(timeout 5 cat <&"$fd" | tr -d '\r')
    has 'a request that was running' "$out" ' 400 Bad Request'
    has 'tells the client to go' "$out" 'Connection: close'
    check 'an idle connection is closed' "$(timeout 5 cat <&"$idle" && echo closed)" closed
    exec {fd}>&- {idle}>&-
    wait "$pid"
    check 'exit status' "$?" 0
    pid=''
    wait "${long[@]}"
    check 'long requests that were waiting' "$(cat "$dir"/long? | xargs)" '200 200 200 200 200 200'
    if curl -s "$url/" >/dev/null; then bad 'still listens'; else ok; fi
}

core_db
cp "$db" "$dir/served.db"
"$posref" list --db "$db" >"$dir/all" || bad 'posref list'
start --db "$dir/served.db" --access-log
hostile
keeps_alive
many_connections
reload_under_load
reload
drain
finish
