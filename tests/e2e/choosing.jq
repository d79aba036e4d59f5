# SPDX-License-Identifier: Apache-2.0
# docs/choosing.md from the answer of GET /v1/schemes: jq -r -f tests/e2e/choosing.jq
def cell: gsub("\\|"; "\\|") | gsub("(?<c>[*^_])"; "\\\(.c)");
"# Choosing an encoding\n\n" +
"The schemes side by side, as `GET /v1/schemes` says it; a test compares. n is the number of tokens,\n" +
"d the width. [schemes.md](schemes.md) has formulas, parameters and sources.\n",
"| scheme | learned parameters | enters | relative | beyond the trained length | cost |",
"|---|---|---|---|---|---|",
(.schemes[] | "| \(.name | cell) | \(.learned | cell) | \(.injected | cell) | \(.relative | cell) | \(.beyond | cell) | \(.cost | cell) |"),
"\n## What to take for what\n\n| scheme | take it for | models |\n|---|---|---|",
(.schemes[] | "| \(.name | cell) | \(.advice | cell) | \(.users | cell) |")
