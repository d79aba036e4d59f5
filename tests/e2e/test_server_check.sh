#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# What the service judges and compares: check, diff, and numbers in their three forms.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 3
# shellcheck source=tests/e2e/server.sh
. tests/e2e/server.sh

# send PATH FILE TYPE [CURL OPTION...]: posts $dir/FILE.
send() {
    local path=$1 file=$2 type=$3
    shift 3
    get "$path" -H "Content-Type: $type" --data-binary "@$dir/$file" "$@"
}
# says JQ: true of the body.
says() {
    if jq -e "$1" "$dir/body" >/dev/null 2>&1; then ok; else
        bad "$1 is not true of ${body:0:400}"
    fi
}
json=application/json tensors=application/vnd.safetensors

# ---- check -------------------------------------------------------------------------------------

# right ID: the vector's own outputs pass, in every form of the body and of the numbers.
right() {
    local id=$1 form dtype
    for form in decimal hex bits; do
        get "/v1/vectors/$id?numbers=$form"
        jq -c '{outputs}' "$dir/body" >"$dir/outputs"
        send "/v1/vectors/$id/check" outputs $json
        check "$id $form: status" "$status" 200
        says '.verdict == "pass" and .grade == "exact" and .explanations == [] and .dtype == "f64"'
        says '.worst.error_u == 0 and .gate == "exact" and (has("breach") | not)'
        says ".id == \"$id\""
        check "$id: caching" "$(header cache-control)" no-store
    done
    for dtype in f32 f16 bf16; do
        send "/v1/vectors/$id/check?dtype=$dtype" outputs $json
        check "$id $dtype" "$(member verdict)" pass
        says ".dtype == \"$dtype\""
    done
    send "/v1/vectors/$id/check?dtype=f32&min_grade=float32" outputs $json
    says '.gate == "float32" and .verdict == "pass"'
}

# A rotation computed with the other pairing, as a kernel with that fault returns it.
wrong_pairing() {
    local id=$1
    get "/v1/vectors/$id?answers=false"
    jq -c '{spec: (.spec + {pairing: "interleaved"}), op, inputs}' "$dir/body" >"$dir/request"
    send /v1/eval request $json
    check 'eval of the wrong spec' "$status" 200
    jq -c '{outputs: {y: .outputs.y}}' "$dir/body" >"$dir/outputs"
    send "/v1/vectors/$id/check" outputs $json
    says '.verdict == "fail" and .grade == "fail" and (.breach | length > 0)'
    says '.explanations[0].fault == "wrong-pairing" or (.explanations[0].summary |
          contains("pairing=interleaved"))'
    says '.explanations[0].spec.pairing == "interleaved" and .explanations[0].residual <= 1'
    says '(.worst.index | length) == 2 and .worst.tensor == "y"'
    # The same as a safetensors document of float32, made by hand.
    jq -r '.outputs.y | (.shape | map(tostring) | join(",")), .data[]' "$dir/outputs" |
        perl -e 'my ($shape, @y) = <>; chomp $shape; my $data = pack("f<*", @y);
            my $head = sprintf q({"y": {"dtype": "F32", "shape": [%s], "data_offsets": [0, %d]}}),
                $shape, length $data;
            $head .= " " x (-length($head) % 8);
            print pack("Q<", length $head), $head, $data;' >"$dir/document"
    send "/v1/vectors/$id/check" document $tensors
    says '.verdict == "fail" and .dtype == "f32" and .gate == "recurrence"'
    says '.explanations[0].spec.pairing == "interleaved"'
}

bad_outputs() {
    local id=$1 path="/v1/vectors/$1/check" text param
    get "/v1/vectors/$id"
    jq -c '.outputs.y.data |= map("NaN") | {outputs}' "$dir/body" >"$dir/outputs"
    send "$path" outputs $json
    says '.verdict == "nan" and .grade == "fail"'
    while IFS='|' read -r param text; do
        printf '%s' "$text" >"$dir/outputs"
        refused "$path" 400 "$param" -H "Content-Type: $json" --data-binary "@$dir/outputs"
    done <<'BODIES'
y|{"outputs": {}}
y|{"outputs": {"y": {"shape": [1], "data": [1]}}}
z|{"outputs": {"z": {"shape": [1], "data": [1]}}}
y|{"outputs": {"y": {"shape": [2], "data": [1]}}}
y|{"outputs": {"y": {"shape": [1], "data": [null]}}}
inputs|{"outputs": {}, "inputs": {}}
outputs|{"outputs": []}
body|{"outputs": {}, "outputs": {}}
body|
BODIES
    printf '{"outputs": {}}' >"$dir/outputs"
    send "$path?dtype=f128" outputs $json
    check 'dtype' "$(member param)" dtype
    check 'dtype: value' "$(member value)" f128
    send "$path?min_grade=best" outputs $json
    check 'min_grade' "$(member param)" min_grade
    send "$path?gate=low" outputs $json
    check 'unknown parameter' "$(member param)" gate
    printf '\377\377\377\377\377\377\377\377{}' >"$dir/document"
    send "$path" document $tensors
    check 'no safetensors document' "$status" 400
    refused "$path" 415 '' -H 'Content-Type: application/x-npy' --data-binary "@$dir/outputs"
    refused "/v1/vectors/no/such/check" 404 '' -H "Content-Type: $json" --data-binary '{}'
    refused "$path" 405 ''
    check 'check: Allow' "$(header allow)" 'POST, OPTIONS'
    head -c 2200000 /dev/zero >"$dir/outputs"
    refused "$path" 413 '' -H "Content-Type: $json" --data-binary "@$dir/outputs"
}

# ---- explain -----------------------------------------------------------------------------------

explains() {
    local id=$1
    get "/v1/vectors/$id"
    jq -c '{spec: (.spec + {pairing: "interleaved"}), inputs, outputs}' "$dir/body" >"$dir/request"
    send /v1/explain request $json
    check 'explain: status' "$status" 200
    says '.verdict == "fail" and .op == "rotate" and .spec.pairing == "interleaved"'
    says '.explanations[0].spec.pairing == "half"'
    jq -c '{spec, inputs, outputs}' "$dir/body" >"$dir/request" # the answer is no request
    send /v1/explain request $json
    check 'explain: outputs missing' "$status" 400
    get "/v1/vectors/$id"
    jq -c '{spec, inputs, outputs}' "$dir/body" >"$dir/request"
    send '/v1/explain?dtype=f32' request $json
    says '.verdict == "pass" and .dtype == "f32" and .explanations == []'
    printf '{"spec": {"dim": 4}, "outputs": {"inv_freq": [1, 0.01]}}' >"$dir/request"
    send /v1/explain request $json
    says '.verdict == "pass" and .op == "frequencies"'
    printf '{"spec": {"dim": 4}, "outputs": {"bias": [1, 0.01]}}' >"$dir/request"
    send /v1/explain request $json
    check 'no such output' "$status $(member param)" '400 bias'
    # What is missing is what the op of these outputs misses, whichever ops come after it.
    while IFS='|' read -r param spec inputs outputs; do
        printf '{"spec": {%s}, "inputs": {%s}, "outputs": {%s}}' "$spec" "$inputs" "$outputs" \
            >"$dir/request"
        send /v1/explain request $json
        check "$outputs: missing" "$status $(member param)" "400 $param"
    done <<'REQUESTS'
positions|"dim": 4||"y": [1, 2, 3, 4]
x|"dim": 4|"positions": [1]|"y": [1, 2, 3, 4]
positions|"dim": 4||"cos": [1, 2]
v|"dim": 4||"attention": [1, 2]
positions|"scheme": "sinusoidal", "dim": 4||"table": [1, 2, 3, 4]
weights|"scheme": "t5_bias", "num_heads": 1|"positions": [0]|"bias": [1]
z|"dim": 4||"z": [1]
table|"scheme": "sinusoidal", "dim": 4|"positions": [1]|"table": [1, 2, 3]
REQUESTS
    hasnt 'an output called like a field' "$body" allowed
    printf '{"spec": {"dim": 5}, "outputs": {"y": [1]}}' >"$dir/request"
    send /v1/explain request $json
    check 'a wrong spec' "$status $(member param)" '400 dim'
    printf '{"spec": {"dim": 4}, "outputs": {}}' >"$dir/request"
    send /v1/explain request $json
    check 'no outputs' "$status $(member param)" '400 outputs'
    printf '{"spec": {"dim": 4096}, "inputs": {"positions": "0..999"}, "outputs": {"cos": [1]}}' \
        >"$dir/request"
    send /v1/explain request $json
    check 'too much' "$status" 413
}

# ---- diff --------------------------------------------------------------------------------------

diffs() {
    "$posref" diff dim=128,base=10000 dim=128,base=10000,scaling=linear,factor=4 >"$dir/want"
    get '/v1/diff?a=dim%3D128%26base%3D1e4&b=dim%3D128%26scaling%3Dlinear%26factor%3D4'
    check 'diff: status' "$status" 200
    same 'diff: not the bytes of posref diff' want body
    get '/v1/diff?a=%7B"dim":128%7D&b=dim=128%20base=10000%20scaling=linear%20factor=4'
    same 'diff of JSON: not the bytes of posref diff' want body
    refused '/v1/diff?a=dim%3D128' 400 b
    refused '/v1/diff' 400 a
    refused '/v1/diff?a=dim%3D128&b=dim%3D5' 400 b
    has 'diff: the field' "$(member detail)" 'dim'
    refused '/v1/diff?a=dim%3D128%26dim%3D2&b=dim%3D4' 400 a
    refused '/v1/diff?a=dim%3D128%26dimm%3D2&b=dim%3D4' 400 a
    refused '/v1/diff?a=dim%3D16384&b=dim%3D16384' 400 a
    refused '/v1/diff?a=dim%3D128&b=scheme%3Dalibi%26num_heads%3D8' 400 scheme
    refused '/v1/diff?a=%7B&b=dim%3D4' 400 a
}

# ---- numbers -----------------------------------------------------------------------------------

numbers() {
    local id=$1 form
    get '/v1/eval?dim=4&positions=3&numbers=hex'
    says '.outputs.sin.data[0] == "0x1.210386db6d55bp-3" and .outputs.inv_freq.data[0] == "0x1p+0"'
    says '.spec.base == 10000'
    get '/v1/eval?dim=4&positions=3&numbers=bits'
    says '.outputs.sin.data[0] == "3fc210386db6d55b"'
    printf '{"spec": {"dim": 4}, "inputs": {"positions": [3]}}' >"$dir/request"
    send '/v1/eval?numbers=bits' request $json
    says '.outputs.sin.data[0] == "3fc210386db6d55b"'
    refused '/v1/eval?dim=4&numbers=octal' 400 numbers
    refused "/v1/vectors/$id?numbers=octal" 400 numbers
    get "/v1/vectors/$id?numbers=decimal"
    cp "$dir/body" "$dir/want"
    get "/v1/vectors/$id"
    same 'numbers=decimal is what is stored' want body
    # What was written in another form is read back to the same bits.
    for form in hex bits; do
        get "/v1/vectors/$id?numbers=$form&answers=false"
        jq -c '{spec, op, inputs}' "$dir/body" >"$dir/request"
        send /v1/eval request $json
        jq .outputs "$dir/body" >"$dir/got"
        jq .outputs "$dir/want" >"$dir/golden"
        check "$form: outputs" "$(head -c 1 "$dir/got")" '{'
        same "$form: inputs read back" golden got
    done
}

# ---- the whole database, and what was retired --------------------------------------------------

# restart FILE: serves another database, which db names from then on.
restart() {
    kill -TERM "$pid" && wait "$pid"
    db=$1
    start --db "$db"
}

# part RANGE WANT-STATUS FIRST COUNT [CURL OPTION...]: those bytes of the file come back.
part() {
    local range=$1 want=$2 first=$3 count=$4
    shift 4
    get "$file" -H "Range: $range" "$@"
    check "$range: status" "$status" "$want"
    check "$range: bytes" "$(sha256sum <"$dir/body")" \
        "$(tail -c "+$((first + 1))" "$db" | head -c "$count" | sha256sum)"
    if [ "$want" = 206 ]; then
        check "$range: Content-Range" "$(header content-range)" \
            "bytes $first-$((first + count - 1))/$size"
        check "$range: length" "$(header content-length)" "$count"
    fi
}

# names_database LEAST-SUITES: sets sha, size and file of what is served.
names_database() {
    sha=$(sha256sum <"$db" | cut -d' ' -f1) size=$(stat -c %s "$db")
    get /v1/database
    says ".sha256 == \"$sha\" and .size_bytes == $size and (.suites | length) >= $1"
    file=$(member url)
}

# Of smoke, which is small: bash takes seconds to read a body of 47 MB.
whole_database() {
    local sha size file etag
    names_database 2
    restart "$smoke"
    names_database 1
    check 'address' "$file" "/v1/database/$sha"
    get "$file"
    check 'whole: status' "$status" 200
    check 'whole: bytes' "$(cmp "$dir/body" "$db" 2>&1)" ''
    check 'whole: ranges' "$(header accept-ranges)" bytes
    check 'whole: type' "$(header content-type)" application/vnd.sqlite3
    check 'whole: caching' "$(header cache-control)" 'public, max-age=31536000, immutable'
    etag=$(header etag)
    check 'whole: tag' "$etag" "\"$sha\""
    get "$file" -I
    check 'HEAD: length' "$(header content-length)" "$size"
    get "$file" -H "If-None-Match: $etag" -H 'Range: bytes=0-9'
    check '304 before ranges' "$status" 304
    part bytes=0-99 206 0 100
    part bytes=4096-8191 206 4096 4096
    part "bytes=$((size - 1))-" 206 $((size - 1)) 1
    part bytes=-100 206 $((size - 100)) 100
    part "bytes=-$((size + 5))" 206 0 "$size"
    part "bytes=10-$((size * 2))" 206 10 $((size - 10))
    part bytes=0-99 206 0 100 -H "If-Range: $etag"
    part bytes=0-99 200 0 "$size" -H 'If-Range: "other"'
    part bytes=0-99 200 0 "$size" -H "If-Range: W/$etag"
    part bytes=0-9,20-29 200 0 "$size"
    part items=0-9 200 0 "$size"
    part bytes=9-1 200 0 "$size"
    part bytes=a-b 200 0 "$size"
    part bytes=99999999999999999999-999999999999999999999 200 0 "$size"
    refused "$file" 416 '' -H "Range: bytes=$size-"
    check '416: length' "$(header content-range)" "bytes */$size"
    refused "$file" 416 '' -H 'Range: bytes=-0'
    refused "/v1/database/${sha//[0-9]/0}" 404 ''
    refused "$file/x" 404 ''
    refused "$file?x=1" 400 x
    get /v1/suites -H 'Range: bytes=0-9'
    check 'no ranges elsewhere' "$status" 200
}

# An id that was retired is answered with its successor.
retired() {
    local id=$1
    cp "$db" "$dir/retired.db"
    sqlite3 "$dir/retired.db" "INSERT INTO retired VALUES ('rope/old/name', '$id')"
    restart "$dir/retired.db"
    refused /v1/vectors/rope/old/name 410 ''
    check '410: successor' "$(member successor)" "/v1/vectors/$id"
    refused /v1/vectors/rope/old/name 410 '' -H 'Accept: application/vnd.safetensors'
    refused /v1/vectors/rope/old/name/check 410 '' -H "Content-Type: $json" --data-binary '{}'
    get "/v1/vectors/$id"
    check 'the successor is there' "$status" 200
    has 'posref show' "$("$posref" show --db "$db" rope/old/name 2>&1)" \
        "rope/old/name: was retired; $id took its place"
}

core_db
smoke=$dir/smoke.db
"$posref" generate --suite smoke -o "$smoke" || exit 3
start --db "$db"
id=rope/half/yarn/d128-b1e6-f4-o32768/long
right "$id"
for one in alibi sinusoidal rope/interleaved; do
    get "/v1/vectors?id=$one&limit=1"
    right "$(jq -r '.vectors[0].id' "$dir/body")"
done
wrong_pairing "$id"
bad_outputs "$id"
explains "$id"
diffs
numbers "$id"
whole_database
retired "$(sqlite3 "$smoke" 'SELECT min(id) FROM vector')"
finish
