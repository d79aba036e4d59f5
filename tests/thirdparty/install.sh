#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the npm packages that the third-party tests run against, exactly as package-lock.json
# pins them, without running their scripts. Instant when they are there already.
#
# Exit status 77, with one line that says why, where they cannot be had: no node, no registry, or
# no package for this machine. Anything else that goes wrong is a failure, not a skip.
set -euo pipefail

cd "$(dirname "$0")/../.."
# npm copies the lock there when it has installed; newer than ours means nothing to do.
installed=node_modules/.package-lock.json
if [ -f "$installed" ] && [ ! package-lock.json -nt "$installed" ]; then exit 0; fi

for command in node npm; do
    if ! command -v "$command" >/dev/null; then
        echo "third-party tests skipped: no $command here; tests/setup.sh thirdparty installs it"
        exit 77
    fi
done
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --fetch-retries=2 \
    --cache "${XDG_CACHE_HOME:-$HOME/.cache}/posref/npm" >"$log" 2>&1; then
    touch "$installed"
    exit 0
fi
unreachable='ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH'
unreachable+='|ERR_SOCKET_TIMEOUT|FETCH_ERROR|E403|E50[0-9]'
if grep -qE "code ($unreachable)" "$log"; then
    echo "third-party tests skipped: the npm registry cannot be reached from here"
    exit 77
fi
if grep -q 'code EBADPLATFORM' "$log"; then
    echo "third-party tests skipped: no package for this machine ($(uname -sm))"
    exit 77
fi
tail -n 20 "$log"
exit 1
