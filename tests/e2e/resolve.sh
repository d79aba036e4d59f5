# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of posref resolve, beside lib.sh: resolve a config, look at its layers.
# shellcheck shell=bash disable=SC2154

# config JSON: resolves it; every layer's spec must evaluate, as it stands, to the same numbers.
config() {
    printf '%s' "$1" >"$work/config.json"
    succeeds resolve "$work/config.json"
    cp "$work/out" "$work/answer"
    local layer n
    n=$(jq '.layers | length' "$work/answer")
    for ((layer = 0; layer < n; layer++)); do
        local spec
        spec=$(jq -c ".layers[$layer].spec | select(. != null)" "$work/answer")
        [ -n "$spec" ] || continue
        mapfile -t words < <(jq -r 'to_entries[] | .key + "=" + (.value |
            if type == "array" then map(tostring) | join(",") else tostring end)' <<<"$spec")
        case $(jq -r .scheme <<<"$spec") in
        rope) succeeds eval op=frequencies "${words[@]}" ;;
        swin | swinv2 | beit) succeeds eval positions=grid:2:2 "${words[@]}" ;;
        learned) # needs a table: as many rows as its first position has before it, and one
            local cells
            cells=$(jq '(.offset + 1) * .dim' <<<"$spec")
            succeeds eval positions=0 "${words[@]}" "weights=$(seq -s, "$cells")" ;;
        *) succeeds eval positions=0..2 "${words[@]}" ;;
        esac
        same "$(jq -c ".layers[$layer] | [.spec, .inv_freq, [.attention_factor]]" "$work/answer")" \
            "$(jq -c '[.spec, .outputs.inv_freq.data // [],
                .outputs.attention_factor.data // [null]]' "$work/out")" "layer $layer of $1"
    done
    cp "$work/answer" "$work/out"
}
# spec N KEY=VALUE...: the spec of layer N has these values.
spec() {
    local layer=$1 pair
    shift
    for pair; do
        same "$(jq -r ".layers[$layer].spec.${pair%%=*}" "$work/answer")" "${pair#*=}" \
            "${pair%%=*} of layer $layer of $(cat "$work/config.json")"
    done
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
