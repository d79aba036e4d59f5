# SPDX-License-Identifier: Apache-2.0
# docs/faults.md from the answer of GET /v1/faults: jq -r -f tests/e2e/faults.jq
def cell: gsub("\\|"; "\\|") | gsub("(?<c>[*^_])"; "\\\(.c)") | gsub("<"; "&lt;");
def code: "`" + tostring + "`";
def link: . as $id | split("#") as $p | "[\($id)](https://github.com/\($p[0])/issues/\($p[1]))";
. as $all
| "# Known faults\n\n" +
"Named ways to be wrong, as `GET /v1/faults` lists them; a test compares. Each is a hypothesis when a\n" +
"kernel fails: it is claimed only when the reference with this fault gives what came back, in every\n" +
"failing vector of a kind ([verdicts.md](verdicts.md)). Faults are tried one by one and in pairs; they\n" +
"compose in the order spec, positions, frequencies, arithmetic, layout. %g stands for a parameter, whose\n" +
"values that are tried stand behind it; of an *estimated* one, any value is read off the output.\n\n" +
"Public reports are where such a fault was described; they show that it happens, not that the program\n" +
"named has it today.\n\n" +
"What waits: faults that need a cache, a shard, a batch or a model around the op (incremental decoding,\n" +
"tensor-parallel slopes, lists of factors that change within a sequence) cannot be seen in one call and\n" +
"have no entry. Of one call there is none yet for: a softmax over queries, a mask added to the scores as\n" +
"numbers, sections of M-RoPE without their bound (i mod 3 alone), grids walked down the columns or in\n" +
"merge blocks, the relative shift of Transformer-XL done by padding and reshaping, and tables resampled\n" +
"by another rule.\n",
($all.kinds | to_entries[] | . as $kind
| [$all.faults[] | select(.kind == $kind.key)] as $rows | select($rows | length > 0)
| "\n## \($kind.value)\n\n| name | schemes | what it amounts to | what mends it | seen |\n|---|---|---|---|---|",
($rows[] | "| \(.name | code) | \(.schemes | join(", ")) | \(.formula | cell)"
+ (if .parameter then " (\(.parameter): \(.values | map(tostring) | join(", "))\(if .estimated then (if (.values | length) > 0 then ", " else "" end) + "estimated" else "" end))" else "" end)
+ (if .equivalent then "; equivalent after \(.equivalent | cell)" else "" end)
+ " | \(.advice | cell) | \(.seen | map(link) | join(", ")) |"))
