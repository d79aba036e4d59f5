#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref selftest: the zoo is caught, and what is not a bad plugin is not taken for one.
. "$(dirname "$0")/lib.sh"
db=$work/smoke.db
succeeds generate --suite smoke -o "$db"
export POSREF_DB=$db
# exit() of a sanitized worker looks for leaks by ptrace, which the worker's filter ends.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
run selftest --zoo "$BUILD/mutants"
same "$status" 0 "selftest: $(grep MISSED "$work/out")"
n=$(sed -n 's/^\([0-9]*\) of \1 bad plugins.*/\1/p' "$work/out")
same "$(grep -c '^ok ' "$work/out")" "$n" 'every plugin is listed'
# A zoo whose crash is a right plugin: selftest must say so.
mkdir "$work/zoo"
cp "$BUILD"/mutants/*.so "$work/zoo"
cp "$BUILD/plugins/example_rope.so" "$work/zoo/null_write.so"
run selftest --zoo "$work/zoo"
same "$status $(grep -c MISSED "$work/out")" '1 1' 'a plugin that is not caught'
refuses '/nowhere: the bad plugins are not there' selftest --zoo /nowhere
refuses '--frob: no such option' selftest --frob
succeeds selftest --help
finish
