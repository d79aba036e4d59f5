#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the digest program with every compiler, optimisation level, libc and architecture at hand,
# runs each on one case list, as many at a time as there are processors, and requires the same
# digests from all of them.
#
#   digest_matrix.sh OUT CASES EXPECTED SOURCE...
#
# What is not installed is skipped aloud. ONLY="NAME..." restricts the combinations.
# Exit 1: digests differ, or no combination could run.
set -uo pipefail

out=$1 cases=$2 expected=$3
shift 3
mkdir -p "$out"
flags=(-std=c17 -ffp-contract=off -D_GNU_SOURCE -I.)
ran=0 differ=0 failed=0 skipped=0

# Prints NAME COMMAND... of one combination a line.
combinations() {
    local compiler
    for compiler in gcc clang; do
        echo "$compiler-O0 $compiler -O0"
        echo "$compiler-O2 $compiler -O2"
        echo "$compiler-O3-native $compiler -O3 -march=native"
    done
    echo "gcc-O2-unsigned-char gcc -O2 -funsigned-char"
    echo "musl-O2-static musl-gcc -O2 -static"
    echo "musl-O3-native-static musl-gcc -O3 -march=native -static"
    echo "aarch64-O2-static aarch64-linux-gnu-gcc -O2 -static"
    echo "aarch64-O3-static aarch64-linux-gnu-gcc -O3 -static"
}

skip() {
    skipped=$((skipped + 1))
    printf 'skip    %-22s %s\n' "$1" "$2"
}

# try NAME COMMAND... with ${runner[@]} in front of the program; 1: other digests, 2: it failed
try() {
    local name=$1 program=$out/$1 began=$SECONDS
    shift
    if ! "$@" "${flags[@]}" -o "$program" "${sources[@]}" -lm 2>"$program.log"; then
        echo "not ok  $name: does not build: $(grep -m 1 error "$program.log")"
        return 2
    fi
    if ! "${runner[@]}" "$program" "$cases" >"$program.digests"; then
        echo "not ok  $name: does not run"
        return 2
    fi
    if cmp -s "$program.digests" "$expected"; then
        printf 'ok      %-22s %s(%d s)\n' "$name" \
            "$(awk '{ printf "%s %s... ", $1, substr($3, 1, 16) }' "$program.digests")" \
            $((SECONDS - began))
    else
        echo "not ok  $name: other digests than $expected"
        diff "$expected" "$program.digests" | sed 's/^/        /'
        return 1
    fi
}

sources=("$@") names=() pids=() jobs=$(nproc 2>/dev/null || echo 1)
while read -r name compiler options; do
    if [ -n "${ONLY:-}" ] && [[ " $ONLY " != *" $name "* ]]; then
        continue
    fi
    runner=(env)
    case $name in
    aarch64*)
        runner=("$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)")
        if [ -z "${runner[0]}" ]; then
            skip "$name" "needs qemu-aarch64 (apt install qemu-user)"
            continue
        fi
        ;;
    esac
    if ! command -v "$compiler" >/dev/null; then
        skip "$name" "needs $compiler"
    else
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
            wait -n
        done
        # The options are words on purpose.
        # shellcheck disable=SC2086
        try "$name" "$compiler" $options >"$out/$name.said" &
        names+=("$name") pids+=("$!")
    fi
done < <(combinations)
for k in "${!names[@]}"; do
    wait "${pids[k]}"
    case $? in
    0) ran=$((ran + 1)) ;;
    1) ran=$((ran + 1)) differ=$((differ + 1)) failed=$((failed + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
    cat "$out/${names[k]}.said"
done
echo "digest-matrix: $((ran - differ)) of $ran combinations agree, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$ran" -gt 0 ]
