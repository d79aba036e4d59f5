# SPDX-License-Identifier: Apache-2.0
# Sourced: where install.sh puts the libraries that plugins of harness/plugins look for.
# shellcheck shell=bash
modules=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/node_modules
export POSREF_GGML_DIR=$modules/@node-llama-cpp/linux-x64/bins/linux-x64
export POSREF_ONNXRUNTIME=$modules/sherpa-onnx-linux-x64/libonnxruntime.so
