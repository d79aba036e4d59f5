#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# Faults of axes, biases, tables and attention: named where they are the cause, and no others. The
# kill matrix has them all.
. "$(dirname "$0")/lib.sh"
core_db
export POSREF_DB=$db

# judged PLUGIN SCHEME CONFIG...: its report in $work/out, as f32.
judged() {
    local plugin=$1 scheme=$2 word config=()
    shift 2
    for word in "$@"; do config+=(--config "$word"); done
    run test "$BUILD/mutants/faulty_$plugin.so" "scheme=$scheme" --suite core --dtype f32 \
        "${config[@]}" --fresh none --properties no --report json
}

# Without a fault they conform: what is named below is not theirs.
while read -r plugin scheme; do
    judged "$plugin" "$scheme"
    same "$status" 0 "honest $plugin on $scheme"
    says '.counts.pass >= 2 and .explanations == []'
done <<'END'
axes rope
bias t5_bias
bias relative_bias
bias swin
bias kerple
bias fire
bias sandwich
attention none
attention alibi
attention t5_bias
attention rope
cope cope
deberta deberta
terms shaw
terms transformer_xl
terms sinusoidal
terms learned
learned learned
learned timestep
sinusoidal sinusoidal
alibi alibi
END

# PLUGIN SCHEME FAULT PART-OF-THE-SUMMARY: first, alone, for all failures.
while read -r plugin scheme fault text; do
    judged "$plugin" "$scheme" "fault=$fault"
    same "$status" 1 "$fault"
    says "(.explanations[0] | .fault == \"$fault\" and .covers and .rank == 1 and
        .vectors + .untold == .failing and (.summary | contains(\"$text\")) and .advice != \"\")"
done <<'END'
axes rope axes_exchanged (.., w, h) for (.., h, w)
axes rope axes_split_reversed the spec asks for
bias t5_bias relative_sign query - key for key - query
bias t5_bias bidirectional with bidirectional=
bias swin index_transposed entry (key, query) for entry (query, key)
bias kerple parameters_exchanged r2 for r1
attention none softmax_scale_missing with softmax_scale=1
attention none heads_dealt key head h mod n_kv
attention alibi bias_scaled (q . k + b) / sqrt(d)
attention rope keys_not_encoded position 0 for every key
cope cope gates_from_start g_i0 + ... + g_ij for
cope cope position_logits with position_logits=
deberta deberta p2c_difference with p2c_difference=
deberta deberta bucket_floor floor for ceil
terms transformer_xl shift_without_mask padding and reshaping
attention none last_head_skipped the last head is left
learned learned offset_ignored with offset=0; the spec asks for
END

# What no row says is described, not named: other sections, other buckets, another scale.
while read -r plugin scheme config; do
    judged "$plugin" "$scheme" "$config"
    same "$status" 1 "$config"
    says '.explanations == [] and (.description.summary | startswith("no known fault"))'
done <<'END'
bias t5_bias num_buckets=20
attention none softmax_scale=0.3
attention none fault=exotic_soft_cap
attention alibi fault=exotic_even_keys
attention none fault=exotic_next_value
deberta deberta fault=exotic_even_keys
bias t5_bias fault=exotic_next_head
cope cope fault=exotic_echo
axes rope fault=exotic_coupled
END
# A vector says what it is there for: faults that it shows, those that look alike on it together.
succeeds faults
says '.faults | length > 150'
succeeds faults rope/half/none/d4-b1e4/near none/d12/h12-kv2/square/attention
same "$(wc -l <"$work/out")" 2 'lines of two vectors'
same "$(jq -s '.[0].shows as $s | ($s | index([["pairing"]])) != null and
    ($s | index([["rotated_twice", "position_doubled"]])) != null and
    (.[1].shows | index([["heads_dealt"]])) != null' "$work/out")" true 'shown, and alike'
refuses 'no/such: no such vector' faults no/such
refuses '--dtype: must be one of' faults rope/half/none/d4-b1e4/near --dtype i64
"$POSREF" list --db "$db" | awk 'NR % 67 == 5' >"$work/ids"
# shellcheck disable=SC2046
succeeds faults $(cat "$work/ids")
same "$(jq -r 'select(.shows == []) | .id' "$work/out")" '' 'vectors that show nothing'
# A value estimated from 16 bits is the round one that was meant, and the only fault: none of scores
# comes in for what is rotated.
for dtype in f16 bf16; do
    run test "$BUILD/mutants/faulty_rope.so" scheme=rope op=rotate scaling=none --suite core \
        --dtype $dtype --config fault=base --fresh none --properties no --report json
    same "$status" 1 "base in $dtype"
    says '(.explanations | length) == 1 and (.explanations[0] | .fault == "base" and .covers and
        (.summary | contains("base=20000")))'
done

finish
