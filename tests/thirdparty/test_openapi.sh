#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# schema/openapi.json against the OpenAPI 3.1 schema, by a validator from npm.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 3
tests/thirdparty/install.sh || exit $?
out=$(node_modules/.bin/validate-api schema/openapi.json 2>&1)
# The validator says so either way; its exit status does not.
if [ "$(jq -r .valid <<<"$out" 2>/dev/null)" = true ]; then
    echo '1 passed, 0 failed'
    exit 0
fi
echo "FAIL: schema/openapi.json: ${out:0:2000}"
echo '0 passed, 1 failed'
exit 1
