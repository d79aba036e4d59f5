#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each fault of the registry, in a plugin that knows nothing of the registry: is it caught, by how
# many vectors, and is it named? Then random pairs of faults. Writes a Markdown table to stdout.
#
#   kill_matrix.sh [TENTH]     TENTH=1: a fixed tenth of both, for make test; exit 1 where a row
#                              of it breaks the requirements
#
# A fault's row: scheme (PLUGIN:SCHEME where the two differ), name, dtypes, and the value of its
# parameter. The dtypes are f32 unless the fault shows in others only.
# shellcheck source=tests/mutants/judging.sh
. "$(dirname "$0")/judging.sh"
# shellcheck source=tests/e2e/json.sh
. "$here/../e2e/json.sh"
tenth=${1:-}

# row LINE: one fault. Prints "SCHEME|NAME|SMOKE|CORE|FIRST|RANK|VALUE".
row() {
    local scheme name dtypes value config
    read -r scheme name dtypes value <<<"$1"
    local base=$work/$BASHPID
    config=(--config "fault=$name")
    [ -n "$value" ] && config+=(--config "value=$value")
    judge "$base.smoke" "$scheme" "$dtypes" --suite smoke "${config[@]}"
    judge "$base.core" "$scheme" "$dtypes" --suite core "${config[@]}"
    local line # in one write: the rows of two processes go to one pipe
    line=$(jq -r --slurpfile smoke "$base.smoke" --arg scheme "$scheme" --arg name "$name" \
        --arg value "$value" '
        def caught: (.counts // {"pass": 0} | to_entries | map(select(.key != "pass" and
            .key != "unsupported") | .value) | add // 0) as $n
            | "\($n) of \($n + (.counts.pass // 0))";
        def near($want): $want == "" or ((.parameters // {}) | length == 0 or
            any(.[]; (. - ($want | tonumber)) | fabs <= 0.01 * ($want | tonumber | fabs)));
        ([.explanations | to_entries[] | select(.value.fault == $name and (.value | near($value)))
            | .key + 1] | first // 0) as $rank
        | [$scheme, $name, ($smoke[0] | caught), caught,
           (.explanations[0].fault // "none"), $rank, $value] | map(tostring) | join("|")' \
        "$base.core")
    echo "$line"
    rm -f "$base".*
}

# pair LINE: two faults of one scheme. Prints "SCHEME|A+B|CORE|FIRST|RANK". The rank is "alone"
# where every failure is what a single fault gives: such a pair is none (the other fault is
# hidden, or no vector shows both). A pair that is said not to be told from a claim has the rank
# of that.
pair() {
    local scheme a b va vb config
    read -r scheme a va b vb <<<"$1"
    local base=$work/$BASHPID
    config=(--config "fault=$a" --config "fault2=$b")
    [ "$va" != - ] && config+=(--config "value=$va")
    [ "$vb" != - ] && config+=(--config "value2=$vb")
    judge "$base.core" "$scheme" f32 --suite core "${config[@]}"
    local line
    line=$(jq -r --arg scheme "$scheme" --arg a "$a" --arg b "$b" '
        def is_it: . == "\($a)+\($b)" or . == "\($b)+\($a)";
        ([.explanations | to_entries[] | select((.value.fault | is_it) or
            any(.value.not_told_from[]?.fault; is_it)) | .key + 1] | first // 0) as $found
        | [.explanations[] | select(.covers)] as $causes
        | (if $found == 0 and .unexplained == 0 and ($causes | length > 0) and
            all($causes[]; .fault | contains("+") | not) then "alone" else $found end) as $rank
        | [$scheme, "\($a)+\($b)", .counts.fail, (.explanations[0].fault // "none"), $rank]
        | map(tostring) | join("|")' "$base.core")
    echo "$line"
    rm -f "$base".*
}
export -f row pair jq

if [ -n "$tenth" ]; then
    awk 'NR % 10 == 1' "$here/faults.list" >"$work/faults"
    awk 'NR % 10 == 1' "$here/pairs.list" >"$work/pairs"
else
    cp "$here/faults.list" "$work/faults"
    cp "$here/pairs.list" "$work/pairs"
fi
# shellcheck disable=SC2016
xargs -a "$work/faults" -d '\n' -P 2 -I{} bash -c 'row "$1"' _ {} | sort >"$work/rows"
# shellcheck disable=SC2016
xargs -a "$work/pairs" -d '\n' -P 2 -I{} bash -c 'pair "$1"' _ {} | sort >"$work/pair_rows"

n=$(wc -l <"$work/rows") wanted=$(wc -l <"$work/faults")
first=$(awk -F'|' '$6 == 1' "$work/rows" | wc -l)
third=$(awk -F'|' '$6 >= 1 && $6 <= 3' "$work/rows" | wc -l)
missed=$(awk -F'|' '$4 ~ /^0 of/' "$work/rows" | wc -l)
pairs=$(wc -l <"$work/pair_rows")
fifth=$(awk -F'|' '$5 >= 1 && $5 <= 5' "$work/pair_rows" | wc -l)
alone=$(awk -F'|' '$5 == "alone"' "$work/pair_rows" | wc -l)
pairs=$((pairs - alone))

if [ -n "$tenth" ]; then
    awk -F'|' '$6 < 1 || $6 > 3 || $4 ~ /^0 of/ { print "FAILED: " $0 }' "$work/rows"
    # Drift: the document must name the same causes. Counts change with the suite.
    drift=0
    while IFS='|' read -r scheme name _ _ named rank value; do
        line="^| $scheme | $name${value:+ ($value)} | .* | $named | $rank |$"
        grep -q "$line" "$here/../../docs/kill-matrix.md" && continue
        echo "FAILED: docs/kill-matrix.md says otherwise of $scheme $name: run make kill-matrix"
        drift=$((drift + 1))
    done <"$work/rows"
    failed=$((wanted - third + drift))
    [ $((10 * fifth)) -ge $((8 * pairs)) ] || failed=$((failed + 1))
    echo "$third passed, $failed failed"
    [ "$n" -eq "$wanted" ] && [ "$missed" -eq 0 ] && [ "$failed" -eq 0 ]
    exit
fi
cat <<TEXT
# The kill matrix

Each fault of the registry, built into a plugin of plain float32 C that uses neither reference/ nor
the registry (tests/mutants/faulty\_\*.c), and judged by \`posref test\`. Made by
\`make kill-matrix\`; \`make test\` runs a fixed tenth of it.

Of $n faults core catches $((n - missed)). The true cause is named first for $first
($((100 * first / n)) %) and among the first three for $third. Of $pairs random pairs of faults, the
true pair is among the first five explanations for $fifth
($((100 * fifth / (pairs ? pairs : 1))) %). Another $alone were drawn whose output is that of a
single fault in every failing vector: rank "alone", not counted.

Not here: truncation in sinusoidal tables (each table is too small for the means of the default
16-bit gate), and the same fault once more for each scheme that shares it.

\`rank\` is where the true cause stands among the explanations (0: not named), with its parameter
within 1 %. Counts are vectors that the plugin claims, in the dtypes where the fault can show.

| scheme | fault | caught by smoke | caught by core | named first | rank |
|---|---|---|---|---|---|
TEXT
awk -F'|' '{ print "| " $1 " | " $2 ($7 != "" ? " (" $7 ")" : "") " | " $3 " | " $4 " | " $5 \
    " | " $6 " |" }' "$work/rows"
cat <<TEXT

## Pairs

| scheme | pair | failures in core | named first | rank |
|---|---|---|---|---|
TEXT
awk -F'|' '{ print "| " $1 " | " $2 " | " $3 " | " $4 " | " $5 " |" }' "$work/pair_rows"
