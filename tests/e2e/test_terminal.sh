#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# What posref test shows on a terminal: colours and how far it is, which pipes and files do not get.
. "$(dirname "$0")/lib.sh"
if ! command -v script >/dev/null; then
    echo 'skipped: no script (bsdutils), so there was no terminal'
    finish
    exit
fi
db=$work/smoke.db
succeeds generate --suite smoke -o "$db"
export POSREF_DB=$db
program=$(realpath "$POSREF")
esc=$(printf '\033')
judge="test $BUILD/mutants/swaps_pairs.so id=rope/half/none/ op=rotate --suite smoke --dtype f32
    --nonce 1"

# on_terminal NAME=VALUE... -- ARGUMENT...: everything that a terminal gets, in out.
on_terminal() {
    local set=()
    while [ "$1" != -- ]; do set+=("$1") && shift; done
    shift
    env "${set[@]}" script -qec "$size $program $*" /dev/null </dev/null |
        tr -d '\r' >"$work/out"
}
# coloured TEXT COLOUR: that text stands in the colour.
coloured() {
    if grep -qF "${esc}[$2m$1${esc}[0m" "$work/out"; then ok; else
        bad "no $1 in $2: $(head -c 300 "$work/out" | cat -v)"
    fi
}

size=''
# The words of the command are to be split.
# shellcheck disable=SC2086
on_terminal TERM=xterm NO_COLOR= -- $judge
coloured FAIL "1m${esc}[31"
coloured Why: 1
coloured fail 31
coloured '12 of 13' 31
if grep -q "posref: [0-9]* of 13 judged${esc}\[K" "$work/out"; then ok; else
    bad "no progress: $(head -c 300 "$work/out" | cat -v)"
fi
# Without the sequences it is the report of a pipe, to the letter.
sed "s/${esc}\[K//g; s/posref: [0-9]* of [0-9]* judged//g; s/${esc}\[[0-9]*m//g" "$work/out" \
    >"$work/stripped"
# shellcheck disable=SC2086
"$program" $judge >"$work/plain" 2>"$work/err"
same "$(diff "$work/plain" "$work/stripped")" '' 'the text on a terminal and in a pipe'
same "$(grep -c "$esc" "$work/plain" "$work/err" | tr '\n' ' ')" \
    "$work/plain:0 $work/err:0 " 'sequences in pipes'

# A line that went on to a second one would stay there when it is rewritten.
size='stty cols 15;'
# shellcheck disable=SC2086
on_terminal TERM=xterm -- $judge
same "$(grep -o "posref: [0-9]* [^$esc]*${esc}" "$work/out" | sort -u | tr -d "$esc")" \
    'posref: 0 of 1' 'a narrow terminal'
size=''

# shellcheck disable=SC2086
on_terminal TERM=xterm NO_COLOR=1 -- $judge
same "$(grep -c "${esc}\[[0-9]" "$work/out")" 0 'colours that are not wanted'
# shellcheck disable=SC2086
on_terminal TERM=dumb -- $judge
same "$(grep -c "$esc" "$work/out")" 0 'a terminal that can do nothing'
# Lines as they come are not interrupted, a file has no colours, and what passes is green.
# shellcheck disable=SC2086
on_terminal TERM=xterm -- $judge --report jsonl
same "$(grep -c "$esc" "$work/out")" 0 'jsonl'
# shellcheck disable=SC2086
on_terminal TERM=xterm -- $judge --report "text:$work/file"
same "$(diff "$work/plain" "$work/file")" '' 'a file'
on_terminal TERM=xterm -- test "$BUILD/plugins/example_rope.so" id=rope/half/none/d4 op=rotate \
    --suite smoke --dtype f32
coloured PASS "1m${esc}[32"
coloured '1 float32' 32
# A path may hold anything, also the beginning of what looks like a failure's line.
export odd=$work/$'a\n 1.b:\nc'
ln -s "$(realpath "$BUILD/mutants/swaps_pairs.so")" "$odd"
# The shell of on_terminal is to expand it.
# shellcheck disable=SC2016
on_terminal TERM=xterm -- test '"$odd"' id=rope/half/none/ op=rotate --suite smoke --dtype f32 \
    --nonce 1
coloured FAIL "1m${esc}[31"
# An error stands on a line of its own.
on_terminal TERM=xterm -- test "$BUILD/plugins/example_rope.so" scheme=nosuch --suite smoke
same "$(grep -c '^posref test: ' "$work/out")" 1 'an error'
finish
