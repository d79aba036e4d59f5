#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# The service's side of presets and configs: every preset evaluates over HTTP, each with the status
# of its parameters and none without consent; POST /v1/resolve answers what the command does.
. "$(dirname "$0")/server.sh"

here=$(cd "$(dirname "$0")" && pwd)
start

# One line a layer of a preset: its name, whether it is verified, its query. Learned tables are cut
# to two channels, and their rows given.
get /v1/models
check 'models: status' "$status" 200
jq -r '.models[] | .name as $name | (.layers | length) as $n | .layers[] |
    ([.status[] | select(. == "unverified")] | length) as $doubts |
    (if $n > 1 then "\($name)/\(.applies_to)" else $name end) + "\t" +
    (if $doubts > 0 then "doubtful" else "verified" end) + "\t" +
    (.spec | if .scheme == "learned" then "&dim=2&positions=0&weights=1,2,3,4,5,6,7,8"
     elif .window_size or (.scheme == "sinusoidal" and .axes_dims) then "&positions=grid:2:2"
     elif .scheme != "rope" then "&positions=0..2"
     elif .scaling == "longrope" or (.scaling | startswith("dynamic")) then
        "&op=frequencies&positions=0..2"
     else "&op=frequencies" end)' "$dir/body" >"$dir/list"
check 'every preset has a status for every parameter' "$(jq -c '[.models[] | .layers[] |
    ((.spec | keys) - (.status | keys)) | select(. != [])] | length' "$dir/body")" 0
# One curl for all: URL, then URL with consent.
while IFS=$'\t' read -r name known query; do
    for consent in '' '&allow_unverified=1'; do
        printf 'url = "%s/v1/eval?model=%s%s%s"\noutput = "/dev/null"\n' "$url" "$name" "$consent" \
            "$query"
    done
done <"$dir/list" >"$dir/urls"
curl -s -g --max-time 300 -w '%{http_code}\n' -K "$dir/urls" | paste - - >"$dir/codes"
while IFS=$'\t' read -r name known _ plain agreed; do
    if [ "$known" = verified ]; then want='200 200'; else want='400 200'; fi
    check "model=$name" "$plain $agreed" "$want"
done < <(paste "$dir/list" "$dir/codes")
check 'families that are verified' \
    "$(($(jq '[.models[] | select([.layers[].status[] | select(. == "unverified")] == []) |
        .family] | unique | length' "$dir/body") >= 45))" 1
refused '/v1/eval?model=smollm3-3b&op=frequencies' 400 model
get '/v1/eval?model=llama-3.1-8b&op=frequencies'
"$posref" eval model=llama-3.1-8b op=frequencies >"$dir/out"
check 'the numbers of a preset' "$(jq -c .outputs "$dir/body")" "$(jq -c .outputs "$dir/out")"

# Configs: the same bytes as the command prints.
json=(-H 'content-type: application/json')
for file in "$here"/configs/*.json; do
    get /v1/resolve "${json[@]}" --data-binary "@$file"
    "$posref" resolve "$file" >"$dir/out"
    check "$file: status" "$status" 200
    same "$file" body out
done
printf 'GGUF' >"$dir/short"
refused /v1/resolve 400 header "${json[@]}" --data-binary "@$dir/short"
refused /v1/resolve 400 '' "${json[@]}" --data-binary '{"rope_theta": NaN}'
refused /v1/resolve 400 rope_theta "${json[@]}" --data-binary '{"model_type": "llama",
    "rope_theta": "1e4",
    "hidden_size": 64, "num_attention_heads": 2}'
head -c 100000 /dev/zero | tr '\0' '[' >"$dir/deep"
refused /v1/resolve 400 '' "${json[@]}" --data-binary "@$dir/deep"
get '/v1/resolve?strict=1' "${json[@]}" --data-binary '{}'
check 'an unknown parameter' "$status" 400
get /healthz
check 'alive' "$status" 200
finish
