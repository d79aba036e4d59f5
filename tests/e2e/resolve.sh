# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of posref resolve, beside lib.sh: resolve a config, look at its layers.
# shellcheck shell=bash disable=SC2154

# What eval is to be given beside a spec: one word after another, a layer a line; - where there is
# no spec. A learned table has as many rows as its first position has before it, and one; schemes
# that are nothing but scores get a query, a key and what is added to them.
# shellcheck disable=SC2016
words_of_layers='def words: to_entries[] | .key + "=" + (.value |
        if type == "array" then map(tostring) | join(",") else tostring end);
    def ones($n): [range($n) | "1"] | join(",");
    def scored: (.dim // 2) as $dim | "positions=0", "q=" + ones($dim), "k=" + ones($dim),
        if .scheme == "shaw" then "key_weights=" + ones((2 * .max_relative_position + 1) * $dim)
        elif .scheme == "transformer_xl" then "key_weights=" + ones(.model_dim * $dim),
            "u=" + ones($dim), "v_bias=" + ones($dim)
        else empty end;
    .layers[] | .spec | if . == null then "-" else [words,
        if .scheme == "rope" then "op=frequencies"
        elif .scheme == "learned" then "positions=0",
            "weights=" + ([range((.offset + 1) * .dim) | tostring] | join(","))
        elif .scheme == "none" or .scheme == "shaw" or .scheme == "transformer_xl" then scored
        elif .window_size then "positions=grid:2:2"
        else "positions=0..2" end] | join("\t") end'

# config JSON: resolves it; every layer's spec must evaluate, as it stands, to the same numbers.
config() {
    printf '%s' "$1" >"$work/config.json"
    succeeds resolve "$work/config.json"
    cp "$work/out" "$work/answer"
    : >"$work/evaluated"
    local words
    while IFS=$'\t' read -r -a words; do
        if [ "${words[0]}" = - ]; then echo null >"$work/out"; else succeeds eval "${words[@]}"; fi
        cat "$work/out" >>"$work/evaluated"
    done < <(jq -r "$words_of_layers" "$work/answer")
    same "$(jq -c '.layers[] | [.spec, .inv_freq, .attention_factor]' "$work/answer")" \
        "$(jq -c '[.spec, .outputs.inv_freq.data // [], .outputs.attention_factor.data[0]]' \
            "$work/evaluated")" "layers of $1"
    cp "$work/answer" "$work/out"
}
# spec N KEY=VALUE...: the spec of layer N has these values.
spec() {
    local layer=$1
    shift
    same "$(jq -r --argjson layer "$layer" '.layers[$layer].spec as $spec |
        $ARGS.positional[] | split("=")[0] as $key | "\($key)=\($spec[$key])"' "$work/answer" \
        --args "$@")" "$(printf '%s\n' "$@")" "layer $layer of $(cat "$work/config.json")"
}
# noted KIND KEY [TEXT]: a note of that kind on that key, in a layer or beside them.
noted() {
    if jq -e --arg kind "$1" --arg key "$2" --arg text "${3-}" '[.notes[], .layers[].notes[]] |
        any(.kind == $kind and .key == $key and (.text | contains($text)))' "$work/answer" \
        >/dev/null; then ok; else
        bad "no note $1 $2 $3 in $(jq -c '[.notes[], .layers[].notes[] | [.kind, .key, .text]]' \
            "$work/answer")"
    fi
}
# parts RUNTIME KEY PAIR HF OTHER: inv_freq of the pair where the two part most.
parts() {
    same "$(jq -c --arg runtime "$1" --arg key "$2" '[.layers[].notes[] |
        select(.runtime == $runtime and .key == $key) |
        [.pair, .inv_freq.huggingface, .inv_freq[$runtime]]][0]' "$work/answer")" "[$3,$4,$5]" \
        "$1 on $2"
}
# layers NAME...: the layers' names, each with its number where there is one.
layers() {
    same "$(jq -r '[.layers[] | .applies_to + (if .n_layers then " \(.n_layers)" else "" end)] |
        join(", ")' "$work/answer")" "$1" "layers of $(cat "$work/config.json")"
}
# broken TEXT JSON: refused in one line that holds TEXT.
broken() {
    printf '%s' "$2" >"$work/config.json"
    refuses "$1" resolve "$work/config.json"
}
