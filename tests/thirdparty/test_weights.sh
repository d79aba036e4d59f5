#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# weights against the real ggml; skipped (77) where its package cannot be had.
here=$(dirname "$0")
"$here/install.sh" || exit
exec "$BUILD/tests/thirdparty/weights_ggml" \
    "$here/../../node_modules/@node-llama-cpp/linux-x64/bins/linux-x64"
