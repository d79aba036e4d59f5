#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# posref serve as its clients see it: every route, status and header; the answers of eval against
# the command line; paging; caching. test_server_life.sh has hostile clients, reload and drain.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 3
# shellcheck source=tests/e2e/server.sh
. tests/e2e/server.sh

# ---- what must not start -----------------------------------------------------------------------

# refuse_start WHAT STATUS PART OPTION...: one line on stderr, the exit status.
refuse_start() {
    local what=$1 want=$2 part=$3 out
    shift 3
    out=$(timeout 60 "$posref" serve "$@" 2>&1)
    check "$what: exit status" "$?" "$want"
    check "$what: lines" "$(wc -l <<<"$out")" 1
    has "$what: message" "$out" "$part"
}

listens() {
    local where
    for where in '' 8080 127.0.0.1 127.0.0.1: :8080 127.0.0.1:65536 127.0.0.1:x 127.0.0.1:-1 \
        127.0.0.1:80x ::1:8080 '[]:80' 300.1.1.1:80 no.such.host.invalid:80; do
        refuse_start "--listen '$where'" 2 '--listen' --db "$db" --listen "$where"
    done
    refuse_start 'unknown option' 2 '--lisen' --lisen 127.0.0.1:0
    refuse_start 'no value' 2 '--listen' --listen
    refuse_start 'missing database' 2 'missing.db' --listen 127.0.0.1:0 --db "$dir/missing.db"
    echo 'no database' >"$dir/text.db"
    refuse_start 'no database' 2 'text.db' --listen 127.0.0.1:0 --db "$dir/text.db"
    has 'help' "$("$posref" serve --help)" '--listen ADDR:PORT'
}

# ---- routes ------------------------------------------------------------------------------------

simple_routes() {
    local path
    get /
    check '/: status' "$status" 200
    check '/: type' "$(header content-type)" 'text/plain; charset=utf-8'
    check '/: three curl lines' "$(grep -c '^curl ' <<<"$body")" 3
    local line
    while read -r line; do
        # What the page offers works as it stands.
        check "$line" "$(eval "$line -s -o /dev/null -w '%{http_code}'")" 200
    done <<<"$body"
    # shellcheck disable=SC2016
    get / -H 'Host: $(reboot)'
    hasnt '/: host in a command line' "$body" 'reboot'
    for path in /healthz /openapi.json /v1/schemes /v1/suites '/v1/vectors?limit=1'; do
        get "$path"
        check "$path: status" "$status" 200
        check "$path: type" "$(header content-type)" application/json
        check "$path: CORS" "$(header access-control-allow-origin)" '*'
        check "$path: nosniff" "$(header x-content-type-options)" nosniff
        check "$path: JSON" "$(jq empty <<<"$body" 2>&1)" ''
    done
    get /healthz
    check '/healthz: not stored' "$(header cache-control)" 'no-store'
    check '/healthz' "$(member status)" ok
    get /openapi.json
    cp schema/openapi.json "$dir/want"
    same '/openapi.json is not the file' want body
    get /v1/suites
    check '/v1/suites: digest' "$(member digest | grep -cE '^[0-9a-f]{64}$')" 1
    get /v1/schemes
    has '/v1/schemes: source' "$body" 'arXiv 2104.09864'
    has '/v1/schemes: default' "$(grep '"name": "base"' <<<"$body")" '"default": 10000'
    command jq -r -f tests/e2e/schemes.jq "$dir/body" >"$dir/got"
    cp docs/schemes.md "$dir/want"
    same 'docs/schemes.md: run make generated' want got
    jq -r -f tests/e2e/choosing.jq "$dir/body" >"$dir/got"
    cp docs/choosing.md "$dir/want"
    same 'docs/choosing.md: run make generated' want got
    get /v1/faults
    has '/v1/faults: pairing' "$(grep '"name": "pairing"' <<<"$body")" 'vllm-project/vllm#747'
    jq -r -f tests/e2e/faults.jq "$dir/body" >"$dir/got"
    cp docs/faults.md "$dir/want"
    same 'docs/faults.md: run make generated' want got
}

problem_pages() {
    local name
    for name in malformed-request unknown-parameter bad-parameter not-found method-not-allowed \
        not-acceptable retired range-not-satisfiable too-large uri-too-long \
        unsupported-media-type headers-too-large internal unavailable; do
        get "/problems/$name"
        check "/problems/$name" "$status" 200
        get "/problems/$name?x=1"
        check "/problems/$name?x=1" "$status" 400
    done
    refused /problems/none 404 ''
}

wrong_addresses() {
    local path
    for path in /v1 /v1/ /v1/nothing /v1/vectors/ /v1/vectors/no/such/id /v1/eval/ //v1/eval \
        /../etc/passwd /v1/vectors/../../etc/passwd /V1/eval /index.html /v1/eval%2f; do
        refused "$path" 404 ''
    done
    for path in / /healthz /metrics /v1/suites /v1/schemes /v1/vectors /v1/vectors/x \
        /openapi.json; do
        for method in POST PUT DELETE PATCH BREW; do
            refused "$path" 405 '' -X "$method"
            check "$method $path: Allow" "$(header allow)" 'GET, HEAD, OPTIONS'
        done
    done
    refused /v1/eval 405 '' -X DELETE
    check 'DELETE /v1/eval: Allow' "$(header allow)" 'GET, HEAD, POST, OPTIONS'
    get /v1/eval -X OPTIONS
    check 'OPTIONS: status' "$status" 204
    check 'OPTIONS: Allow' "$(header allow)" 'GET, HEAD, POST, OPTIONS'
    refused /v1/nothing 404 '' -X OPTIONS
}

accept_header() {
    refused /v1/suites 406 '' -H 'Accept: text/html'
    refused /v1/suites 406 '' -H 'Accept: application/json;q=0'
    refused '/v1/eval?dim=4' 406 '' -H 'Accept: application/vnd.safetensors'
    local accept
    for accept in 'application/json' 'text/html, */*;q=0.1' 'application/*'; do
        get /v1/suites -H "Accept: $accept"
        check "Accept: $accept" "$status" 200
    done
}

unknown_parameters() {
    local path
    for path in / /healthz /metrics /openapi.json /v1/suites /v1/schemes /v1/vectors/x \
        /v1/vectors /v1/eval; do
        refused "$path?colour=red" 400 colour
        has "$path: kind" "$body" '/problems/unknown-parameter'
    done
    refused '/v1/eval?pairng=half' 400 pairng
    check 'nearest' "$(member nearest)" pairing
    check 'value' "$(member value)" half
    refused '/v1/vectors?limt=3' 400 limt
    check 'nearest' "$(member nearest)" limit
    refused '/v1/vectors/x?answer=false' 400 answer
    check 'nearest' "$(member nearest)" answers
}

# ---- eval --------------------------------------------------------------------------------------

same_bytes() {
    local spec query
    while read -r spec; do
        query=${spec// /"&"}
        # shellcheck disable=SC2086
        "$posref" eval $spec >"$dir/want" 2>"$dir/err" || bad "eval $spec: $(cat "$dir/err")"
        get "/v1/eval?$query"
        check "$spec: status" "$status" 200
        same "$spec: not the bytes of posref eval" want body
    done <<'SPECS'
scheme=rope dim=4 pairing=interleaved positions=1 x=1,0.5,-0.5,1.5
scheme=rope dim=4 pairing=half positions=0,1,-7 x=1,2,3,4,5,6,7,8,9,10,11,12
dim=64 base=500000 positions=0..15
dim=96 rotary_dim=24 base=1e6 positions=131071,2147483647
dim=8 direction=inverse positions=3 x=1,2,3,4,5,6,7,8
dim=128 scaling=linear factor=4 positions=0..3
dim=128 scaling=ntk factor=8 positions=4095
dim=128 base=1e+06 scaling=yarn factor=4 original_max_position_embeddings=32768 positions=32769
dim=64 scaling=yarn factor=40 original_max_position_embeddings=4096 mscale=0.7 mscale_all_dim=1
dim=64 scaling=yarn factor=8 original_max_position_embeddings=4096 truncate=false positions=5
dim=128 base=500000 scaling=llama3 factor=8 original_max_position_embeddings=8192 positions=8191
scheme=sinusoidal dim=6 positions=0..3
scheme=sinusoidal dim=8 order=concat exponent=half_minus_one positions=0,1048575
scheme=sinusoidal dim=16 axes_lengths=12,7 angle_unit=turn positions=1:2,3:5
scheme=alibi num_heads=12 positions=0..4
scheme=alibi num_heads=8 alibi_bias_max=16 form=symmetric q_positions=7 k_positions=0..7
dim=6 op=frequencies
SPECS
}

# post BODY [CURL OPTION...]
post() {
    local text=$1
    shift
    printf '%s' "$text" >"$dir/request"
    get /v1/eval -H 'Content-Type: application/json' --data-binary "@$dir/request" "$@"
}

eval_post() {
    "$posref" eval scheme=rope dim=4 pairing=interleaved positions=1 x=1,0.5,-0.5,1.5 >"$dir/want"
    post '{"spec": {"scheme": "rope", "dim": 4, "pairing": "interleaved"},
           "inputs": {"positions": {"shape": [1], "data": [1]},
                      "x": {"shape": [1, 4], "data": [1, 0.5, -0.5, 1.5]}}}'
    check 'POST: status' "$status" 200
    same 'POST: not the bytes of posref eval' want body
    get /v1/eval --data-binary "@$dir/request" -H 'Content-Type:'
    check 'POST without a type' "$status" 200
    get /v1/eval --data-binary "@$dir/request" -H 'Content-Type: Application/JSON; charset=utf-8'
    check 'POST with a charset' "$status" 200
    post "$(cat "$dir/request")" -H 'Transfer-Encoding: chunked'
    check 'POST in chunks' "$status" 200
    refused /v1/eval 415 '' --data-binary "@$dir/request"
    refused /v1/eval 415 '' --data-binary "@$dir/request" -H 'Content-Type: text/plain'
    refused /v1/eval 415 '' --data-binary "@$dir/request" -H 'Content-Encoding: gzip' \
        -H 'Content-Type: application/json'
    refused '/v1/eval?dim=4' 400 dim --data-binary "@$dir/request" -H 'Content-Type:'
    local text
    for text in '' '{' '[]' 'null' $'\xff' '{"spec": {"dim": 4}' '{"spec": {"dim": 1e999}}' \
        '{"spec": {"dim": 4}, "spec": {}}' '{"spec": {"dim": NaN}}'; do
        post "$text"
        check "body '$text'" "$status" 400
    done
    post '{"spec": {"dim": 4, "pairng": "half"}}'
    check 'unknown member: status' "$status" 400
    check 'unknown member: param' "$(member param)" pairng
    post '{"spec": {"dim": 4}, "colour": 1}'
    check 'unknown member: param' "$(member param)" colour
    post '{"spec": {"dim": 4}, "inputs": {"positions": {"shape": [2], "data": [1]}}}'
    check 'wrong shape: param' "$(member param)" positions
    post "$(printf '[%.0s' {1..5000})"
    check 'deep nesting' "$status" 400
}

# Bad input of every kind: 400, with the parameter named.
bad_input() {
    local query param
    while read -r query param; do
        refused "/v1/eval?$query" 400 "$param"
    done <<'QUERIES'
scheme=none&dim=4 q
dim=5 dim
dim=0 dim
dim=-2 dim
dim=4.5 dim
dim=99999999999999999999 dim
dim=16386 dim
dim= dim
scheme=rope dim
dim=8&rotary_dim=3 rotary_dim
dim=8&rotary_dim=10 rotary_dim
dim=2&scaling=ntk&factor=2 scaling
dim=8&base=1 base
dim=8&base=0 base
dim=8&base=1e13 base
dim=8&base=nan base
dim=8&base=inf base
dim=8&base=1e400 base
dim=8&base=10000x base
dim=8&base=1,5 base
dim=8&scaling=linear&factor=0 factor
dim=8&scaling=linear&factor=-1 factor
dim=8&scaling=linear factor
dim=8&factor=2 factor
dim=8&num_heads=4 num_heads
dim=8&scaling=rope scaling
dim=8&pairing=halves pairing
dim=8&scheme=ropes scheme
dim=8&op=nothing op
dim=8&positions=2147483648 positions
dim=8&positions=-2147483648 positions
dim=8&positions=1e300 positions
dim=8&positions=1, positions
dim=8&positions=a positions
dim=8&positions= positions
dim=8&positions=0..99999999999 positions
dim=8&positions=1&x=1,2 x
dim=8&positions=1&x=1,2,3,4,5,6,7,z x
dim=8&x=1,2,3,4,5,6,7,8 positions
dim=8&dim=8 dim
dim=8&di%6d=8 dim
dim=8&base=%zz base
dim=8&base=%2 base
dim=8&base=1%000 base
dim=8&base=%ff base
dim=8&base=%c3%28 base
dim=8&base=1%0a base
dim dim
dim=8&base base
x=@/etc/passwd&dim=8&positions=1 x
scheme=alibi num_heads
scheme=alibi&num_heads=0 num_heads
scheme=alibi&num_heads=2&form=round form
scheme=sinusoidal&dim=8&pairing=half pairing
QUERIES
    refused '/v1/eval?%zz=1' 400 ''
    refused '/v1/eval?=1' 400 ''
    refused '/v1/%zz' 400 ''
    refused '/v1/suites%00' 400 ''
    refused '/v1/suites%00?x=1' 400 ''
    refused '/v1/%ff' 400 ''
    get '/v1/eval?dim=8&direction=back'
    check 'allowed' "$(member allowed)" 'forward, inverse'
    check 'value' "$(member value)" 'back'
    get '/v1/eval?dim=99999'
    check 'allowed' "$(member allowed)" 'integers from 2 to 16384'
}

too_much() {
    refused '/v1/eval?dim=256&positions=0..1024' 413 positions
    get '/v1/eval?dim=256&positions=0..1023'
    check 'as much as may be asked' "$status" 200
    refused '/v1/eval?scheme=alibi&num_heads=16&positions=0..128' 413 positions
    local row=0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0 # 132 queries of one channel, 132 keys
    row=$row,$row,$row,$row,$row,$row,$row,$row,0,0,0,0
    refused "/v1/eval?scheme=alibi&num_heads=1&positions=0..131&q=$row&k=$row" 413 q
    local long
    long=$(printf '1,%.0s' {1..5000})
    refused "/v1/eval?dim=4&positions=1&x=$long" 414 ''
    head -c 3000000 /dev/zero | tr '\0' ' ' >"$dir/large"
    refused /v1/eval 413 '' -H 'Content-Type: application/json' --data-binary "@$dir/large"
    refused /v1/eval 413 '' -H 'Content-Type: application/json' -H 'Transfer-Encoding: chunked' \
        --data-binary "@$dir/large"
    local headers=() i
    for ((i = 0; i < 70; i++)); do headers+=(-H "X-$i: 1"); done
    refused /v1/suites 431 '' "${headers[@]}"
    refused /v1/suites 431 '' -H "X: $(head -c 9000 /dev/zero | tr '\0' x)"
}

# ---- vectors -----------------------------------------------------------------------------------

# All ids under a query, by walking pages; fails on a page that is not as announced.
walk() {
    local next="/v1/vectors?$1" pages=0
    while [ "$next" != null ] && [ $pages -lt 2000 ]; do
        get "$next"
        check "$next" "$status" 200
        jq -r '.vectors[].id' <"$dir/body" >>"$dir/ids"
        next=$(jq -r .next <"$dir/body")
        pages=$((pages + 1))
    done
}

paging() {
    "$posref" list --db "$db" >"$dir/all" || bad 'posref list'
    check 'there are vectors' "$([ "$(wc -l <"$dir/all")" -gt 100 ] && echo yes)" yes
    if LC_ALL=C sort -c "$dir/all"; then ok; else bad 'posref list is not sorted'; fi
    : >"$dir/ids"
    walk limit=97
    same 'pages of 97 are not every vector, once' all ids
    : >"$dir/ids"
    walk 'scheme=rope&pairing=half&scaling=yarn&limit=40'
    "$posref" list --db "$db" scheme=rope pairing=half scaling=yarn >"$dir/some"
    same 'filtered pages are not the filtered list' some ids
    : >"$dir/ids"
    walk 'suite=smoke&limit=1000'
    "$posref" list --db "$db" --suite smoke >"$dir/some"
    same 'the pages of smoke are not the list of smoke' some ids
    : >"$dir/ids"
    walk 'id=alibi/&limit=50&flag=zero-position'
    "$posref" list --db "$db" id=alibi/ flag=zero-position >"$dir/some"
    same 'filters by id and flag are not those of the list' some ids
    check 'a flag and a prefix match something' "$([ -s "$dir/some" ] && echo yes)" yes
    get '/v1/vectors?limit=3'
    check 'a page has limit vectors' "$(jq '.vectors | length' <<<"$body")" 3
    get '/v1/vectors'
    check 'a page has 100 vectors' "$(jq '.vectors | length' <<<"$body")" 100
    get '/v1/vectors?dim=12346'
    check 'nothing matches: status' "$status" 200
    check 'nothing matches' "$(command jq -c . <<<"$body")" '{"vectors":[],"next":null}'
    get '/v1/vectors?after=~'
    check 'behind the last' "$(command jq -c . <<<"$body")" '{"vectors":[],"next":null}'
    local bad_limit
    for bad_limit in 0 -1 1001 99999999999999999999 1.5 x '' 1e2; do
        refused "/v1/vectors?limit=$bad_limit" 400 limit
    done
    refused '/v1/vectors?dim=x' 400 dim
    refused '/v1/vectors?pairing=halves' 400 pairing
    refused '/v1/vectors?suite=none' 400 suite
    refused '/v1/vectors?suite=core@0' 400 suite
    refused '/v1/vectors?op=none' 400 op
}

one_vector() {
    local id encoded etag
    id=$(sed -n 2p "$dir/all")
    encoded=${id//\//%2F}
    "$posref" show --db "$db" "$id" >"$dir/want" || bad "posref show $id"
    get "/v1/vectors/$id"
    check "$id: status" "$status" 200
    same "$id: not the bytes of posref show" want body
    check 'id' "$(jq -r .id <<<"$body")" "$id"
    check 'outputs' "$(jq 'has("outputs")' <<<"$body")" true
    etag=$(header etag)
    check 'the entity tag is the SHA-256' "$etag" "\"$(sha256sum <"$dir/body" | cut -d' ' -f1)\""
    get "/v1/vectors/$encoded"
    check '%2F' "$(header etag)" "$etag"
    get "/v1/vectors/$id?answers=true"
    check 'answers=true' "$(header etag)" "$etag"
    get "/v1/vectors/$id?answers=false"
    check 'answers=false: outputs' "$(jq 'has("outputs")' <<<"$body")" false
    check 'answers=false: inputs' "$(jq 'has("inputs")' <<<"$body")" true
    check 'answers=false: tag' "$(header etag)" "\"$(sha256sum <"$dir/body" | cut -d' ' -f1)\""
    "$posref" show --db "$db" --format safetensors "$id" >"$dir/want" || bad 'show safetensors'
    get "/v1/vectors/$id" -H 'Accept: application/vnd.safetensors'
    same "$id: not the bytes of posref show --format safetensors" want body
    check 'safetensors: type' "$(header content-type)" 'application/vnd.safetensors'
    check 'safetensors: tag' "$(header etag)" "\"$(sha256sum <"$dir/body" | cut -d' ' -f1)\""
    get "/v1/vectors/$id?answers=false" -H 'Accept: application/vnd.safetensors'
    check 'safetensors without answers' "$status" 200
    check 'safetensors without answers is shorter' \
        "$([ "$(wc -c <"$dir/body")" -lt "$(wc -c <"$dir/want")" ] && echo yes)" yes
    refused "/v1/vectors/$id" 406 '' -H 'Accept: text/html'
    refused "/v1/vectors/$id?answers=maybe" 400 answers
    refused "/v1/vectors/$id/" 404 ''
    refused "/v1/vectors/${id}x" 404 ''
    refused "/v1/vectors/${id%?}" 404 ''
    refused "/v1/vectors/%27%20OR%201=1" 404 ''
}

# ---- caching -----------------------------------------------------------------------------------

sha256_base64() {
    # shellcheck disable=SC2059
    printf "$(sha256sum | cut -d' ' -f1 | sed 's/../\\x&/g')" | base64
}

caching() {
    local path etag digest length
    for path in / /openapi.json /v1/schemes /v1/suites '/v1/vectors?limit=2' \
        "/v1/vectors/$(head -n 1 "$dir/all")" '/v1/eval?dim=8&positions=1'; do
        get "$path"
        etag=$(header etag) length=$(header content-length)
        check "$path: tag" "$etag" "\"$(sha256sum <"$dir/body" | cut -d' ' -f1)\""
        check "$path: digest" "$(header repr-digest)" \
            "sha-256=:$(sha256_base64 <"$dir/body"):"
        check "$path: caching" "$(header cache-control)" 'public, max-age=60'
        get "$path" -H "If-None-Match: $etag"
        check "$path: 304" "$status" 304
        check "$path: 304 has no body" "$body" ''
        check "$path: 304 has the tag" "$(header etag)" "$etag"
        get "$path" -H "If-None-Match: \"x\", W/$etag"
        check "$path: 304 by a list" "$status" 304
        get "$path" -H 'If-None-Match: "x"'
        check "$path: another tag" "$status" 200
        get "$path" -I
        check "$path: HEAD" "$status" 200
        check "$path: HEAD has no body" "$(tr -d '\r' <"$dir/body" | sed '1,/^$/d')" ''
        check "$path: HEAD has the tag" "$(header etag)" "$etag"
        check "$path: HEAD has the length" "$(header content-length)" "$length"
    done
    get /v1/suites
    digest=$(jq -r '.suites[-1].digest' <<<"$body")
    get "/v1/vectors?limit=2&digest=$digest"
    check 'digest: caching' "$(header cache-control)" 'public, max-age=31536000, immutable'
    has 'digest: kept by next' "$(jq -r .next <<<"$body")" "digest=$digest"
    get "/v1/vectors/$(head -n 1 "$dir/all")?digest=$digest"
    check 'digest: caching' "$(header cache-control)" 'public, max-age=31536000, immutable'
    refused "/v1/vectors?digest=${digest//[0-9]/0}" 404 digest
    refused '/v1/nothing' 404 '' -H 'If-None-Match: *'
}

compression() {
    local path=/v1/schemes etag
    get $path
    etag=$(header etag)
    cp "$dir/body" "$dir/want"
    get $path -H 'Accept-Encoding: gzip'
    check 'gzip: encoding' "$(header content-encoding)" gzip
    check 'gzip: tag' "$(header etag)" "${etag%?}-gzip\""
    check 'gzip: vary' "$(header vary)" 'Accept, Accept-Encoding'
    gunzip <"$dir/body" >"$dir/unpacked"
    same 'gzip: other content' want unpacked
    get $path -H 'Accept-Encoding: gzip' -H "If-None-Match: ${etag%?}-gzip\""
    check 'gzip: 304' "$status" 304
    get $path -H 'Accept-Encoding: gzip;q=0'
    check 'no gzip' "$(header content-encoding)" ''
    get /healthz -H 'Accept-Encoding: gzip'
    check 'a short answer' "$(header content-encoding)" ''
}

# The same answer, from wherever it comes: made, made and kept, kept.
again_and_again() {
    local path encoding i n before after tag
    local name='posref_http_requests_total{route="/v1/vectors/...",method="GET",code="200"}'
    path=/v1/vectors/$(sed -n 3p "$dir/all")
    get /metrics
    before=$(grep -F "$name" <<<"$body" | cut -d' ' -f2)
    n=0
    for encoding in identity gzip; do
        for ((i = 0; i < 5; i++)); do
            get "$path" -H "Accept-Encoding: $encoding"
            n=$((n + 1))
            grep -vi '^date:' <<<"$head" >"$dir/got"
            if [ $i = 0 ]; then
                cp "$dir/body" "$dir/want"
                cp "$dir/got" "$dir/head1"
                tag=$(header etag)
            fi
            same "$path, $encoding, $i: other bytes" want body
            same "$path, $encoding, $i: other headers" head1 got
        done
        get "$path" -H "Accept-Encoding: $encoding" -I
        n=$((n + 1))
        grep -vi '^date:' <<<"$head" >"$dir/got"
        same "HEAD $path, $encoding: other headers" head1 got
        get "$path" -H "Accept-Encoding: $encoding" -H "If-None-Match: $tag"
        check "$path, $encoding: 304" "$status" 304
        check "$path, $encoding: 304's tag" "$(header etag)" "$tag"
        check "$path, $encoding: 304's encoding" "$(header content-encoding)" ''
        get "$path" -H "Accept-Encoding: $encoding" -H 'If-None-Match: "x"'
        n=$((n + 1))
        check "$path, $encoding: another tag" "$status" 200
    done
    get /metrics
    after=$(grep -F "$name" <<<"$body" | cut -d' ' -f2)
    check 'each is counted' "$((after - before))" "$n"
    refused "$path" 405 '' -X POST
    refused "$path" 406 '' -H 'Accept: text/html'
    refused "$path?x=1" 400 x
}

metrics() {
    local name='posref_http_requests_total{route="/healthz",method="GET",code="200"}' before after
    get /metrics
    check '/metrics: type' "$(header content-type)" 'text/plain; version=0.0.4; charset=utf-8'
    before=$(grep -F "$name" <<<"$body" | cut -d' ' -f2)
    get /healthz
    get /healthz
    get /metrics
    after=$(grep -F "$name" <<<"$body" | cut -d' ' -f2)
    check '/metrics counts' "$((after - before))" 2
    has '/metrics: suite' "$body" 'posref_suite_info{suite="core"'
    has '/metrics: refusals' "$body" 'route="none",method="any",code="404"'
    # Each line is a comment or NAME{LABELS} NUMBER.
    check '/metrics: form' \
        "$(grep -vcE '^#|^[a-z_]+(\{[^}]*\})? [0-9.]+$' <<<"$body")" 0
    has 'access log' "$(grep -F '"target": "/healthz"' "$dir/log" | head -n 1)" '"status": 200'
    check 'access log: JSON' "$(grep '^{' "$dir/log" | jq empty 2>&1)" ''
}

# ---- the documentation -------------------------------------------------------------------------

# Runs every "$ command" of the console blocks of docs/http.md; what it prints must stand below it.
# REFRESH=FILE writes the document there with the output as it is now.
documented() {
    local line command='' want='' got n=0
    while IFS= read -r line; do
        case $line in
        '```console') command=start ;;
        '$ '* | '```')
            if [ -n "$command" ] && [ "$command" != start ]; then
                got=$(bash -c "${command//localhost:8080/127.0.0.1:$port}" 2>&1)
                check "docs/http.md: $command" "$got" "$want"
                if [ -n "${REFRESH:-}" ]; then echo "$got" >&3; fi
                n=$((n + 1))
            fi
            command='' want=''
            if [ "$line" != '```' ]; then command=${line#??}; fi
            ;;
        *)
            if [ -n "$command" ]; then
                want=${want:+$want$'\n'}$line
                continue
            fi
            ;;
        esac
        if [ -n "${REFRESH:-}" ]; then printf '%s\n' "$line" >&3; fi
    done <docs/http.md
    check 'docs/http.md has examples' "$([ $n -ge 5 ] && echo yes)" yes
}

core_db
listens
start --db "$db" --access-log
refuse_start 'port in use' 2 '--listen' --db "$db" --listen "127.0.0.1:$port"
simple_routes
problem_pages
wrong_addresses
accept_header
unknown_parameters
same_bytes
eval_post
bad_input
too_much
paging
one_vector
caching
compression
again_and_again
metrics
documented 3>"${REFRESH:-/dev/null}"
finish
