#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The 26 seeded faults of an experiment with the acceptance tests of five well-known projects, in a
# plugin that knows nothing of posref's registry: what core says of each. Writes a Markdown table.
#
#   seeded_faults.sh [CHECK]    CHECK=1, for make test: only the dtype that each fault shows in;
#                               exit 1 where one is neither killed nor recognised, or where
#                               docs/seeded-faults.md says otherwise
#
# A row of seeded.list: the plugin's fault, its parameter, how many of the nine acceptance tests of
# the experiment always kill it, what it is called there.
# shellcheck source=tests/mutants/judging.sh
. "$(dirname "$0")/judging.sh"
check=${1:-}

# "1122 direction": how many vectors do not pass, and what is said of it: the first fault, else the
# grade whose limits hold, with the recipe. (By jq itself: grades are in their order, which gojq
# does not keep.)
said() {
    jq -r '(.counts | to_entries | map(select(.key != "pass" and .key != "unsupported") | .value)
            | add) as $n
        | (.grades | to_entries | map(select(.value > 0) | .key) | last) as $grade
        | ((.arithmetic[0].recipes // [])[0].recipe // "no known recipe") as $recipe
        | if (.explanations | length) > 0 then "\($n) \(.explanations[0].fault)"
          elif .counts.nan > 0 then "\($n) verdict nan"
          elif $grade == "fail" then "\($n) no known fault, and the wrong pairs described"
          else "\($n) grade \($grade), \($recipe)" end' "$1"
}

# row LINE: "NAME|PUBLISHED|f32|f16|bf16|bf16 at fast", the last four as `said` has them.
row() {
    local fault value published name base=$work/$BASHPID
    IFS='|' read -r fault value published name <<<"$1"
    [ "$fault" = none ] && fault=
    local wanted="f32 f16 bf16 fast" line="$name|$published" column config=(--config "fault=$fault")
    [ -n "$value" ] && config+=(--config "value=$value")
    [ -n "$check" ] && { [ "$fault" = truncated ] && wanted=f16 || wanted=f32; }
    for column in f32 f16 bf16 fast; do
        line+='|'
        [[ " $wanted " = *" $column "* ]] || continue
        if [ "$column" = fast ]; then
            judge "$base" rope bf16 "${config[@]}" --min-grade fast
        else
            judge "$base" rope "$column" "${config[@]}"
        fi
        line+=$(said "$base")
    done
    rm -f "$base"
    echo "$line"
}
export -f said row
export check

# shellcheck disable=SC2016
nl -s' ' -w3 -n rz "$here/seeded.list" |
    xargs -d '\n' -P 2 -I{} bash -c 'echo "${1%% *} $(row "${1#* }")"' _ {} | sort >"$work/rows"

# verdict: what it comes to, from the columns that are there.
# shellcheck disable=SC2016
verdict='function cell(text) { sub(/^[0-9]+ /, "", text); return text }
    function kills(text) { return text != "" && text !~ /^0 / }
    { sub(/^[0-9]+ /, ""); what = "right: " cell($3)
      if (kills($3)) what = "killed, f32 at recurrence: " cell($3)
      else if (kills($4)) what = "killed, f16 at low: " cell($4)
      else if (kills($5)) what = "killed, bf16 at low: " cell($5)
      else if (kills($6)) what = "killed, bf16 at fast: " cell($6)
      else if ($3 !~ /float32/) what = "recognised: " cell($3) }'

if [ -n "$check" ]; then
    awk -F'|' "$verdict"' { print $1 "|" what }' "$work/rows" >"$work/said"
    passed=0 failed=0
    while IFS='|' read -r name what; do
        if { [[ "$what" = right* ]] && [[ "$name" != none* ]]; } ||
            ! grep -qF "| $name | $what |" "$here/../../docs/seeded-faults.md"; then
            echo "FAILED: $name: $what: docs/seeded-faults.md says otherwise," \
                "or it is not killed: make seeded-faults"
            failed=$((failed + 1))
        else
            passed=$((passed + 1))
        fi
    done <"$work/said"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -eq "$(wc -l <"$here/seeded.list")" ]
    exit
fi
n=$(awk -F'|' "$verdict"' $1 !~ /^none/ && what ~ /^killed/' "$work/rows" | wc -l)
cat <<TEXT
# The 26 seeded faults

In an experiment the acceptance tests of five well-known projects (llama.cpp's NMSE and shift
checks, flashinfer-bench at two bases, Liger and vLLM in two dtypes each, one absolute tolerance:
nine in all) were put to 26 seeded faults of rope: the best always killed 15, and ten faults passed
all nine. Here the same faults stand in a plugin of plain float32 C that uses neither reference/ nor
the registry (tests/mutants/faulty\_rope.c), judged on core: $n are killed at the default gates,
the others are recognised as the recipe that real libraries have. Made by \`make seeded-faults\`;
\`make test\` compares the verdicts (\`make test-seeded-faults\`).

*of nine*: how many of the nine always killed it. The last columns count the vectors of core that
kill, at the default gates (f32 recurrence, f16 and bf16 low) and in bf16 at \`--min-grade fast\`.
The verdict names the first dtype and gate that kill, and what the report says first: the fault, or
the grade whose limits hold and the recipe ([recipes.md](recipes.md)).

| fault | verdict | of nine | f32 | f16 | bf16 | bf16 at fast |
|---|---|---|---|---|---|---|
TEXT
awk -F'|' "$verdict"' { printf "| %s | %s | %s |", $1, what, $2
    for (k = 3; k <= 6; k++) { split($k, word, " "); printf " %s |", word[1] }
    print "" }' "$work/rows"
