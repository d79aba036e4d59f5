#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref identify: wall time, and the processor time of posref's own process (the plugin runs in
# another), on every plugin and question of tests/e2e/identified.list, on the mutants, and at the
# largest width. The limit is a second of its own.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../e2e/identified.sh"
# shellcheck source=tests/thirdparty/libraries.sh
. "$here/../thirdparty/libraries.sh"
"$here/../thirdparty/install.sh" >/dev/null || true

# took PLUGIN WORD...: "WALL OWN NAME WORDS", or nothing where it declines or is not here.
took() {
    local out status
    out=$("$BUILD/tests/bench/measure" "$POSREF" identify "$@" 2>/dev/null)
    status=$?
    [ $status -le 1 ] && echo "${out%% *} ${out##* } $(basename "$1") ${*:2}"
}
{
    while read -r file told; do
        case $file in '' | \#*) continue ;; esac
        # shellcheck disable=SC2086
        plugin=$(plugin_of "$file") && took "$plugin" $told
    done <"$identified_list"
    for plugin in "$BUILD"/mutants/*.so; do
        case $plugin in
        */loops.so | */sleeps.so | */leaks.so) continue ;; # as long as their timeout, by intent
        esac
        took "$plugin" dim=128
        took "$plugin" scheme=alibi num_heads=12
        took "$plugin" scheme=t5_bias
        took "$plugin" dim=128 axes_dims=32,48,48
    done
    for told in '' 'rotary_dim=512 pairing=interleaved direction=inverse' \
        'scaling=yarn factor=4 original_max_position_embeddings=4096'; do
        # shellcheck disable=SC2086
        took "$BUILD/plugins/example_rope.so" dim=1024 $told
        # shellcheck disable=SC2086
        took "$BUILD/mutants/faulty_rope.so" dim=1024 $told --config fault=sine_sign
    done
    took "$BUILD/mutants/faulty_axes.so" dim=1024 axes_dims=256,384,384
    took "$BUILD/plugins/ggml.so" dim=1024 mrope_section=192,160,160
} | sort -k2,2nr -k1,1nr | awk '
    { n++; wall = $1 > wall ? $1 : wall; own = $2 > own ? $2 : own; if (n <= 5) line[n] = $0 }
    END {
        printf "posref identify: %d runs, %.2f s of its own at most (limit 1), " \
               "%.2f s with the plugin\n", n, own, wall
        print "  wall   own   plugin and what it is told"
        for (k = 1; k <= 5 && k <= n; k++) {
            split(line[k], f, " ")
            sub(/^[^ ]* [^ ]* /, "", line[k])
            printf "%6.2f %5.2f   %s\n", f[1], f[2], line[k]
        }
    }'
