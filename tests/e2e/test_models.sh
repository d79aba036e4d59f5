#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref models and model=NAME wherever a spec is read.
. "$(dirname "$0")/lib.sh"

# Every name that the list prints evaluates, and as a verified one without consent.
succeeds models
cp "$work/out" "$work/list"
while IFS=$'\t' read -r name known spec; do
    case $spec in
    scheme=rope*seq_len=*) bad "$name fixes a length" ;;
    scheme=rope*scaling=longrope* | scheme=rope*scaling=dynamic*) # the positions give the length
        what=(op=frequencies positions=0..2) ;;
    scheme=rope*) what=(op=frequencies) ;; # positions may have several axes
    scheme=swin* | scheme=beit* | *axes_dims=*,*) what=(positions=grid:2:2) ;;
    scheme=learned*) # needs the table, of which three rows are read
        dim=$(sed -E 's/.* dim=([0-9]+).*/\1/; t; s/.*//' <<<"$spec")
        refuses 'weights: is required' eval "model=$name" positions=0..2
        rows=$(sed -E 's/.* offset=([0-9]+).*/\1/; t; s/.*/0/' <<<"$spec")
        what=(positions=0..2 "weights=$(seq -s, $(((rows + 3) * dim)))") ;;
    *) what=(positions=0..2) ;;
    esac
    if [ "$known" = verified ]; then
        succeeds eval "model=$name" "${what[@]}"
    else
        refuses "$name: nobody verified" eval "model=$name" "${what[@]}"
        succeeds eval "model=$name" allow_unverified=1 "${what[@]}"
    fi
    cp "$work/out" "$work/by_name"
    # The spec of the list says the same as the name.
    # shellcheck disable=SC2086
    succeeds eval $spec "${what[@]}"
    same "$(jq -c '[.spec, .outputs]' "$work/by_name")" "$(jq -c '[.spec, .outputs]' "$work/out")" \
        "$name"
done <"$work/list"
if [ "$(cut -f 2 "$work/list" | grep -c '^verified$')" -ge 45 ]; then ok; else
    bad "fewer than 45 verified presets"
fi

# Anchors of the frequencies, from 40-digit arithmetic.
succeeds eval model=llama-3.1-8b op=frequencies
says '.outputs.inv_freq.data[28:36] == [0.003211445994752591, 0.0021665707635033586,
    0.0013718935677611382, 0.0008567514129196321, 0.0005248461609929547, 0.0003126937503840651,
    0.00017850781276799642, 9.556212353964683e-05]'
says '.model == {"name": "llama-3.1-8b", "applies_to": "all", "other_layers": [],
    "overridden": []}'
succeeds eval model=llama-3.2-1b op=frequencies
says '.outputs.inv_freq.data[15:17] == [0.0012905479282092638, 0.0004295567965593682]'
succeeds eval model=gpt-oss-20b op=frequencies
says '.outputs.inv_freq.data[12] == 0.006794959489732218'
says '.outputs.attention_factor.data == [1.3465735902799727]'
succeeds eval model=deepseek-v3 op=frequencies
says '.outputs.inv_freq.data[16] == 0.0055 and .outputs.attention_factor.data == [1]'
succeeds eval model=qwen2.5-7b-yarn op=frequencies
says '.outputs.inv_freq.data[31] == 0.0008029597275452303'

# Presets whose numbers depend on the length, by the positions or as it is given.
succeeds eval model=phi-3-mini-128k op=frequencies positions=0..4095
says '.spec.seq_len == 4096 and (.outputs.inv_freq.data[1] * 1.05 * 1e12 | round) ==
    (pow(10000; -1/48) * 1e12 | round)'
says '.outputs.attention_factor.data == [1.1902380714238083]'
succeeds eval model=phi-3-mini-128k op=frequencies positions=4096
says '.spec.seq_len == 4097 and (.outputs.inv_freq.data[0] * 1.0299999713897705 - 1 | fabs) < 1e-15'
succeeds eval model=qwen-7b op=frequencies seq_len=8193
says '(.outputs.inv_freq.data[63] * pow(10000 * pow(3; 64/63); 63/64) - 1 | fabs) < 1e-14'
succeeds eval model=nomic-embed-text-v1.5-ntk op=frequencies seq_len=4096
says '(.outputs.inv_freq.data[31] * pow(1000 * pow(3; 32/31); 31/32) - 1 | fabs) < 1e-14'
# Presets of tables: which entry a distance or a position reads.
succeeds eval model=t5-small/decoder positions=0,16,200
says '.outputs.buckets.data == [0,0,0,16,0,0,31,31,0]'
succeeds eval model=deberta-v3-base positions=0,300,600
says '.outputs.buckets.data[3] == 207 and .outputs.c2p.data[6] == 511'
succeeds eval model=roberta-base/all positions=0 dim=2 weights=1,2,3,4,5,6
says '.outputs.table.data == [5, 6] and .model.overridden == ["dim"]'
succeeds eval model=swin-tiny/stage4 positions=grid:7:7
says '.spec.num_heads == 24 and (.outputs | .index // .indexes | .data | [min, max]) == [0, 168]'

# The first layer type unless another is named, and the answer says which; other names; overrides.
succeeds eval model=gemma-3-4b op=frequencies
says '.spec.factor == 8 and .model.applies_to == "global" and .model.other_layers == ["local"]'
succeeds eval model=gemma-3-12b/local op=frequencies base=5e4
says '.spec.base == 50000 and .spec.scaling == "none" and .model.name == "gemma-3-4b" and
    .model.overridden == ["base"]'
succeeds eval scaling=none model=llama-3.1-8b op=frequencies
says '.spec.scaling == "none" and (.spec | has("factor") | not) and
    .model.overridden == ["scaling", "factor", "original_max_position_embeddings",
    "low_freq_factor", "high_freq_factor"]'
echo '{"model": "llama-3.1-8b"}' >"$work/a.json"
succeeds diff "$work/a.json" model=llama-3.2-3b
says '.differing == ["factor"] and .a.factor == 8'

refuses 'did you mean llama-3.1-8b?' eval model=llama-3.1-8B-x positions=1
refuses 'it has global, local' eval model=gemma-3-4b/vision positions=1
refuses 'model: given twice' eval model=gpt-j-6b model=gpt-j-6b positions=1
refuses "must be true or false" eval model=gpt-j-6b allow_unverified=yes positions=1
refuses 'model: no preset' models none-such
refuses 'one name at most' models gpt-j-6b gpt-j-6b

# A filter: the vectors of that spec; a condition of the user's replaces the model's.
succeeds generate --suite smoke -o "$work/smoke.db"
succeeds list model=llama-3.1-8b op=frequencies --db "$work/smoke.db"
with_model=$(cat "$work/out")
succeeds list scheme=rope dim=128 base=500000 pairing=half scaling=llama3 factor=8 \
    original_max_position_embeddings=8192 op=frequencies --db "$work/smoke.db"
same "$with_model" "$(cat "$work/out")" 'vectors of a model'
if [ -n "$with_model" ]; then ok; else bad 'no vector is of llama-3.1-8b'; fi
refuses 'smollm3-3b: nobody verified base' list model=smollm3-3b --db "$work/smoke.db"

# JSON is the same as GET /v1/models, and a name gives one of it.
succeeds models --format json
says '(.models | length > 80) and all(.models[]; .layers | length > 0)'
says '[.models[].layers[].status[]] | unique == ["config", "default", "source", "unverified"]'
cp "$work/out" "$work/all"
succeeds models gpt-oss-120b --format json
same "$(jq -c '.models[0]' "$work/out")" \
    "$(jq -c '.models[] | select(.name == "gpt-oss-20b")' "$work/all")" 'one model'

# The table of docs/models.md is what the program prints.
docs=$(dirname "$0")/../../docs/models.md
succeeds models --format markdown
same "$(sed -n '/^| model | what/,/^$/p' "$docs" | sed -e 1,2d -e '/^$/d')" "$(cat "$work/out")" \
    'the table of docs/models.md'
help_example models
finish
