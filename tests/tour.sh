#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `make run` shows: the core suite is generated, a right plugin passes, a wrong one fails and
# is told why, and the last lines say how to serve. Fails when either verdict is not the expected.
#
#   tour.sh BUILD
set -euo pipefail

build=$1
posref=$build/posref
plugin=$build/plugins/example_rope.so
db=$build/core.db

# Prints a command as a user would type it, runs it, and checks its exit status.
show() {
    local expected=$1 status=0
    shift
    printf '\n$ %s\n' "$*"
    "$@" || status=$?
    if [ "$status" -ne "$expected" ]; then
        echo "make run: exit status $status, expected $expected: $*" >&2
        exit 1
    fi
}

show 0 "$posref" generate -o "$db"
show 0 "$posref" verify --db "$db"
show 0 "$posref" test "$plugin" --db "$db"
show 1 "$posref" test "$plugin" --config pairing=swapped --db "$db"
echo '(That failure is the point: the plugin paired the wrong channels, and the report says so.)'

cat <<END

Serve it:           $posref serve --db $db
Ask it:             curl 'http://127.0.0.1:8080/v1/eval?scheme=rope&dim=8&pairing=half&positions=3'
Test your kernel:   $posref test ./libmykernel.so        (docs/plugin.md: how to write one)
Verify all of it:   make test
END
