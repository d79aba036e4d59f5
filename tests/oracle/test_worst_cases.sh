#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The search for the worst positions against trying every position; core declares what it finds.
set -euo pipefail

"$BUILD/tests/oracle/worst_cases" --check
"$BUILD/tests/oracle/worst_cases" | grep positions | sed 's/,$//' | while read -r line; do
    grep -qF "$line" vectors/suites/core.json || { echo "core.json lacks $line"; exit 1; }
done
