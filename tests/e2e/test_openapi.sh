#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# The OpenAPI document drives a test of every operation that it describes.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 3
# shellcheck source=tests/e2e/server.sh
. tests/e2e/server.sh
core_db
start --db "$db"
python3 tests/e2e/openapi.py "$url"
