#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# Reports for CI: JUnit, TAP, GitHub, Markdown, HTML; baselines, required ops, shards and merge.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
db=$work/smoke.db plugin=$BUILD/plugins/example_rope.so
succeeds generate --suite smoke -o "$db"
export POSREF_DB=$db
cd "$work" || exit 1
judge() { run test "$plugin" --suite smoke --dtype f32,bf16 --nonce 7 "$@"; }
judge --report jsonl:l
n=$(grep -c '"type": "vector"' l)

# fits FILE...: reports are as schema/ says, by the validator of Debian's python3-jsonschema; that
# of lib.sh, which is ours and quick, looks at every report of every test.
fits() {
    same "$(python3 "$root/tests/e2e/fits_schema.py" "$root/schema" "$@" 2>&1)" '' "fits: $*"
}

# One run, every format: right, then wrong.
all=(--report junit:j.xml --report tap:t --report github:g --report markdown:m --report html:h.html
    --report jsonl:l --report json:j)
for config in '' pairing=swapped; do
    export GITHUB_STEP_SUMMARY=$work/summary
    rm -f summary
    judge ${config:+--config "$config"} "${all[@]}"
    unset GITHUB_STEP_SUMMARY
    wrong=$([ "$config" = pairing=swapped ] && echo 1 || echo 0)
    same "$status" "$wrong" "exit status of '$config'"
    cp l l.jsonl
    fits l.jsonl j
    n_failed_lines=$(grep -c '"verdict": "fail", "grade"' l)
    same "$(xmllint --noout --relaxng "$root/schema/junit.rng" j.xml 2>&1)" 'j.xml validates' junit
    same "$(grep -c '<testcase ' j.xml)" "$n" 'cases of junit'
    same "$(grep -c '<failure ' j.xml)" "$n_failed_lines" 'failures of junit'
    same "$(xmllint --xpath 'sum(//testsuite/@failures)' j.xml)" "$n_failed_lines" 'counted'
    # Debian 12's prove knows versions up to 13, whose lines are the same.
    same "$(head -n 2 t)" "TAP version 14"$'\n'"1..$n" 'the head of TAP'
    sed 's/^TAP version 14/TAP version 13/' t >t13
    prove -Q --exec cat t13 >prove.out 2>&1
    same "$?" "$wrong" 'exit status of prove'
    same "$(grep -c '^not ok' t)" "$n_failed_lines" 'failures of TAP'
    same "$(grep -c '^  repeat: ' t)" "$n_failed_lines" 'commands of TAP'
    if [ "$wrong" = 1 ]; then
        same "$(grep -c '^::error title=rope/' g)" 20 'annotations'
        same "$(grep -c '^  vector: "curl ' t)" \
            "$(jq -s 'map(select(.verdict == "fail" and .worst and .nonce == null)) | length' l)" \
            'curl lines of TAP'
    fi
    same "$(tail -n 1 g | cut -d= -f2)" "posref::$([ "$wrong" = 1 ] && echo fail || echo pass), \
grade $(jq -r .grade j); $n_failed_lines failures" 'the last annotation'
    same "$(cat summary)" "$(cat m)" 'the step summary is the Markdown'
    unknown="Tag [a-z]+ invalid|Misplaced DOCTYPE"
    same "$(xmllint --html --noout h.html 2>&1 | grep 'error :' | grep -vcE "$unknown")" 0 'HTML'
    same "$(grep -c '<circle' h.html | awk '{print ($1 > 100)}')" 1 'dots in the plots'
    same "$(grep -c '<script\|https\?://' h.html)" 0 'HTML needs nothing else'
done
# What no schema says is refused, by both.
for broken in 's/"ns": /"new": 1, &/' 's/"verdict": "fail"/"verdict": "off"/' \
    's/, "counts": {/, "colour": "red"&/' 's/"processors": [0-9]*/"memory": 1/'; do
    { head -n 40 l; tail -n 1 l; } | tee short | sed "$broken" >drift.jsonl
    cmp -s short drift.jsonl && bad "$broken changes nothing"
    python3 "$root/tests/e2e/fits_schema.py" "$root/schema" drift.jsonl >refused
    same "$?" 1 "$broken"
    "$BUILD/tests/e2e/fits_schema" "$root/schema" drift.jsonl 2>refused
    same "$?" 1 "$broken"
done
command jq -c '.failures[0].why2 = ""' j >drift
sed -i 's/^{"verdict":/{"verdict": /' drift
"$BUILD/tests/e2e/fits_schema" "$root/schema" drift 2>refused
same "$? $(grep -c 'unknown member why2' refused)" '1 1' 'a report with a member that is new'
rm -f drift drift.jsonl
command=$(sed -n 's/^  repeat: "\(.*\)"$/\1/p' t | sed -n 5p)
bash -c "$command --report json:again" >/dev/null
same "$(jq -r '.run.vectors' again) $(jq -r '.failures | length' again)" '1 1' 'repeats one'
refuses "'xml' is none of text, json, jsonl, junit, tap, github, markdown, html" \
    test "$plugin" --report xml

# A report that cannot be written: exit 3 after the others are written.
judge --report junit:/nonexistent/x.xml --report json:after
same "$status $(jq -r .verdict after)" '3 pass' 'the other report is written'

# A baseline: known failures pass, new ones and fixed ones do not.
judge --config pairing=swapped --baseline known --update-baseline
same "$status" 1 'the run that writes it fails'
judge --config pairing=swapped --baseline known --report text --report tap:t --report json:j
same "$status $(jq -r '.verdict' j)" '0 pass' 'known failures'
same "$(grep -c '^not ok.*# TO''DO known failure: fail' t)" "$n_failed_lines" 'known ones in TAP'
judge --baseline known --report text
same "$status" 1 'fixed, but still listed'
if grep -q "$n_failed_lines vector(s) passed, but are on the baseline" "$work/out"; then ok; else
    bad 'fixed vectors are not said'
fi
sed -i '/d6-b1e4/d' known
judge --config pairing=swapped --baseline known --report json:j
same "$status" 1 'a new failure'
if [ "$(jq '[.failures[] | select(.id | contains("d6-b1e4"))] | length' j)" -gt 0 ]; then ok; else
    bad 'the new failure is not listed'
fi
same "$(jq '[.failures[] | select(.known)] | length' j)" 0 'known ones are not listed'
echo 'one two' >broken
refuses 'broken: line 1 is not ID DTYPE VERDICT' test "$plugin" --baseline broken
refuses 'nofile: no such file' test "$plugin" --baseline nofile
refuses '--update-baseline: needs --baseline' test "$plugin" --update-baseline
refuses '--update-baseline: needs a run of the whole suite' \
    test "$plugin" op=bias --baseline known --update-baseline
# After a crash it stays as it was.
cp known before
run test "$BUILD/mutants/null_write.so" --suite smoke --dtype f32 --baseline known --update-baseline
same "$status" 1 'a crashing plugin'
same "$(cat known)" "$(cat before)" 'the baseline after a crash'

# Required ops: declined is a failure.
run test "$plugin" --suite smoke --dtype f32 id=alibi --require all
same "$status" 0 'nothing is declined'
run test "$BUILD/mutants/swaps_some.so" --suite smoke --dtype f32 op=bias --report json:j
same "$status" 2 'all declined'
run test "$BUILD/mutants/swaps_some.so" --suite smoke --dtype f32 --require bias --report json:j
same "$status" 1 'a required op'
same "$(jq '[.failures[] | select(.required)] | length > 0' j)" true 'required ones are listed'
refuses "'turn' is no op" test "$plugin" --require turn
finish
