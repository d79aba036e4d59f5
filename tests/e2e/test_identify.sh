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
# shellcheck disable=SC2086
honest dim=128 $llama3
says '.evidence.models == ["llama-3.1-8b"]'
honest dim=128
says '.evidence.models | index("llama-2-7b") != null and index("llama-3.1-8b") == null'
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

finds 128 '.base == 100 and .rotary_dim == 64' rotary_dim=64 fault=exponent_over_dim
says '[.undecided[].family] | any(test("over dim .128. for rotary_dim .64. .* base=10000"))'

# Rope over several axes, one at a time: as told, and otherwise.
axes=$BUILD/mutants/faulty_axes.so
while read -r words; do
    # shellcheck disable=SC2086
    succeeds identify "$axes" $words --format json
    says '.spec == .asked and .differing == [] and .confidence.decided'
    says '[.evidence.arithmetic[].valid_to] | length == 4 and all(. == 131071)'
done <<'END'
dim=64 axes_dims=16,24,24
dim=64 axes_dims=16,24,24 pairing=half
dim=64 axes_dims=16,24,24 pairing=half axes_span=head base=256 direction=inverse
dim=96 axes_dims=32,32,32 axes_order=frequency axes_ladder=shared
dim=64 axes_dims=32,32 axes_ladder=split pairing=half axes_span=head
dim=64 axes_dims=32,32 pairing=half axes_span=head base=100 angle_unit=turn
dim=128 axes_dims=44,42,42 axes_ntk=2,1,1 pairing=half axes_span=head
dim=32 rotary_dim=20 partial=trailing axes_dims=8,12
dim=128 mrope_section=16,24,24 base=1000000
dim=128 rotary_dim=64 mrope_section=8,12,12 pairing=interleaved
dim=128 mrope_section=24,20,20 mrope_interleaved=true base=5000000
dim=128 mrope_section=22,22,20 mrope_order=hw_t pairing=interleaved base=500000
dim=128 mrope_section=24,20,20 mrope_order=greedy
END

# computes EXPECTED TOLD -- CONFIG...: told one thing, the plugin does another.
computes() {
    local expected=$1 told=$2 word config=()
    shift 2
    for word in "$@"; do config+=(--config "$word"); done
    # shellcheck disable=SC2086
    succeeds identify "$plugin" $told "${config[@]}" --format json
    says ".confidence.decided and (.spec | $expected)"
}
plugin=$axes
computes '.mrope_section == [24, 20, 20] and .mrope_order == "chunked" and .base == 500000' \
    'dim=128 mrope_section=16,24,24' mrope_section=24,20,20 base=500000
says '[.undecided[].family] | any(test("axes_dims=48,40,40 axes_ladder=shared axes_span=head"))'
computes '.mrope_order == "interleaved" and .mrope_section == [16, 24, 24]' \
    'dim=128 mrope_section=16,24,24' mrope_order=interleaved
computes '.axes_dims == [24, 16, 24] and .pairing == "half" and .axes_span == "head"' \
    'dim=64 axes_dims=16,24,24' axes_dims=24,16,24 pairing=half axes_span=head
computes '.axes_ladder == "shared" and .base == 500 and .axes_dims == [16, 24, 24]' \
    'dim=64 axes_dims=16,24,24' axes_ladder=shared base=500
run identify "$axes" dim=64 axes_dims=16,24,24 --config fault=axes_exchanged --format json
same "$status" 1 'axes exchanged'
says '.evidence.findings == ["axes of the pairs, by channel: 8 x axis 0, 12 x axis 2, 12 x axis 1"]'

# Trailing channels, outputs that are not put back, and longrope's list in use.
plugin=$faulty
computes '.partial == "trailing" and .rotary_dim == 32' 'dim=64 rotary_dim=32' partial=trailing
computes '.pairing == "interleaved_to_half"' 'dim=64 pairing=interleaved' fault=evens_first
longrope='scheme=rope dim=8 scaling=longrope factor=32 original_max_position_embeddings=4096
    short_factor=1,1.1,1.2,1.3 long_factor=1,4,8,16'
computes '.short_factor == [1, 1.1, 1.2, 1.3] and .seq_len == 4096' "$longrope"
computes '.short_factor == [1.5, 1.1, 1.25, 2]' "$longrope" short_factor=1.5,1.1,1.25,2
computes '.long_factor == [1, 1.1, 1.2, 1.3]' "$longrope seq_len=8192" fault=longrope_short_always
says '.differing == ["long_factor"]'

# T5: how many buckets, for one side or both, and how far they reach.
plugin=$BUILD/mutants/faulty_bias.so
computes '.num_buckets == 32 and .max_distance == 128 and .bidirectional' scheme=t5_bias
says '.spec == .asked and .undecided == []'
computes '.num_buckets == 64 and .max_distance == 256 and (.bidirectional | not)' \
    'scheme=t5_bias num_buckets=64 max_distance=256 bidirectional=false'
computes '.max_distance == 100' scheme=t5_bias max_distance=100
computes '.bidirectional == false and .num_buckets == 32' scheme=t5_bias fault=bidirectional
computes '.num_buckets == 16' scheme=t5_bias num_buckets=16
says '.undecided[0].family == "any from 126 to 128 has these buckets"'
run identify "$plugin" scheme=t5_bias --config fault=relative_sign --format json
same "$status" 1 'the sign of distances'
says '.evidence.findings[0] | test("the sign of the distance is the other one")'

# Every other plugin of the repository that computes: programs, and the example without pairing.
computes_as_told() {
    succeeds identify "$@" --format json
    says '.spec == .asked and .differing == [] and .confidence.decided'
}
plugins=$(dirname "$0")/../../harness/plugins
computes_as_told "exec:python3 $plugins/example.py" dim=16
command -v node >/dev/null && computes_as_told "exec:node $plugins/example.mjs" dim=16
computes_as_told "$BUILD/mutants/faulty_sinusoidal.so" scheme=sinusoidal dim=32
computes_as_told "$BUILD/mutants/faulty_alibi.so" scheme=alibi num_heads=12
run identify "$example" dim=64 pairing=interleaved --config pairing=swapped --format json
says '.spec.pairing == "half" and .differing == ["pairing"]'

# Under a second, with the plugin's own time.
before=$(date +%s%N)
succeeds identify "$axes" dim=128 mrope_section=24,20,20 mrope_interleaved=true base=5000000
took=$((($(date +%s%N) - before) / 1000000))
# A loaded machine may need ten times as long.
if [ "$took" -lt 10000 ]; then ok; else bad "identify took $took ms"; fi

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
refuses 'is not identified yet' identify "$example" scheme=learned dim=8
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
