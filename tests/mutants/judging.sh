# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tables of faulty plugins are made with, to be sourced: where they work, and how a plugin
# is judged on core.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${POSREF:?the program}" "${BUILD:?its build directory}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export POSREF_DB=${CORE_DB:?a database of core}

# judge OUT SCHEME DTYPES OPTION...: the report of a faulty plugin as JSON. SCHEME is PLUGIN:SCHEME
# where the two differ.
judge() {
    local out=$1 plugin=${2%:*} scheme=${2#*:} dtypes=$3
    shift 3
    "$POSREF" test "$BUILD/mutants/faulty_$plugin.so" scheme="$scheme" --dtype "$dtypes" \
        --fresh none --properties no "$@" --report "json:$out" >/dev/null 2>&1
}
export -f judge
export here work BUILD POSREF
