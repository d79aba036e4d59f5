#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A whole `posref eval` of dim 128 and 4 positions, from start to exit: the median of 100 runs,
# beside /bin/true for scale. The limit is 10 ms.
set -euo pipefail

median_us() {
    for _ in $(seq 100); do
        local begin=$EPOCHREALTIME
        "$@" >/dev/null
        local end=$EPOCHREALTIME
        echo $((${end/./} - ${begin/./}))
    done | sort -n | sed -n 50p
}

x=$(seq -s, 1 512)
echo "posref eval, dim 128, 4 positions: $(median_us "${POSREF:-build/posref}" eval scheme=rope \
    dim=128 base=500000 scaling=llama3 factor=8 original_max_position_embeddings=8192 \
    positions=0,1,4097,131071 "x=$x") us (limit 10000); /bin/true: $(median_us /bin/true) us"
