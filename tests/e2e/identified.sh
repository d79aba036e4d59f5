# SPDX-License-Identifier: Apache-2.0
# Sourced: asks posref identify about the plugins of harness/plugins/ as identified.list has them,
# with the shell's ok, bad and $work. Needs db, a database of core.
# shellcheck shell=bash disable=SC2154

identified_list=$(dirname "${BASH_SOURCE[0]}")/identified.list
plugin_sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../harness/plugins" && pwd)

# plugin_of FILE: what posref takes; fails where this machine cannot run it.
plugin_of() {
    case $1 in
    *.c) echo "$BUILD/plugins/${1%.c}.so" ;;
    example_torch.py) python3 -c 'import torch' 2>/dev/null &&
        echo "exec:python3 $plugin_sources/$1" ;;
    *.py) command -v python3 >/dev/null && echo "exec:python3 $plugin_sources/$1" ;;
    *.mjs) command -v node >/dev/null && echo "exec:node $plugin_sources/$1" ;;
    *) return 1 ;;
    esac
}

# rows_of FILE: what it is told, a line a question.
rows_of() { sed -n "s/^$1  *//p" "$identified_list"; }

# identified FILE PLUGIN: for each of its rows the spec comes back, and posref test passes on it.
identified() {
    local file=$1 plugin=$2 told spec
    while read -r told; do
        # shellcheck disable=SC2086
        if "$POSREF" identify "$plugin" $told --format json >"$work/identity" 2>"$work/why" &&
            jq -e '.spec == .asked and .differing == [] and .confidence.decided' \
                "$work/identity" >/dev/null; then ok; else
            bad "identify $file $told: $(head -c 300 "$work/why" "$work/identity")"
            continue
        fi
        # shellcheck disable=SC2086
        spec=$("$POSREF" identify "$plugin" $told | sed -n 's/^computes *//p')
        # shellcheck disable=SC2086
        if "$POSREF" test "$plugin" $spec --db "$db" >"$work/judged" 2>&1; then ok; else
            bad "test $file $spec: $(tail -n 3 "$work/judged")"
        fi
    done < <(rows_of "$file")
}
