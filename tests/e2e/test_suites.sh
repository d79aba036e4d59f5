#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref generate, suites, list, show, verify, version on databases made here.
. "$(dirname "$0")/lib.sh"
core=$work/core.db

# First use without --db: core appears in the cache, and the next use opens it.
succeeds suites
same "$(wc -l <"$work/out")" 2 'suites'
cached=("$XDG_CACHE_HOME"/posref/*.db)
same "${#cached[@]}" 1 'databases in the cache'
before=$(stat -c %Y.%i "${cached[0]}")
succeeds list --suite smoke
same "$(stat -c %Y.%i "${cached[0]}")" "$before" 'the cache is used again'

# Help examples; generate makes smoke.db, which verify's example then reads.
for command in generate verify suites list show version; do help_example "$command"; done

# Digests: the published ones, in any number of threads.
succeeds generate -o "$core" -j 3
succeeds verify --db "$core"
same "$(grep -c ' ok$' "$work/out")" 2 'suites verified'
succeeds suites --format json --db "$core"
says '.suites | map(.name) == ["smoke", "core"]'
says '.suites[1].vectors >= 1500'
same "$(jq -r '.suites[] | "\(.name) \(.version) \(.digest)"' "$work/out")" \
    "$(grep -v '^full ' "$(dirname "$0")/../../vectors/suites/digests.txt")" 'published digests'

# A change is found: in the tensors, and in the JSON.
cp "$core" "$work/flipped.db"
sqlite3 "$work/flipped.db" "UPDATE tensor SET data = zeroblob(length(data))
    WHERE vector = 7 AND output = 1 AND place = 0"
run verify --db "$work/flipped.db"
same "$status" 1 'verify of changed bits'
cp "$core" "$work/flipped.db"
sqlite3 "$work/flipped.db" "UPDATE document
    SET json = CAST(replace(CAST(json AS TEXT), '1', '2') AS BLOB) WHERE vector = 7"
run verify --db "$work/flipped.db"
same "$status" 1 'verify of changed JSON'

# So is one in what lookups go through: list would pass a vector over.
for change in "UPDATE attribute SET value = 'inverse' WHERE key = 'direction' AND vector =
        (SELECT min(vector) FROM attribute WHERE key = 'direction' AND value = 'forward')" \
    "DELETE FROM attribute WHERE key = 'flag' AND vector = 900" \
    "INSERT INTO attribute VALUES ('flag', 'zero-position', 1000000)" \
    "UPDATE vector SET sha256 = replace(sha256, '1', '2') WHERE n = 900" \
    "INSERT INTO tensor SELECT 1000000, output, place, name, dtype, shape, data
        FROM tensor LIMIT 1" \
    "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage =
        (SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_tensor_1')
        WHERE name = 'sqlite_autoindex_vector_1'"; do
    cp "$core" "$work/flipped.db"
    sqlite3 "$work/flipped.db" "$change"
    run verify --db "$work/flipped.db"
    same "$((status == 1 || status == 2))" 1 "verify after $change"
done
cp "$core" "$work/flipped.db"
sqlite3 "$work/flipped.db" 'ALTER TABLE vector RENAME COLUMN op TO ip'
refuses 'flipped.db: no such column' verify --db "$work/flipped.db"
# A shape whose product overflows to the size of the data.
cp "$core" "$work/flipped.db"
sqlite3 "$work/flipped.db" "UPDATE tensor SET data = zeroblob(8),
    shape = '2352529,971779,10223,6709' WHERE vector = 7 AND output = 1"
refuses 'a tensor is damaged' verify --db "$work/flipped.db"

# list
succeeds list --db "$core"
sort -c "$work/out" && ok
same "$(sort -u "$work/out" | wc -l)" "$(wc -l <"$work/out")" 'ids are unique'
same "$(grep -vc '^[a-z0-9./-]*$' "$work/out")" 0 'ids of plain characters'
same "$(grep -c '^rope/half/yarn/d128-b1e6-f4-o32768/long$' "$work/out")" 1 'the promised id'
succeeds list scheme=rope scaling=yarn base=1e6 op=rotate flag=inverse pairing=half --db "$core"
same "$(grep -vc '^rope/\(half/yarn\|sections\)/.*/inverse$' "$work/out")" 0 \
    'what the filter lets through'
succeeds list scheme=alibi --suite smoke@2 --format json --db "$core"
says '.vectors | length > 5 and all(.spec.scheme == "alibi" and .suite == "smoke")'
refuses 'no vector matches' list dim=10000 --db "$core"
refuses 'pairng: unknown key; did you mean pairing?' list pairng=half --db "$core"
refuses 'pairing: ' list pairing=neox --db "$core"
refuses 'suite: ' list --suite full --db "$core"
refuses 'suite: ' list --suite smoke@9 --db "$core"
refuses 'KEY=VALUE' list dim --db "$core"
refuses '--form: ' list --form json --db "$core"
refuses '--format: ' list --format yaml --db "$core"

# show: JSON as stored, text, and tensors that eval reads back to the same numbers.
id=rope/interleaved/none/d4-b1e4/near
succeeds show "$id" --db "$core"
says ".id == \"$id\" and .suite == \"smoke\" and .op == \"rotate\""
says '.flags | index("pairing")'
says '.outputs.y.shape == [4, 4] and (.inputs | keys == ["positions", "x"])'
jq -r '.outputs.y.data | join(",")' "$work/out" >"$work/y"
spec=$(jq -r '.spec | to_entries | map("\(.key)=\(.value)") | join(" ")' "$work/out")
succeeds show "$id" --format text --db "$core"
same "$(sed -n 1p "$work/out")" "id      $id" 'show as text'
succeeds show "$id" --format safetensors --db "$core"
cp "$work/out" "$work/v.safetensors"
# shellcheck disable=SC2086
succeeds eval $spec "positions=@$work/v.safetensors" "x=@$work/v.safetensors" op=rotate
same "$(jq -r '.outputs.y.data | join(",")' "$work/out")" "$(cat "$work/y")" \
    'eval of a shown vector'
refuses 'no such vector' show rope/none --db "$core"
refuses 'ID' show --db "$core"
refuses '--format: ' show "$id" --format xml --db "$core"

# Files that are no database, or none at all, and $POSREF_DB.
echo 'no database' >"$work/text"
for command in suites list "show $id" verify; do
    # shellcheck disable=SC2086
    refuses "$work/text" $command --db "$work/text"
    # shellcheck disable=SC2086
    refuses "$work/none" $command --db "$work/none"
done
POSREF_DB=$work/none refuses "$work/none" suites
POSREF_DB=$core succeeds suites
refuses '--db' suites --db
refuses '--db' suites --db "$core" --db "$core"

# generate: bad targets write nothing.
refuses 'suite' generate --suite huge -o "$work/huge.db"
refuses "$work/no/such" generate -o "$work/no/such"
refuses "$work" generate -o "$work"
refuses '-j' generate -j 0
refuses '-j' generate -j 1.5
for option in '-o x.db' '--suite smoke' '-j 2'; do
    # shellcheck disable=SC2086
    refuses '--cases' generate --cases $option
done
refuses 'extra' generate extra
same "$(find "$work" -maxdepth 1 \( -name 'huge*' -o -name '.*.*' \) | wc -l)" 0 'nothing written'

finish
