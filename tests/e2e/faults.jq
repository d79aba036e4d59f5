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
"`posref faults ID` says which of them a vector is there to catch, and which look alike on it\n" +
"(rows that leave out a table that should be added aside).\n\n" +
"What waits, and why. Faults that need a cache, a shard, a batch or a model around the op cannot be\n" +
"seen in one call: incremental decoding and eviction, slopes by tensor-parallel rank, a batch index for\n" +
"a position, lists of factors or bases that change within a sequence (longrope, dynamic), tables that\n" +
"are stale after a longer call, and weights (`posref weights check` reads those). Faults that read or\n" +
"write out of bounds, leave memory untouched or give NaN have a verdict of their own and no name: a\n" +
"missing clamp of an index, a frequency table that was never filled, a dynamic base below its length.\n" +
"Shown by no op yet: tables resampled by another rule, windows of three axes, columns of a handed-in\n" +
"table of cosines taken in another order, and rows of a strided tensor read as if they were dense.\n",
($all.kinds | to_entries[] | . as $kind
| [$all.faults[] | select(.kind == $kind.key)] as $rows | select($rows | length > 0)
| "\n## \($kind.value)\n\n| name | schemes | what it amounts to | what mends it | seen |\n|---|---|---|---|---|",
($rows[] | "| \(.name | code) | \(.schemes | join(", ")) | \(.formula | cell)"
+ (if .parameter then " (\(.parameter): \(.values | map(tostring) | join(", "))\(if .estimated then (if (.values | length) > 0 then ", " else "" end) + "estimated" else "" end))" else "" end)
+ (if .equivalent then "; equivalent after \(.equivalent | cell)" else "" end)
+ " | \(.advice | cell) | \(.seen | map(link) | join(", ")) |"))
