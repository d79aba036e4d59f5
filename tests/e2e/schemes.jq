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
  + (if .scalings then " (scaling \(.scalings | join(", ")))" else "" end) + " |"))
