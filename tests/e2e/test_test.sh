#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref test on the example plugin: reports, exit codes, filters, gates, bad input.
. "$(dirname "$0")/lib.sh"
plugin=$BUILD/plugins/example_rope.so
core_db
export POSREF_DB=$db

# Right: everything passes, in every dtype.
succeeds test "$plugin" --report text --report "json:$work/j" --report "jsonl:$work/l"
same "$(tail -n 1 "$work/out" | cut -d: -f1)" PASS 'the last line'
n=$("$POSREF" list --suite core | wc -l)
same "$(grep '"type": "vector"' "$work/l" | grep -vc '"nonce"')" $((4 * n)) 'lines of vectors'
all=$(grep -c '"type": "vector"' "$work/l")
# What is declined altogether has no row, and is listed once: ops, or scalings of an op.
same "$(grep -cE '^[a-z_]+ +[a-z_]+ .* -  *-  *-  *-$' "$work/out")" 0 'rows of dashes'
declined=$(sed -n '/^declined /,/^$/p' "$work/out" | xargs)
case $declined in
*' beit bias, index; '*' rotate ('*longrope*'), table (dynamic, longrope); '*) ok ;;
*) bad "declined: $declined" ;;
esac
case $declined in
*'(none'* | *', none,'* | *' alibi bias'*) bad "taken, not declined: $declined" ;;
*) ok ;;
esac
digest=$(awk '$1 == "core" { print $3 }' "$(dirname "$0")/../../vectors/suites/digests.txt")
same "$(head -n 1 "$work/l" | jq -r '.type + " " + .suite.name + " " + .suite.digest')" \
    "header core $digest" 'the header'
same "$(tail -n 1 "$work/l" | jq -r '.type + " " + .verdict')" 'footer pass' 'the footer'
cp "$work/j" "$work/out"
says '.verdict == "pass" and .grade != "fail" and .explanations == [] and .failures == []'
# Schemes and variants that the example does not claim are declined, and nothing else.
says ".counts.pass + .counts.unsupported == $all and .run.plugin.name == \"example_rope\""
says ".counts.pass >= 4 * $("$POSREF" list --suite core id=rope/half/ | wc -l)"
says '.counts.pass == ([.groups[] | .f64, .f32, .f16, .bf16] | map(.pass) | add)'
says '.worst.error_limits <= 1 and .worst.id != null and .compared >= .judged and .judged > 0'

# Swapped: fails and is named; the first 20 failures each have a command that repeats it alone.
run test "$plugin" op=rotate dim=64 scaling=yarn --config pairing=swapped --fresh none \
    --report text --report "json:$work/j"
same "$status" 1 'swapped'
for sentence in 'pairing=interleaved; the spec asks for half' \
    'pairing=half; the spec asks for interleaved'; do
    if grep -q "output equals the reference with $sentence" "$work/out"; then ok; else
        bad "not said: $sentence"
    fi
done
same "$(grep -c ' id=rope/.* --dtype ' "$work/out")" 20 'commands that repeat a failure'
command=$(grep ' id=rope/.* --dtype ' "$work/out" | sed -n 3p)
cp "$work/j" "$work/out"
says '.verdict == "fail" and .grade == "fail" and .unexplained == 0 and .description == null'
says '[.explanations[] | select(.covers)] | length == 1 and all(.[]; .fault == "pairing" and .advice
    and .formula and .equivalent_after and .residual <= 1 and .spec.scheme == "rope" and
    (.sentences | length == 2 and (map(.vectors) | add) == .[0].vectors * 2))'
says '.failures | length == 20 and all(.[]; .verdict == "fail" and .worst.error_limits > 1)'
bash -c "$command --report json:$work/again" >"$work/out" 2>"$work/err"
same $? 1 "$command"
same "$(jq '.run.vectors' "$work/again")" 1 'vectors of one command'
same "$(jq -r '.failures[0] | .id + " " + .dtype' "$work/again")" \
    "$(jq -r '.failures[2] | .id + " " + .dtype' "$work/j")" 'the failure it repeats'

# A fault that fits some failures of a class and not others is not claimed for it, and what was
# seen is described.
run test "$BUILD/mutants/swaps_some.so" dim=4 rotary_dim=4 scaling=none pairing=half op=rotate \
    direction=forward --dtype f32 --report "json:$work/j" --report "jsonl:$work/l"
same "$status" 1 'swaps_some'
same "$(jq -c '[.explanations, .unexplained > 5, .description.norm, .description.vectors > 5]' \
    "$work/j")" '[[],true,"not kept",true]' 'no claim'

# Two faults are not called a third one, which would give infinities where numbers came. A claim
# says how many failing vectors show it, and what fits them as well. A position drawn anew may miss
# the right angle by so little (modulo 2 pi) that a lower grade's limits hold: not to be explained.
run test "$BUILD/mutants/faulty_rope.so" scheme=rope scaling=none --dtype f32 \
    --config fault=position_int16 --config fault2=position_abs --report "json:$work/j" \
    --report "text:$work/t"
same "$status" 1 'position_int16+position_abs'
cp "$work/j" "$work/out"
says '.explanations[0].fault == "position_int16+position_abs" and .unexplained == 0 and
    all(.explanations[]; .fault != "position_f16") and
    .explanations[0].failing == .grades.fail and
    ([.explanations[] | select(.covers) | .vectors + .untold] | add) == .grades.fail'
claimed=$(jq '[.explanations[] | select(.covers)] | length' "$work/j")
same "$(grep -c 'explains [0-9]* of [0-9]* failing vectors' "$work/t")" "$claimed" 'claims in text'
# Runners-up are no claims: a report for people does not list them as such.
run test "$BUILD/mutants/faulty_rope.so" scheme=rope scaling=none op=rotate --dtype f32 \
    --config fault=theta_bf16 --report "json:$work/j" --report "markdown:$work/m" \
    --report "html:$work/h"
same "$(jq -c '[.explanations[].covers] | [any, all]' "$work/j")" '[true,false]' 'runners-up'
claimed=$(jq '[.explanations[] | select(.covers)] | length' "$work/j")
same "$(grep -c 'explains [0-9]* of [0-9]* failing vectors' "$work/m")" "$claimed" 'in markdown'
same "$(grep -c 'explains [0-9]* of [0-9]* failing vectors' "$work/h")" "$claimed" 'in HTML'

# Exotic faults get an honest description and no name.
for exotic in exotic_square exotic_bent; do
    run test "$BUILD/mutants/$exotic.so" dim=4 rotary_dim=4 scaling=none pairing=half op=rotate \
        direction=forward --dtype f32 --report "json:$work/j"
    norm=$([ $exotic = exotic_square ] && echo kept || echo 'not kept')
    same "$status $(jq -c '[.explanations, .description.norm]' "$work/j")" "1 [[],\"$norm\"]" \
        "$exotic"
done

# Filters and dtypes.
run test "$plugin" id=rope/half/none/d4-b1e4/near --dtype bf16,f64 --report "jsonl:$work/l"
same "$(jq -r 'select(.type == "vector") | .dtype' "$work/l" | tr '\n' ' ')" 'f64 bf16 ' 'dtypes'
refuses 'no vector matches' test "$plugin" dim=4 dim=6
refuses 'pairng: unknown key; did you mean pairing?' test "$plugin" pairng=half
refuses 'suite' test "$plugin" --suite nope
refuses "declined every vector" test "$BUILD/mutants/aborts.so" scheme=alibi --report "json:$work/j"
refuses '--dtype' test "$plugin" --dtype f32,f8
refuses '--dtype' test "$plugin" --dtype ''
refuses '--min-grade' test "$plugin" --min-grade perfect
refuses '--min-grade' test "$plugin" --min-grade fail
refuses '--report' test "$plugin" --report yaml
refuses '--report' test "$plugin" --report json:
refuses '--config' test "$plugin" --config swapped
refuses '--config' test "$plugin" --config 'a=b c=d'
refuses 'pairing=other' test "$plugin" --config pairing=other
refuses '--timeout' test "$plugin" --timeout 0
refuses '--timeout' test "$plugin" --timeout soon
refuses '--frob' test "$plugin" --frob 1
refuses '--suite' test "$plugin" --suite
refuses 'PLUGIN' test
refuses 'dim' test "$plugin" dim
refuses "$work/none" test "$plugin" --db "$work/none"

# Gates: exact means float32 where the output has no more digits to show.
succeeds test "$plugin" id=rope/half/none/d4-b1e4/near --min-grade exact --report "json:$work/j"
same "$(command jq -c .run.gates "$work/j")" \
    '{"f64":"exact","f32":"float32","f16":"float32","bf16":"float32"}' 'gates'

# Channels that came back as copies were not rotated, however little the dtype would show of it.
run test "$BUILD/mutants/exponent_over_dim.so" id=rope/interleaved/none/d128-r64-b5e6/near \
    --dtype bf16 --report "json:$work/j"
same "$status $(jq -c '[.unexplained, .explanations[0].fault]' "$work/j")" \
    '1 [0,"exponent_over_dim"]' 'the width is not blamed'
same "$(jq '[.explanations[].fault] | index("rotary_dim_ignored")' "$work/j")" null 'no false cause'

# A plugin that hangs in every call of a group is not waited for without end.
run test "$BUILD/mutants/sleeps.so" dim=4 scaling=none pairing=half op=rotate rotary_dim=4 \
    --dtype f32 --timeout 0.2 --start-timeout 0.2 --fresh none --report "jsonl:$work/l"
same "$status" 1 'sleeps'
same "$(jq -s '[.[] | select(.verdict == "timeout")] | length > 10' "$work/l")" true 'timeouts'
same "$(jq -s '[.[] | select(.verdict == "timeout" and .why == null)] | length' "$work/l")" 3 \
    'timeouts that were waited for'

# A report that cannot be written: exit 3, and the others are there.
run test "$plugin" dim=4 op=frequencies --report "json:$work/no/such" --report "json:$work/j2"
same "$status" 3 'a report nowhere'
same "$(jq -r .verdict "$work/j2")" pass 'the report beside it'
if [ -e /dev/full ]; then
    rm -f "$work/j2"
    run test "$plugin" dim=4 op=frequencies --report json:/dev/full --report "json:$work/j2"
    same "$status" 3 'a full disk'
    same "$(jq -r .verdict "$work/j2")" pass 'the other report'
fi

succeeds test --help
help_text=$(cat "$work/out")
for option in suite dtype min-grade config report timeout start-timeout memory strict db; do
    if grep -q -- "--$option" <<<"$help_text"; then ok; else bad "--help lacks --$option"; fi
done

finish
