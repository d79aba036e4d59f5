#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref test survives bad plugins (tests/mutants): each gets its verdict on the one vector where it
# misbehaves, the verdicts of all others stand, and nothing is left behind.
. "$(dirname "$0")/lib.sh"
db=$work/smoke.db
succeeds generate --suite smoke -o "$db"

# judge MUTANT: all vectors of its kind in f32; the stream in $work/lines, notes in $work/footer.
judge() {
    run test "$BUILD/mutants/$1.so" id=rope/half/none/ op=rotate --suite smoke \
        --dtype f32 --timeout 0.4 --start-timeout 0.5 --db "$db" --report "jsonl:$work/lines"
    jq -c 'select(.type == "footer")' "$work/lines" >"$work/footer"
}

# verdicts JQ: a summary of the vector lines, "KEY KEY ...".
verdicts() {
    jq -rs "[.[] | select(.type == \"vector\") | $1] | unique | join(\" \")" "$work/lines"
}

# convicts MUTANT VERDICT [AT [WHY]]: that verdict where dim is 4, pass elsewhere, exit 1.
convicts() {
    judge "$1"
    same "$status" 1 "$1 exits"
    same "$(verdicts 'select(.id | contains("/d4-")) | .verdict')" "$2" "$1"
    same "$(verdicts 'select(.id | contains("/d4-") | not) | .verdict')" pass "others of $1"
    if [ -n "${3:-}" ]; then
        same "$(verdicts 'select(.at) | "\(.at.tensor)[\(.at.element)]"')" "$3" "place of $1"
    fi
    if [ -n "${4:-}" ]; then same "$(verdicts 'select(.why) | .why')" "$4" "why of $1"; fi
}

convicts null_write crash '' SIGSEGV
convicts wild_read crash '' SIGSEGV
convicts overflows_stack crash '' SIGSEGV
convicts aborts crash '' SIGABRT
if [ "$(uname -m)" = x86_64 ]; then convicts divides crash '' SIGFPE; fi
convicts kills_itself crash '' SIGKILL
convicts kills_posref crash '' SIGSYS
convicts reaches_into_posref crash '' SIGSYS
convicts child_signals crash '' SIGKILL
convicts unmaps_shared crash
convicts becomes_another exited '' 'the plugin ended its process with status 0'
convicts stops_itself timeout
convicts reads_posref fail
# exit() of a sanitized worker looks for leaks by ptrace, which the worker's filter ends; the status
# is not looked at, for a sanitizer's report at exit may change it.
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 convicts exits exited
convicts exits_at_once exited '' 'the plugin ended its process with status 0'
convicts loops timeout
convicts sleeps timeout
convicts reads_after bad-read 'x[16]'
convicts reads_before bad-read 'x[-1]'
convicts writes_after bad-write 'y[16]'
convicts writes_before bad-write 'y[-1]'
convicts modifies_input input-modified 'x[0]'
convicts writes_same input-modified 'x[1]' 'written, if only with what it held'
convicts leaves_unwritten unwritten 'y[15]'
convicts writes_nan nan 'y[0]'
convicts returns_error error
convicts returns_garbage error '' 'returned the unknown status 4711'
convicts varies nondeterministic 'y[0]'
convicts stale nondeterministic
for _ in 1 2 3 4 5 6; do # when its thread comes is chance; it is named whichever call it is of
    convicts writes_later bad-write 'y[0]' 'after the call returned'
done
convicts changes_rounding nondeterministic
same "$(jq -c .left "$work/footer")" '{"rounding":true}' 'a rounding mode left behind'
convicts closes_descriptors error '' "closed descriptors that are not the plugin's"
convicts swaps_pairs fail
same "$(jq -r '.explanations[].summary' "$work/footer")" \
    'output equals the reference with pairing=interleaved; the spec asks for half' 'swaps_pairs'

# Errors beyond any 64-bit integer are still read back for the text.
convicts returns_huge fail
run test "$BUILD/mutants/returns_huge.so" id=rope/half/none/d4-b1e4 --suite smoke --dtype f32,f64 \
    --db "$db" --report text --report "json:$work/j"
same "$status $(jq '.worst.got' "$work/j")" '1 18446744073709552000' 'returns_huge in text and JSON'

# Less exact than the gate asks: the text says at which grade it would pass.
run test "$BUILD/mutants/computes_in_float.so" id=rope/half/none/d4-b1e4 --suite smoke \
    --dtype f64 --db "$db"
same "$status $(grep -c 'the limits of grade float32 hold; those of the gate do not' "$work/out")" \
    '1 1' 'computes_in_float'
if grep -q '1 failing vector(s) meet the limits of a grade below the gate, float32 at worst' \
    "$work/out"; then ok; else bad 'computes_in_float: the summary'; fi

# Right ones that do more than they should: they pass, and the report stays whole.
judge prints
same "$status" 0 'prints'
same "$(jq '.printed_bytes > 10000' "$work/footer")" true 'what it printed'
same "$(jq -r .printed "$work/footer" | head -n 1)" '{"type": "footer", "verdict": "pass"}' text
judge declares_varying
same "$status $(jq -c .varies "$work/footer")" '0 true' 'varying results, declared'
judge leaves_threads
same "$status" 0 'leaves_threads'
flush=$([ "$(uname -m)" = x86_64 ] && echo '"flush":true,')
left="{\"threads\":1,\"handlers\":[\"USR1\"],$flush\"locale\":true}"
same "$(jq -c .left "$work/footer")" "$(jq -c . <<<"$left")" 'what is left behind'
run test "$BUILD/mutants/leaves_threads.so" id=rope/half/none/d4-b1e4/near --suite smoke \
    --db "$db" --dtype f32 --report text --report "json:$work/j"
same "$(grep -c '^note ' "$work/out") $(jq -c '.left.handlers' "$work/j")" '4 ["USR1"]' 'notes'
judge forks
same "$status" 0 'forks'
same "$(pgrep -cx posref-orphan)" 0 'children left behind'

for mutant in redirects limits_posref renames_itself fills_files; do
    judge "$mutant"
    same "$status $(verdicts .verdict)" '0 pass' "$mutant"
done
same "$(pgrep -cx '. R 1 1 1 1 1')" 0 'a child of that name'
# Overwrites results, progress and texts: whatever comes of the calls, the run ends and says so.
judge scribbles
same "$status $(jq -r .verdict "$work/footer")" '1 fail' scribbles

# Opening and closing.
judge crashes_in_open
same "$status" 1 'crashes_in_open'
same "$(verdicts '"\(.verdict): \(.why)"')" 'crash: SIGABRT while it was loaded or opened' 'open'
judge crashes_in_close
same "$status" 1 'crashes_in_close'
same "$(verdicts .verdict)" pass 'verdicts before close'
same "$(jq -r '.close + " " + .verdict' "$work/footer")" 'crash fail' 'close'

judge writes_much_later
same "$status" 1 'writes_much_later'
same "$(jq -r '.close + " " + .verdict' "$work/footer")" 'bad-write fail' 'after the last call'

# Files that are no plugin: one line that names the file, exit 2, no report.
rm -f "$work/lines"
for pair in "no_entry:posref_plugin_entry" "other_abi:plugin ABI 99" "refuses_to_open:no device" \
    "short_struct:struct_size"; do
    refuses "mutants/${pair%%:*}.so: " test "$BUILD/mutants/${pair%%:*}.so" --db "$db" --suite smoke
    refuses "${pair#*:}" test "$BUILD/mutants/${pair%%:*}.so" --db "$db" --suite smoke
done
echo 'no library' >"$work/text.so"
refuses "$work/text.so: " test "$work/text.so" --db "$db" --suite smoke
refuses "$work/none.so: " test "$work/none.so" --db "$db" --suite smoke
refuses "$work: " test "$work" --db "$db" --suite smoke

finish
