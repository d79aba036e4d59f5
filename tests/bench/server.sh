#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# posref serve against nginx serving the same bytes as static files, by wrk: requests a second, the
# 99th percentile and the server's CPU time a request, interleaved in one run, the median of the
# rounds' ratios. wrk has the first CPU to itself, the server in turn the others.
#
#   server.sh PROGRAM [ROUNDS] [SECONDS] [NAME...]     NAME: only these lines
#
# nginx and wrk are Debian's. Nothing but wrk should run beside them; what does is outranked as far
# as the system lets us (a session is an autogroup, with a niceness of its own).
set -uo pipefail

if [ "${BENCH_OWN_SESSION:-}" = '' ]; then BENCH_OWN_SESSION=1 exec setsid -w "$0" "$@"; fi
{ echo -20 >/proc/self/autogroup; } 2>/dev/null
posref=$1 rounds=${2:-5} seconds=${3:-3}
shift $(($# < 3 ? $# : 3))
only=" $* "
for tool in nginx wrk jq; do
    command -v $tool >/dev/null || {
        echo "bench-server: no $tool here (apt-get install $tool)"
        exit 77
    }
done
dir=$(mktemp -d) || exit 3
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
chmod 755 "$dir"
last=$(($(nproc) - 1)) client=() server=()
if [ $last -gt 0 ]; then client=(taskset -c 0) server=(taskset -c "1-$last"); fi

"$posref" generate --suite core -o "$dir/core.db" 2>/dev/null || exit 3
"${server[@]}" "$posref" serve --listen 127.0.0.1:0 --db "$dir/core.db" 2>"$dir/log" &
pids+=($!)
our_pids=$!
until grep -qs 'listening on' "$dir/log"; do sleep 0.1; done
ours=$(sed -n 's/^posref serve: listening on //p' "$dir/log")
port=$((20000 + $$ % 20000))
theirs=http://127.0.0.1:$port

# The vector whose JSON is nearest to 4 KB, and a page of 100 summaries.
id=$(sqlite3 "$dir/core.db" "SELECT v.id FROM vector v JOIN document d ON d.vector = v.n
    ORDER BY abs(length(d.json) - 4096), v.n LIMIT 1") && [ -n "$id" ] || exit 3
page='/v1/vectors?limit=100'
mkdir "$dir/www"
curl -s "$ours/v1/vectors/$id" >"$dir/www/vector.json"
curl -s "$ours$page" >"$dir/www/page.json"
curl -s "$ours/v1/vectors/rope/half/yarn/d128-b1e6-f4-o32768/long" |
    jq -c '.outputs.y.data |= map(. * 1.3 + 0.01) | {spec, inputs, outputs}' >"$dir/failure.json"
cat >"$dir/nginx.conf" <<CONF
daemon off;
worker_processes $((last > 0 ? last : 1));
pid $dir/nginx.pid;
error_log $dir/error.log;
events { worker_connections 1024; }
http {
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    types { application/json json; }
    open_file_cache max=100;
    server { listen 127.0.0.1:$port; root $dir/www; }
}
CONF
"${server[@]}" nginx -c "$dir/nginx.conf" 2>"$dir/error.log" &
pids+=($!)
for _ in {1..50}; do curl -s -o /dev/null "$theirs/vector.json" && break; sleep 0.1; done
their_pids=$(pgrep -P $!)

# A spec and positions that differ each request: dim 128 at four positions.
cat >"$dir/eval.lua" <<'LUA'
local n = 0
request = function()
  n = n + 1
  local p = (n * 7919) % 1000000
  return wrk.format("GET", string.format(
    "/v1/eval?scheme=rope&dim=128&base=%d&positions=%d,%d,%d,%d",
    10000 + n % 900000, p, p + 1, p + 17, p + 4096))
end
LUA

# Nanoseconds of CPU that all threads of the processes have used.
cpu_of() {
    local p
    for p in "$@"; do cat "/proc/$p"/task/*/schedstat; done 2>/dev/null |
        awk '{ t += $1 } END { printf "%.0f", t }'
}

# measure PIDS URL [WRK OPTION...]: sets rate (requests a second), p99 and cpu (microseconds) and
# errors.
measure() {
    local server_pids=$1 url=$2 before
    shift 2
    # shellcheck disable=SC2086
    before=$(cpu_of $server_pids)
    "${client[@]}" wrk -t1 -c16 -d"${seconds}s" --latency "$@" "$url" >"$dir/wrk"
    # shellcheck disable=SC2086
    cpu=$(awk -v ns="$(($(cpu_of $server_pids) - before))" \
        '/requests in/ { print ns / 1000 / $1 }' "$dir/wrk")
    rate=$(awk '/Requests\/sec/ { print $2 }' "$dir/wrk")
    p99=$(awk '$1 == "99%" { v = $2 + 0; if ($2 ~ /ms$/) v *= 1000; else if ($2 !~ /us$/) v *= 1e6;
        print v }' "$dir/wrk")
    errors=$(grep -cE 'Non-2xx|Socket errors' "$dir/wrk")
}

# What runs beside "beside": a client that has a failure explained and one with the largest
# evaluation, again and again. beside_no_more says how often.
long_requests=()
again() {
    while :; do
        "${client[@]}" curl -s --max-time 60 -o /dev/null -w '%{http_code}\n' "$@"
    done
}
beside() {
    if [ "$1" != beside ]; then return; fi
    again -H 'Content-Type: application/json' --data-binary "@$dir/failure.json" \
        "$ours/v1/explain" >>"$dir/explained" &
    long_requests=($!)
    again "$ours/v1/eval?dim=128&positions=0..2047" >>"$dir/evaluated" &
    long_requests+=($!)
}
beside_no_more() {
    if [ ${#long_requests[@]} -eq 0 ]; then return; fi
    kill "${long_requests[@]}"
    wait "${long_requests[@]}" 2>/dev/null
    long_requests=()
    sleep 2 # what was begun is still answered
}

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# compare NAME LEAST-RATIO OUR-URL OUR-OPTIONS THEIR-URL THEIR-OPTIONS (options: one word or none)
compare() {
    local name=$1 least=$2 i
    if [[ "$only" =~ [^\ ] && "$only" != *" $name "* ]]; then return; fi
    : >"$dir/rows"
    for ((i = 0; i < rounds; i++)); do
        # shellcheck disable=SC2086
        measure "$their_pids" "$5" $6
        local their_rate=$rate their_p99=$p99 their_cpu=$cpu
        beside "$name"
        # shellcheck disable=SC2086
        measure "$our_pids" "$3" $4
        beside_no_more
        echo "$rate $p99 $their_rate $their_p99 $errors $cpu $their_cpu" >>"$dir/rows"
    done
    column() { cut -d' ' -f"$1" "$dir/rows" | median; }
    printf '%-7s %8.0f/s  nginx %8.0f/s  ratio %.2f (at least %s)  p99 %.0f us, nginx %.0f us' \
        "$name" "$(column 1)" "$(column 3)" "$(awk '{ print $1 / $3 }' "$dir/rows" | median)" \
        "$least" "$(column 2)" "$(column 4)"
    printf '  CPU %.1f us, nginx %.1f us%s\n' "$(column 6)" "$(column 7)" \
        "$(awk '{ n += $5 } END { if (n) print "  ERRORS" }' "$dir/rows")"
}

tag() { curl -sI "$1" | tr -d '\r' | sed -n 's/^ETag: //Ip'; }
printf 'wrk.headers["If-None-Match"] = %s\n' "'$(tag "$ours/v1/vectors/$id")'" >"$dir/ours.lua"
printf 'wrk.headers["If-None-Match"] = %s\n' "'$(tag "$theirs/vector.json")'" >"$dir/theirs.lua"

echo "$(nginx -v 2>&1), $(wrk -v 2>&1 | head -n 1 | cut -d' ' -f1,2); $(nproc) CPUs," \
    "load $(cut -d' ' -f1 /proc/loadavg); $rounds rounds of $seconds s"
compare vector 1.0 "$ours/v1/vectors/$id" '' "$theirs/vector.json" ''
compare beside 1.0 "$ours/v1/vectors/$id" '' "$theirs/vector.json" ''
if [ -s "$dir/explained" ]; then
    echo "        beside $(grep -c 200 "$dir/explained") explanations and" \
        "$(grep -c 200 "$dir/evaluated") evaluations of 2048 positions"
fi
compare 304 1.0 "$ours/v1/vectors/$id" "-s$dir/ours.lua" "$theirs/vector.json" ''
compare 304/304 1.0 "$ours/v1/vectors/$id" "-s$dir/ours.lua" "$theirs/vector.json" \
    "-s$dir/theirs.lua"
compare eval 0.2 "$ours" "-s$dir/eval.lua" "$theirs/vector.json" ''
compare page 0.2 "$ours$page" '' "$theirs/page.json" ''
