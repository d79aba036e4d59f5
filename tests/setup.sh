#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that a target needs and this machine lacks; instant when none is.
#
#   setup.sh [--print] PROFILE...      profiles: run, test, bench, lint, thirdparty
#
# What is missing is found by asking for the header or the command, not for the package, so a
# library that came from elsewhere counts. Installs as root or through sudo; where neither is
# possible it prints the one apt-get line and fails. --print only prints the missing packages.
set -uo pipefail

print_only=false
if [ "${1:-}" = --print ]; then
    print_only=true
    shift
fi

# PROFILE PACKAGE KIND NAME: the package is there when the command (one of those between |), header,
# file or module (of python3) NAME is.
needs='
run         gcc                 compiler    gcc
run         libc6-dev           header      stdio.h
run         make                command     make
run         libmicrohttpd-dev   header      microhttpd.h
run         libjansson-dev      header      jansson.h
run         libsqlite3-dev      header      sqlite3.h
run         zlib1g-dev          header      zlib.h
run         curl                command     curl
run         libjs-chart.js      file        /usr/share/javascript/chart.js
test        check               header      check.h
test        libsubunit-dev      header      subunit/child.h
test        libmpfr-dev         header      mpfr.h
test        libflint-dev        header      flint/flint.h
test        libflint-arb-dev    header      arb.h
test        jq                  command     jq
test        gojq                command     gojq
test        sqlite3             command     sqlite3
test        valgrind            command     valgrind
test        procps              command     ps
test        musl-tools          command     musl-gcc
test        g++                 command     g++
test        python3             command     python3
test        python3-jsonschema  module      jsonschema
test        chromium-headless-shell command chromium-headless-shell|chromium
test        python3-yaml        module      yaml
test        nginx-light         command     nginx
test        libxml2-utils       command     xmllint
test        perl                command     prove
bench       nginx-light         command     nginx
bench       wrk                 command     wrk
bench       jq                  command     jq
bench       sqlite3             command     sqlite3
lint        clang               command     clang
lint        binutils            command     objdump
lint        sqlite3             command     sqlite3
lint        cppcheck            command     cppcheck
lint        shellcheck          command     shellcheck
lint        jq                  command     jq
thirdparty  nodejs              command     node
thirdparty  npm                 command     npm
'

# A user's own compiler (CC=clang, say) stands in for gcc.
compiler=${CC:-gcc}
compiler=${compiler%% *}
command -v "$compiler" >/dev/null || compiler=gcc

# Prints the packages of the profiles in "$@" that are missing. Headers are asked for in one run of
# the preprocessor; without a compiler every header counts as missing.
missing_packages() {
    local wanted=" $* " profile package kind name probe='' have_compiler=false
    command -v "$compiler" >/dev/null && have_compiler=true
    while read -r profile package kind name; do
        [[ -n "$profile" && "$wanted" == *" $profile "* ]] || continue
        case $kind in
        compiler) $have_compiler || echo "$package" ;;
        file) [ -e "$name" ] || echo "$package" ;;
        module) python3 -c "import $name" 2>/dev/null || echo "$package" ;;
        command)
            # shellcheck disable=SC2086
            command -v ${name//|/ } >/dev/null || echo "$package"
            ;;
        header)
            if $have_compiler; then
                probe+=$(printf '\n#if !__has_include(<%s>)\nMISSING %s\n#endif' "$name" "$package")
            else
                echo "$package"
            fi
            ;;
        esac
    done <<<"$needs"
    if [ -n "$probe" ]; then
        "$compiler" -E -P -x c - <<<"$probe" | sed -n 's/^MISSING //p' | tr -d ' '
    fi
}

mapfile -t missing < <(missing_packages "$@")
if [ "${#missing[@]}" -eq 0 ]; then exit 0; fi
if $print_only; then
    printf '%s\n' "${missing[@]}"
    exit 0
fi

line="apt-get install -y --no-install-recommends ${missing[*]}"
if ! command -v apt-get >/dev/null; then
    echo "setup: missing, and there is no apt-get here: ${missing[*]} (Debian's names)" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo)
    [ -t 0 ] || as_root=(sudo -n)
    if ! command -v sudo >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
        echo "setup: packages are missing; as root, run: $line" >&2
        exit 1
    fi
fi

apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
echo "setup: $line" >&2
# Without package lists, or with stale ones, the first attempt fails and says so in the log.
for attempt in 1 2 3; do
    if [ "$attempt" -gt 1 ] || ! compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null; then
        apt update >>"$log" 2>&1 || sleep "$attempt"
    fi
    if apt install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
        hash -r
        command -v "$compiler" >/dev/null || compiler=gcc
        mapfile -t missing < <(missing_packages "$@")
        if [ "${#missing[@]}" -eq 0 ]; then exit 0; fi
        break
    fi
    sleep "$attempt"
done
tail -n 20 "$log" >&2
echo "setup: could not install; as root, run: apt-get update && $line" >&2
exit 1
