#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every value of smoke is certified; a database without vectors, and no database, are refused.
set -euo pipefail

"$BUILD/certify" "$BUILD/suites/smoke.db" smoke
for bad in /dev/null /no/such/file "$0"; do
    status=0
    "$BUILD/certify" "$bad" >/dev/null 2>&1 || status=$?
    if [ "$status" -ne 3 ]; then
        echo "$bad: exit status $status, not 3"
        exit 1
    fi
done
