#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref identify: what a plugin computes, whatever it was asked for.
. "$(dirname "$0")/lib.sh"
example=$BUILD/plugins/example_rope.so faulty=$BUILD/mutants/faulty_rope.so
docs=$(dirname "$0")/../../docs

# honest WORDS...: the example does as it is told, and that is what comes out.
honest() {
    succeeds identify "$example" "$@" --format json
    says '.spec == .asked and .differing == [] and .confidence.decided'
    says '[.evidence.arithmetic[].grade] | length == 4 and all(. == "exact" or . == "float32")'
    says '[.evidence.arithmetic[].valid_to] | all(. == 131071)'
}
yarn='scaling=yarn factor=4 original_max_position_embeddings=4096'
llama3='scaling=llama3 factor=8 base=500000 original_max_position_embeddings=8192'
honest
honest dim=64 rotary_dim=24 pairing=interleaved direction=inverse base=1000000
honest dim=96 scaling=linear factor=8
honest dim=80 scaling=ntk factor=4
# shellcheck disable=SC2086
honest dim=96 $yarn truncate=false beta_fast=16
# shellcheck disable=SC2086
honest dim=128 $yarn mscale=1 mscale_all_dim=0.707
# shellcheck disable=SC2086
honest dim=64 $llama3
honest dim=2
for order in interleaved concat; do
    honest scheme=sinusoidal dim=32 order=$order exponent=d
    honest scheme=sinusoidal dim=32 order=$order exponent=half_minus_one
done
for form in distance row symmetric; do
    honest scheme=alibi num_heads=12 form=$form alibi_bias_max=6
done

# finds DIM EXPECTED WORDS...: told of a plain rope, the plugin computes WORDS; EXPECTED (jq) holds.
finds() {
    local dim=$1 expected=$2 word config=()
    shift 2
    for word in "$@"; do config+=(--config "$word"); done
    run identify "$faulty" scheme=rope "dim=$dim" "${config[@]}" --format json
    same "$status" 0 "exit status for $*"
    says ".confidence.decided and (.spec | $expected)"
}
for dim in 32 64 80 128; do
    finds $dim '.base == 500000 and .scaling == "none"' base=500000
    finds $dim '.pairing == "interleaved" and .rotary_dim == 16' pairing=interleaved rotary_dim=16
    finds $dim '.direction == "inverse"' direction=inverse
    finds $dim '.scaling == "linear" and .factor == 8 and .base == 1000000' \
        scaling=linear factor=8 base=1000000
    finds $dim '.scaling == "llama3" and .factor == 8 and .base == 500000 and
        .original_max_position_embeddings == 8192 and .high_freq_factor == 4' \
        scaling=llama3 factor=8 base=500000 original_max_position_embeddings=8192
    finds $dim '.scaling == "yarn" and .factor == 4 and .base == 10000 and .truncate' \
        scaling=yarn factor=4 original_max_position_embeddings=4096
    finds $dim '.scaling == "yarn" and .truncate == false and .factor == 32 and
        .original_max_position_embeddings == 4096 and .base == 150000' \
        scaling=yarn factor=32 base=150000 original_max_position_embeddings=4096 truncate=false
done
finds 64 '.mscale == 1 and .mscale_all_dim == 0.707' scaling=yarn factor=40 mscale=1 \
    mscale_all_dim=0.707
finds 64 '.attention_factor == 1.25' scaling=yarn factor=40 attention_factor=1.25
finds 64 '.scaling == "none" and .base > 40000 and .base < 50000' scaling=ntk factor=4
says '[.undecided[] | select(.family | test("ntk base=10000 factor=4"))] | length == 1'
finds 128 '.scaling == "llama3" and .high_freq_factor / .low_freq_factor == 2.5 and
    .original_max_position_embeddings / .low_freq_factor == 2048' scaling=llama3 base=500000 \
    factor=32 original_max_position_embeddings=4096 low_freq_factor=2 high_freq_factor=5
says '.undecided[0].keys == ["original_max_position_embeddings", "low_freq_factor",
    "high_freq_factor"]'

# A plugin that only has tables: the pairing is not guessed.
run identify "$BUILD/mutants/only_tables.so" dim=64 base=500000 --format json
same "$status" 0 'only tables'
says '.spec.base == 10000 and .differing == ["base"] and .evidence.op == "table"'
says '[.undecided[].keys[]] | index("pairing") != null'

# No spec has the effect: exit 1, and what was seen.
run identify "$BUILD/mutants/swaps_some.so" dim=4 --format json
same "$status" 1 'mixed channels'
says '(.confidence.decided | not) and .undecided[0].keys[0] == "pairing" and
    .evidence.findings[0] == "4 channels mix in groups that are no pairs"'
run identify "$BUILD/mutants/aborts.so" dim=4
same "$status $(grep -c 'verdict crash: SIGABRT' "$work/out")" '1 1' 'a crash'
run identify "$BUILD/mutants/sleeps.so" dim=4 --timeout 0.2 --start-timeout 0.2
same "$status $(grep -c 'verdict timeout' "$work/out")" '1 1' 'a hang'

# Float32 behind an f64 door is told apart from a fault.
run identify "$BUILD/mutants/computes_in_float.so" dim=4 --format json
same "$status" 0 'float32 in f64'
says '.evidence.findings == [] and .evidence.arithmetic.f64.grade != "exact"'

refuses 'PLUGIN' identify
refuses '/nope' identify /nope
refuses 'pairng' identify "$example" pairng=half
refuses 'dim: given twice' identify "$example" dim=4 dim=6
refuses 'dim: must be even' identify "$example" dim=3
refuses 'at most 1024' identify "$example" dim=2048
refuses 'factor' identify "$example" dim=8 scaling=linear
refuses '--format' identify "$example" --format xml
refuses '--frob' identify "$example" --frob 1
refuses '--config' identify "$example" --config nothing
refuses 'declined every question' identify "$BUILD/mutants/aborts.so" scheme=sinusoidal
succeeds identify --help

# What docs/porting.md shows is what its commands print.
root=$(cd "$docs/.." && pwd)
if (cd "$root" && tests/e2e/readme.pl docs/porting.md "build/=${BUILD#"$root"/}/") \
    >"$work/out"; then
    ok
else
    bad "docs/porting.md: $(cat "$work/out")"
fi

finish
