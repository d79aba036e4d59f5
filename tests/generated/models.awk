# SPDX-License-Identifier: Apache-2.0
# ROWS docs/models.md: the page with the rows of its table of presets replaced.
FNR == NR { rows = rows $0 "\n"; next }
/^\| model \| what/ { print; getline; print; printf "%s", rows; in_table = 1; next }
in_table && /^\|/ { next }
{ in_table = 0; print }
