# SPDX-License-Identifier: Apache-2.0
# docs/schemes.md from the answer of GET /v1/schemes: jq -r -f tests/e2e/schemes.jq
def code: "`" + tostring + "`";
def cell: gsub("\\|"; "\\|") | gsub("(?<c>[*^_])"; "\\\(.c)");
def code_input: (.name | code) + (if .shape == "" then "" else " [\(.shape)]" end);
def range: if .choices then .choices | map(code) | join(", ")
    elif .type == "boolean" then "`true`, `false`"
    else (if .exclusiveMinimum != null then "(\(.exclusiveMinimum)" else "[\(.minimum)" end)
        + ", " + (if .exclusiveMaximum != null then "\(.exclusiveMaximum))" else "\(.maximum)]" end)
    end;
def values: (if .type | startswith("array") then "list of " else "" end)
    + (if .type | endswith("integer") or endswith("integers") then "whole, " else "" end) + range
    + (if (.unit // "") != "" then " " + .unit else "" end);
. as $all
| "# Schemes and their parameters\n\n" +
"Which scheme takes which key, as `GET /v1/schemes` says it; a test compares. A key that the scheme\n" +
"(or the scaling) does not take is an error. Defaults that depend on other keys stand in the last\n" +
"column. Shapes of inputs: n, n\\_q and n\\_k are the numbers of positions, queries and keys, `*` is free,\n`[*]` may be absent.\n",
($all.schemes[] | . as $scheme
| "\n## \(.name)\n\n\(.summary | cell).\n\n    \(.formula)\n\nSource: \(.source). Ops: \(.ops | map(code) | join(", ")).\n",
"Inputs: \(.inputs | map(code_input) | join(", ")).\n",
"\(.users | cell) have it. Implementations differ in: \(.differs | cell).\n",
"| key | values | default | meaning |\n|---|---|---|---|",
(.fields[] as $name | $all.fields[] | select(.name == $name and .name != "scheme")
| "| \(.name | code) | \(values) | \(if .default == null then "" else .default | code end) | \(.meaning | cell)"
  + (if .scalings then " (scaling \(.scalings | join(", ")))" else "" end) + " |")),
"\n## What is left out\n\n" +
"Each with its reason; for several axes see also [axes.md](axes.md), for one [rope.md](rope.md).\n\n" +
"| what | why |\n|---|---|\n" +
([["Mochi's learned frequencies", "an angle is a learned sum over three axes, per head: no ladder and no axis of a pair"],
  ["LTX-Video 2's split form", "gives each head other frequencies of one ladder over all heads; a spec describes one head"],
  ["XLNet's segment term", "depends on segment ids, not on positions; transformer_xl has the other terms"],
  ["Transformer-XL's RelLearnable r_bias", "a learned bias by distance beside R; relative_keys=learned is the form without it"],
  ["Music Transformer's skew without a mask", "reads entries of the next row where a key is after its query: an accident of the shift, for masked scores alone"],
  ["dynamic YaRN, LongRoPE's dynamic and mixed variants", "not done: no configuration that was read asks for them"],
  ["dual-chunk attention", "five tables for the queries and a rule for which of them a pair of chunks takes: positions can be typed, the choice belongs to the kernel"],
  ["FoPE", "learned mixtures of sines and cosines; one runtime's code was read, and no second source to check it by"],
  ["DeBERTa's p2p", "position with position: an option of the original code that no released model takes; Hugging Face dropped it"],
  ["ReRoPE and Self-Extend", "clamp or divide distances inside attention, in two ranges of one row; only a copy of the code was read"],
  ["xPos with the scales of one half of the channels on the other (rotary-embedding-torch before its mend)", "members of an interleaved pair get different scales: no score depends on the distance alone, and later versions repeat each scale"]]
  | map("| \(.[0] | cell) | \(.[1] | cell) |") | join("\n"))
