#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The search for the worst positions against trying every position, and its stored results.
set -euo pipefail

"$BUILD/tests/oracle/worst_cases" --check
"$BUILD/tests/oracle/worst_cases" | diff tests/oracle/worst_positions.json -
