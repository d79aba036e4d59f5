#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The build as users meet it: changed flags rebuild, unchanged ones do not, a changed header
# rebuilds what includes it, install and uninstall undo each other, and the header stands alone.
set -euo pipefail

cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What the calling make handed down must not reach these calls, but for the variables that say how
# $BUILD was built: without them install would build it anew.
overrides=
case ${MAKEFLAGS:-} in *'-- '*) overrides="-- ${MAKEFLAGS#*-- }" ;; esac
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS
object=$work/build/reference/alibi.o
passed=0 failed=0

check() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        echo "$1: got '$2', want '$3'"
        failed=$((failed + 1))
    fi
}

# How many objects this call of make compiled.
compiled() { make BUILD="$work/build" "$@" | grep -c '^  CC' || true; }

check 'first build' "$(compiled "$object")" 1
check 'nothing changed' "$(compiled "$object")" 0
check 'CFLAGS changed' "$(compiled CFLAGS=-DCHANGED=1 "$object")" 1
check 'CFLAGS kept' "$(compiled CFLAGS=-DCHANGED=1 "$object")" 0
check 'CFLAGS gone' "$(compiled "$object")" 1
spelt_otherwise=$work/./build
check 'the same directory by another name' \
    "$(make -W reference/reference.h BUILD="$spelt_otherwise" \
        "$spelt_otherwise/reference/alibi.o" | grep -c '^  CC')" 1

MAKEFLAGS=$overrides make -s BUILD="${BUILD#"$PWD"/}" PREFIX=/usr \
    DESTDIR="$work/root" install >"$work/log"
check 'installed program' "$("$work/root/usr/bin/posref" version | cut -d' ' -f1)" posref
check 'installed header' "$(printf '#include <posref_plugin.h>\nint main(void){return 0;}\n' |
    ${CC:-gcc} -std=c99 -Wall -Wpedantic -Werror -I"$work/root/usr/include" -x c -fsyntax-only - &&
    echo compiles)" compiles
make -s PREFIX=/usr DESTDIR="$work/root" uninstall >>"$work/log"
check 'uninstalled' "$(find "$work/root" ! -type d | wc -l)" 0

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
