#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref test outlives plugins that turn on posref itself, and a run that is broken off.
. "$(dirname "$0")/lib.sh"
db=$work/smoke.db
succeeds generate --suite smoke -o "$db"

# judge MUTANT ARGUMENT...: its verdict where dim is 4 in $verdict, of the others in $others.
judge() {
    local mutant=$1
    shift
    run test "$BUILD/mutants/$mutant.so" id=rope/half/none/ op=rotate \
        --suite smoke --dtype f32 --timeout 0.5 --db "$db" --report "jsonl:$work/lines" "$@"
    verdict=$(verdicts '(.id | contains("/d4-"))')
    others=$(verdicts '(.id | contains("/d4-") | not)')
}

# verdicts JQ: of the vectors for which it is true.
verdicts() {
    jq -rs "[.[] | select(.type == \"vector\") | select($1) | .verdict] | unique | join(\" \")" \
        "$work/lines"
}

judge cuts_memory
same "$status $verdict $others" '0 pass pass' cuts_memory

judge claims_done
same "$status $verdict $others" '0 pass pass' claims_done
judge writes_far_out
same "$status $verdict $others" '1 crash pass' writes_far_out
judge leaks --memory 300 --timeout 20
same "$status $verdict $others" '1 crash pass' leaks
refuses '--memory' test "$BUILD/mutants/leaks.so" --memory 1

# Broken off: what the plugin started does not stay. Ignored signals (nohup) stay ignored.
"$POSREF" test "$BUILD/mutants/daemonises.so" id=rope/half/none/d4-b1e4/near op=rotate \
    --suite smoke --dtype f32 --timeout 9 --start-timeout 9 --db "$db" >"$work/out" 2>&1 &
run_pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    if pgrep -x posref-daemon >"$work/daemon"; then break; fi
    sleep 0.1
done
kill -HUP "$run_pid"
wait "$run_pid"
same $? 129 'a run that is broken off'
same "$(wc -l <"$work/daemon")" 1 'daemon that was there'
same "$(pgrep -cx posref-daemon)" 0 'daemons left'

# Files that a plain open or a look into the library path would take wrongly.
mkfifo "$work/pipe.so"
refuses "pipe.so: is no shared library" test "$work/pipe.so" --db "$db" --suite smoke
cp "$BUILD/mutants/swaps_pairs.so" "$work/here.so"
program=$(realpath "$POSREF")
(cd "$work" && "$program" test here.so id=rope/half/none/d4-b1e4/near op=rotate --dtype f32 \
    --db "$db" --suite smoke) >"$work/out" 2>"$work/err"
same $? 1 'a plugin without a directory'

finish
