#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What README.md shows is what its commands print, here and now.
set -euo pipefail

cd "$(dirname "$0")/../.."
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
export POSREF_DB=$work/core.db
"$POSREF" generate -o "$POSREF_DB"
: >"$work/serve.log"
"$POSREF" serve --listen 127.0.0.1:0 2>>"$work/serve.log" &
server=$!
for _ in $(seq 100); do
    address=$(sed -n 's|.*listening on http://||p' "$work/serve.log")
    [ -z "$address" ] || break
    sleep 0.1
done
tests/e2e/readme.pl README.md "build/=${BUILD#"$PWD"/}/" "127.0.0.1:8080=$address"
