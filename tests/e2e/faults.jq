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
"What has no name, and why:\n" +
"\n" +
"- What needs more than one call: positions that jump while decoding, eviction from a cache, the\n" +
"  position after an image, lists of factors or bases that change within a sequence (longrope,\n" +
"  dynamic), two tables of frequencies or two pairings in one model, tables that are stale after a\n" +
"  longer call (verdict nondeterministic, where the call before it was another), a bias that is\n" +
"  divided by the layer's number or reused for another layer.\n" +
"- What needs a batch, a pack or a shard: a batch index or one row of positions for all, padding that\n" +
"  counts for the whole batch, documents of one token that are merged, shards that count from 0,\n" +
"  slopes by the rank. The layouts batch-positions, left-pad, decode and varlen catch the first of\n" +
"  these; their failures are described.\n" +
"- What needs a model around the op: a bias on cross attention, which has none, two encodings at\n" +
"  once, sizes of resampled grids that are rounded in float, keys of a config that are not read.\n" +
"- Weights: `posref weights check` reads those.\n" +
"- What has a verdict instead: reads and writes out of bounds, memory left untouched, NaN, results that\n" +
"  change from run to run, shapes that should be refused. Among them a missing clamp of an index, odd\n" +
"  widths, padded lanes, a table that is too short, a frequency table that was never filled, a dynamic\n" +
"  base below its length.\n" +
"- What has no one formula: a range reduction that gives out at some size of the angle. Fast\n" +
"  trigonometry is a recipe, as are tables in 16 bits ([recipes.md](recipes.md)).\n" +
"- Shown by no op yet: windows of three axes, columns of a handed-in table of cosines taken in another\n" +
"  order, and rows of a strided tensor read as if they were dense.\n" +
"- What no output can show: masked loads, a section's bound that is never reached, entries above a\n" +
"  causal mask.\n",($all.kinds | to_entries[] | . as $kind
| [$all.faults[] | select(.kind == $kind.key)] as $rows | select($rows | length > 0)
| "\n## \($kind.value)\n\n| name | schemes | what it amounts to | what mends it | seen |\n|---|---|---|---|---|",
($rows[] | "| \(.name | code) | \(.schemes | join(", ")) | \(.formula | cell)"
+ (if .parameter then " (\(.parameter): \(.values | map(tostring) | join(", "))\(if .estimated then (if (.values | length) > 0 then ", " else "" end) + "estimated" else "" end))" else "" end)
+ (if .equivalent then "; equivalent after \(.equivalent | cell)" else "" end)
+ " | \(.advice | cell) | \(.seen | map(link) | join(", ")) |"))
