#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref identify on every plugin of harness/plugins/: the spec that it implements comes back, and
# posref test passes on it. Those that need a library of others are for tests/thirdparty.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/identified.sh"
core_db

for path in "$plugin_sources"/*; do
    file=$(basename "$path")
    case $file in
    posref.py | __pycache__) continue ;; # a library
    esac
    if [ -n "$(rows_of "$file")" ]; then ok; else
        bad "harness/plugins/$file has no row in tests/e2e/identified.list"
        continue
    fi
    case $file in
    ggml.c | onnxruntime.c)
        if grep -q "^identified $file" "$(dirname "$0")/../thirdparty/${file%.c}.sh"; then ok; else
            bad "tests/thirdparty/${file%.c}.sh does not ask about its rows"
        fi
        continue
        ;;
    esac
    if plugin=$(plugin_of "$file"); then identified "$file" "$plugin"; else
        echo "not here: what runs $file"
    fi
done
while read -r file _; do
    case $file in '' | \#*) continue ;; esac
    [ -e "$plugin_sources/$file" ] || bad "tests/e2e/identified.list: no plugin $file"
done <"$identified_list"

# A plugin that is wrong does not get through: the check itself can fail.
wrong=$(
    identified_list=$work/list
    echo 'example_rope.c scheme=rope dim=4' >"$work/list"
    n_failed=0
    identified example_rope.c "$BUILD/mutants/swaps_pairs.so" >/dev/null
    echo "$n_failed"
)
same "$wrong" 1 'swaps_pairs.so in the place of example_rope.c'

# A norm that is not the layout's is said, though the rotation in it is right.
run identify "$BUILD/plugins/example_norm.so" dim=64 --config fault=other_order --format json
same "$status" 1 'a norm on the other side of the rotation'
says '.evidence.layout == "norm" and (.evidence.findings[0] | test("norm around it is not"))'

# Handed cosines and sines, a plugin follows these: base and scaling are not its own.
succeeds identify "$BUILD/plugins/example_layouts.so" dim=64 --format json
says '.undecided[0].keys == ["base", "scaling"] and
    (.undecided[0].family | test("layout tables.*not computed by it"))'

finish
