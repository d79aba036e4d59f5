# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of the service: start it, ask, compare, count. Each script that sources this
# has a server of its own. SERVE_WRAP goes before the server (valgrind, by hand).
# shellcheck shell=bash

# shellcheck source=tests/e2e/json.sh
. "$(dirname "${BASH_SOURCE[0]}")/json.sh"

posref=${POSREF:?the program}
dir=$(mktemp -d) || exit 3
passed=0 failed=0 pid=''
cleanup() {
    if [ -n "$pid" ]; then kill -KILL "$pid" && wait "$pid"; fi 2>/dev/null
    rm -rf "$dir"
}
trap cleanup EXIT

ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL: $*"; }
# check WHAT GOT WANT: equal; has WHAT TEXT PART: TEXT contains PART.
check() { if [ "$2" = "$3" ]; then ok; else bad "$1: got '${2:0:300}', want '${3:0:300}'"; fi; }
has() { if [[ "$2" == *"$3"* ]]; then ok; else bad "$1: no '$3' in '${2:0:400}'"; fi; }
# same WHAT A B: the files of $dir are equal.
same() { if cmp -s "$dir/$2" "$dir/$3"; then ok; else bad "$1"; fi; }
hasnt() { if [[ "$2" != *"$3"* ]]; then ok; else bad "$1: '$3' in '${2:0:400}'"; fi; }

# start [OPTION...]: sets pid, port and url.
start() {
    : >"$dir/log" # another server's words would be taken for its own
    # shellcheck disable=SC2086
    ${SERVE_WRAP:-} "$posref" serve --listen 127.0.0.1:0 "$@" 2>"$dir/log" &
    pid=$!
    local i
    for ((i = 0; i < 900; i++)); do
        if grep -qs 'listening on' "$dir/log"; then break; fi
        if ! kill -0 "$pid" 2>/dev/null; then break; fi
        sleep 0.1
    done
    url=$(sed -n 's/^posref serve: listening on //p' "$dir/log")
    port=${url##*:}
    if [ -z "$url" ]; then
        cat "$dir/log"
        bad 'the server did not start'
        exit 1
    fi
}

# get PATH [CURL OPTION...]: sets status, head (header lines without CR) and body.
get() {
    local path=$1
    shift
    : >"$dir/body"
    status=$(curl -s --max-time 30 -g --path-as-is -o "$dir/body" -D "$dir/head" \
        -w '%{http_code}' "$@" "$url$path")
    head=$(<"$dir/head")
    head=${head//$'\r'/}
    { body=$(<"$dir/body"); } 2>/dev/null # bash warns of the NULs of a safetensors document
}
# header NAME: of the last answer, or nothing.
header() {
    local line
    while IFS= read -r line; do
        if [[ "${line,,}" == "${1,,}: "* ]]; then
            echo "${line#*: }"
            return
        fi
    done <<<"$head"
}
# member NAME: the first in the JSON of the body (strings and numbers, as they are printed).
member() {
    local text='"(([^"\\]|\\.)*)"' other='([^,}]*)'
    if [[ "$body" =~ \"$1\":\ $text ]] || [[ "$body" =~ \"$1\":\ $other ]]; then
        echo "${BASH_REMATCH[1]}"
    fi
}
# refused PATH STATUS PARAM [CURL OPTION...]: a problem document that names the parameter.
refused() {
    local path=$1 want=$2 param=$3
    shift 3
    get "$path" "$@"
    check "$path: status" "$status" "$want"
    check "$path: type" "$(header content-type)" 'application/problem+json'
    check "$path: status member" "$(member status)" "$want"
    check "$path: param" "$(member param)" "$param"
    has "$path: detail" "$body" '"detail": "'
    has "$path: title" "$body" '"title": "'
    check "$path: caching" "$(header cache-control)" 'no-store'
}
# raw TEXT (printf format): sends it on a connection of its own, prints what comes back.
raw() {
    local fd
    exec {fd}<>"/dev/tcp/127.0.0.1/$port" || return 1
    # shellcheck disable=SC2059
    { printf "$1" >&"$fd"; } 2>/dev/null
    timeout "${2:-5}" cat <&"$fd" 2>/dev/null | tr -d '\r\0'
    exec {fd}>&-
}

# core_db: sets db to a database of core, which make has made, or which is made here.
core_db() {
    db=${CORE_DB:-$dir/core.db}
    if [ ! -s "$db" ]; then
        "$posref" generate --suite core -o "$db" 2>"$dir/log" || { cat "$dir/log"; exit 1; }
    fi
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
