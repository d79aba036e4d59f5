#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How long posref test takes for all of full in f32 on one processor, and what it holds; on ggml
# where its package can be had, else on the example.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
plugin=$BUILD/plugins/example_rope.so
if "$here/../thirdparty/install.sh" >/dev/null; then
    # shellcheck source=tests/thirdparty/libraries.sh
    . "$here/../thirdparty/libraries.sh"
    plugin=$BUILD/plugins/ggml.so
fi
"$POSREF" generate --suite full -o "$work/full.db"
read -r seconds mebibytes _ < <(taskset -c 0 "$BUILD/tests/bench/measure" "$POSREF" test "$plugin" \
    --suite full --dtype f32 --db "$work/full.db")
echo "full in f32 on $(basename "$plugin"), one processor: $seconds s (limit 60), $mebibytes MiB" \
    "(limit 200); load $(cut -d' ' -f1 /proc/loadavg)"
