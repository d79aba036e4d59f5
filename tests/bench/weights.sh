#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How fast weights check reads a pair of checkpoints, beside cat on the same files, warm: the
# ratio of the best of five interleaved runs each. MB is the size of a pair.
set -eu
mb=${BENCH_WEIGHTS_MB:-2048}
dir=$(mktemp -d "${TMPDIR:-/tmp}/posref-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT INT TERM
tools=$BUILD/tests/bench

# The smaller of two decimals.
least() { awk -v a="$1" -v b="$2" 'BEGIN { print (a < b ? a : b) }'; }

printf '%-6s %8s %9s %9s %7s %7s %11s\n' type MiB cat check GiB/s ratio 'private MiB'
for type in ${BENCH_WEIGHTS_TYPES:-F32 F16 BF16 Q4_K Q6_K}; do
    "$tools/weights_pair" "$type" "$mb" "$dir"
    after=$(ls "$dir"/after.*)
    bytes=$(stat -c %s "$dir/before.safetensors" "$after" | awk '{ s += $1 } END { print s }')
    best_cat=1e9 best_check=1e9 private=0
    for _ in 1 2 3 4 5; do
        out=$("$tools/measure" cat "$dir/before.safetensors" "$after")
        best_cat=$(least "$best_cat" "${out%% *}")
        out=$("$tools/measure" "$POSREF" weights check "$dir/before.safetensors" "$after")
        best_check=$(least "$best_check" "${out%% *}")
        out=${out#* }
        private=$(awk -v a="$private" -v b="${out% *}" 'BEGIN { print (a > b ? a : b) }')
    done
    awk -v t="$type" -v n="$bytes" -v c="$best_cat" -v k="$best_check" -v p="$private" 'BEGIN {
        printf "%-6s %8.0f %8.3fs %8.3fs %7.2f %7.2f %11.1f\n", t, n / 1048576, c, k,
               n / k / 1073741824, c / k, p }'
    rm -f "$dir/before.safetensors" "$after"
done
