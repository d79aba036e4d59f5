#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# posref serve with ten thousand connections at once: slow senders, pipelining, half-closed sockets,
# memory that does not grow; and its limit of connections. POSREF_CONNECTIONS sets the number.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 3
# shellcheck source=tests/e2e/server.sh
. tests/e2e/server.sh

# Both ends need descriptors: as many as the system gives a process, 10000 at most.
ulimit -n "$(ulimit -Hn)"
n=${POSREF_CONNECTIONS:-10000}
allowed=$(ulimit -n)
# Slow builds and busy machines: who waits for the others for 15 s is ended as idle.
case ${BUILD:-} in */*san | */valgrind) n=$((n / 5)) ;; esac
# What is freed is to be free: AddressSanitizer keeps 256 MiB of it.
export ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0
if [ "$allowed" != unlimited ] && [ $((allowed - 600)) -lt "$n" ]; then n=$((allowed - 600)); fi

crowd() {
    local line what got want
    while IFS= read -r line; do
        what=${line%:*} got=${line##*: }
        want=${got#* } got=${got% *}
        check "$n connections: $what" "$got" "$want"
    done < <(python3 tests/e2e/connections.py "$port" "$pid" "$n" 2>"$dir/crowd")
    check 'the crowd was heard out' "$(grep -c '^resident' "$dir/crowd")" 1
    grep '^resident' "$dir/crowd" || cat "$dir/crowd"
}

# Two threads with two connections each: at most four are answered, and those who are not do not
# hurt the others.
limit() {
    local fds=() fd i n=0 line
    for ((i = 0; i < 12; i++)); do
        exec {fd}<>"/dev/tcp/127.0.0.1/$port" || break
        fds+=("$fd")
        printf 'GET /v1/suites HTTP/1.1\r\nHost: a\r\n\r\n' >&"$fd"
    done
    for fd in "${fds[@]}"; do
        if IFS= read -r -t 1 line <&"$fd" && [[ $line == *' 200 '* ]]; then n=$((n + 1)); fi
    done 2>/dev/null
    for fd in "${fds[@]}"; do exec {fd}>&-; done
    check '--max-connections 4: some are answered' "$([ $n -ge 1 ] && echo yes)" yes
    check '--max-connections 4: no more at once' "$([ $n -le 4 ] && echo yes)" yes
    sleep 0.5
    get /v1/suites
    check '--max-connections 4: afterwards' "$status" 200
}

refuse_option() {
    local out
    out=$("$posref" serve --db "$db" --listen 127.0.0.1:0 "$1" "$2" 2>&1)
    check "$1 '$2': exit status" "$?" 2
    has "$1 '$2'" "$out" "$1"
}

db=$dir/smoke.db
"$posref" generate --suite smoke -o "$db" 2>"$dir/log" || exit 1
for value in 0 -1 x 1x '' 99999999999999999999 16385; do
    refuse_option --max-connections "$value"
done
for value in '' x 127.0.0.1: '10.0.0.1,' 1.2.3.4,x; do refuse_option --proxy "$value"; done
refuse_option --proxy "$(printf '1.1.1.%d,' {1..16})1.1.1.17"
start --db "$db" --proxy 10.0.0.1,2001:db8::1
crowd
kill -TERM "$pid" && wait "$pid"
check 'exit status' "$?" 0
start --db "$db" --max-connections 4
limit
finish
