#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints docs/conformance.md: what the real implementations conform to, from runs of posref test on
# core. Exit status 77 where the packages cannot be had.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/install.sh" || exit
# shellcheck source=tests/thirdparty/libraries.sh
. "$here/libraries.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$POSREF" generate -o "$work/core.db"
export POSREF_DB=$work/core.db

# subject NAME PLUGIN ARGUMENT...: one section.
subject() {
    local name=$1 plugin=$BUILD/plugins/$2
    shift 2
    "$POSREF" test "$plugin" --dtype f32,f16 --nonce 0 "$@" --report "json:$work/j" || true
    jq -r --arg name "$name" '
        def cell: if . == null then ""
            else (.vectors - (.unsupported // 0)) as $tried
            | if $tried == 0 then "declined"
              elif (.pass // 0) == $tried then "\($tried) pass, \(.grade)"
              else "**\(.pass // 0) of \($tried)**" end end;
        "\n## \($name) \(.run.plugin.version)\n",
        "Verdict \(.verdict), grade \(.grade): \(.counts.pass) pass, \(.counts.fail) fail, " +
        "\(.counts.unsupported) declined; worst error \(.worst.error_limits * 100 | round) % of " +
        "its limit.\n",
        (.arithmetic[] | "- \(.scheme) in \(.dtype): " +
            (if .recipes == [] then "no known recipe"
             else "equals the recipe \(.recipes[0].recipe) in \(.recipes[0].agree) of " +
                "\(.recipes[0].tell) elements that tell it from others" end) +
            ((.valid | map(select(.to > 0)) | group_by(.to) | map(.[0])
              | map("\(.to) at \(.error)")) as $valid
             | if $valid == [] then "" else "; valid to " + ($valid | join(", ")) end)),
        (if .arithmetic == [] then empty else "" end),
        "| scheme | op | scaling | f32 | f16 |", "|---|---|---|---|---|",
        (.groups[] | select(.property == null)
         | select([.f32, .f16] | any(. != null and (.vectors > (.unsupported // 0))))
         | "| \(.scheme) | \(.op) | \(.scaling // "") | \(.f32 | cell) | \(.f16 | cell) |"),
        "\nProperties that hold: " + ([.groups[] | select(.property and
            ([.f32, .f16] | any(. != null and (.vectors > (.unsupported // 0)))))
            | "\(.op) \(.property)" +
              (if [.f32, .f16] | all(. == null or (.pass // 0) == .vectors - (.unsupported // 0))
               then "" else " (**not always**)" end)] | join(", ")) + "."' \
        "$work/j"
}

cat <<'END'
# Conformance of real implementations

What widely used libraries compute, judged on core. `make conformance` makes this page again, and
`make test-thirdparty` checks the verdicts, and that each library is caught and named when it is
asked for the other pairing. Which arithmetic each has, and up to which position it stays within an
error, is measured too ([recipes.md](recipes.md)). Groups that a library declines as a whole are
left out; the adapters in [harness/plugins](../harness/plugins) say what is declined, and why.
END
awk '$1 == "core" { printf "\nSuite core, version %s, digest `%s`.\n", $2, $3 }' \
    "$here/../../vectors/suites/digests.txt"
subject 'ggml, npm @node-llama-cpp/linux-x64,' ggml.so
subject 'ggml, npm @fugood/node-llama-linux-x64,' ggml.so \
    --config lib="$modules/@fugood/node-llama-linux-x64/index.node"
subject 'ONNX Runtime, ai.onnx RotaryEmbedding' onnxruntime.so
subject 'ONNX Runtime, com.microsoft RotaryEmbedding' onnxruntime.so --config domain=microsoft
