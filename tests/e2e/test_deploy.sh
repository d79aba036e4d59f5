#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# What docs/deploy.md offers: the systemd unit verifies, and two replicas behind nginx as a cache
# answer as one does, from the cache where they may, and through the loss of a replica.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 3
# shellcheck source=tests/e2e/server.sh
. tests/e2e/server.sh

unit() {
    local out
    if ! command -v systemd-analyze >/dev/null; then return; fi
    sed "s|/usr/local/bin/posref|$posref|" docs/deploy/posref.service >"$dir/posref.service"
    out=$(systemd-analyze verify "$dir/posref.service" 2>&1 | grep posref.service)
    check 'the unit verifies' "$out" ''
}

# proxy: nginx with the document's configuration, its ports and paths made ours; sets proxy.
proxy() {
    local port=$((20000 + $$ % 20000))
    sed -e "s|127.0.0.1:8081|${first#http://}|; s|127.0.0.1:8082|${second#http://}|" \
        -e "s|listen 8080|listen 127.0.0.1:$port|; s|/var/cache/nginx/posref|$dir/cache|" \
        docs/deploy/nginx.conf >"$dir/posref.conf"
    cat >"$dir/nginx.conf" <<CONF
daemon off;
worker_processes 1;
pid $dir/nginx.pid;
error_log $dir/nginx.log;
events { }
http { access_log off; include $dir/posref.conf; }
CONF
    chmod 755 "$dir"
    nginx -c "$dir/nginx.conf" 2>>"$dir/nginx.log" &
    nginx_pid=$!
    url=http://127.0.0.1:$port
    local i
    for ((i = 0; i < 100; i++)); do curl -s -o /dev/null "$url/healthz" && return; sleep 0.1; done
    cat "$dir/nginx.log"
    bad 'nginx did not start'
}

cached() {
    local id=rope/half/none/d64-b1e4/near path etag digest
    digest=$(curl -s "$first/v1/suites" | jq -r '.suites[-1].digest')
    for path in "/v1/vectors/$id" "/v1/vectors/$id?digest=$digest" '/v1/vectors?limit=20' \
        '/v1/eval?dim=8&positions=1'; do
        curl -s "$first$path" >"$dir/want"
        get "$path"
        check "$path: first" "$(header x-cache)" MISS
        same "$path: the replica's bytes" want body
        etag=$(header etag)
        get "$path"
        check "$path: again" "$(header x-cache)" HIT
        same "$path: the same bytes from the cache" want body
        get "$path" -H "If-None-Match: $etag"
        check "$path: 304" "$status" 304
    done
    # The cache keeps forms apart.
    get "/v1/vectors/$id" -H 'Accept: application/vnd.safetensors'
    check 'another form: status' "$status $(header content-type)" '200 application/vnd.safetensors'
    get "/v1/vectors/$id" -H 'Accept-Encoding: gzip'
    check 'gzip through the cache' "$(header content-encoding)" gzip
    gunzip <"$dir/body" >"$dir/unpacked"
    curl -s "$first/v1/vectors/$id" >"$dir/want"
    same 'gzip: the same content' want unpacked
    get /healthz
    check 'health is not kept' "$(header x-cache)" MISS
    get /healthz
    check 'health is not kept' "$(header x-cache)" MISS
    get "/v1/database/$(sha256sum <"$db" | cut -d' ' -f1)" -H 'Range: bytes=0-14'
    check 'a range through the proxy' "$status $body" '206 SQLite format 3'
}

loses_a_replica() {
    local i good=0
    kill -KILL "$second_pid" && wait "$second_pid" 2>/dev/null
    for ((i = 0; i < 20; i++)); do
        get "/v1/eval?dim=8&positions=$i,7"
        if [ "$status" = 200 ]; then good=$((good + 1)); fi
    done
    check 'answers after a replica is gone' "$good" 20
}

unit
command -v nginx >/dev/null || { echo 'no nginx here'; finish; exit $?; }
core_db
start --db "$db"
second=$url second_pid=$pid
start --db "$db"
first=$url
trap 'kill "$nginx_pid" "$second_pid" 2>/dev/null; cleanup' EXIT
proxy
cached
loses_a_replica
kill "$nginx_pid" && wait "$nginx_pid" 2>/dev/null
finish
