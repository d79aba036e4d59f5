#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Reads the compiled objects for what source rules cannot see: variables that outlive a call, and
# what reference/ asks of libc.
#
#   state.sh BUILD
#
# Constant data, relocated or not, is fine. Variables that are there for a reason are listed below.
set -euo pipefail

build=$1
# FILE VARIABLE. The empty body of 304 and HEAD: libmicrohttpd asks for a pointer without const.
# What the handler of SIGSEGV reads: a handler has no argument of its own.
allowed='server/send.c nothing
harness/guard.c watched'
status=0

for object in "$build"/{reference,vectors,harness,server}/*.o "$build"/posref.o; do
    [ -f "$object" ] || continue
    file=${object#"$build"/}
    file=${file%.o}.c
    # Symbols of .data, .bss and their thread-local kin; .data.rel.ro is constant.
    while read -r variable; do
        variable=${variable%%.[0-9]*}
        grep -qx "$file $variable" <<<"$allowed" && continue
        echo "$file: variable $variable outlives the call; hand it in, or list it in state.sh"
        status=1
    done < <(objdump -t "$object" |
        awk '$0 ~ /[.](data|bss|tdata|tbss)[ \t]/ && $NF !~ /^[.]/ || / \*COM\*/ { print $NF }')
done

# What reference/ may ask of libc and libm. No libm function whose result is not exact or correctly
# rounded may reach a golden value; judging and bent evaluation, which work with a tolerance, may
# use them, and so may what is listed with its reason.
pure='^(posref_.*|judge_.*|mem(cpy|move|set|cmp|chr)|str(len|cmp|ncmp|chr|rchr|cspn|spn)'
pure+='|v?snprintf|__.*'
pure+='|_GLOBAL_OFFSET_TABLE_|qsort|bsearch|fma|floor|ceil|trunc|rint|nearbyint|round|ldexp|scalbn'
pure+='|frexp|modf|sqrt|fabs|copysign|nextafter|fmod|l?lrint|fe[a-z]+|abs|labs)$'
# additive.c holds its own judging; longrope's logarithm is a guess that exact arithmetic checks.
reasoned='additive.o pow
scaling_longrope.o log'
inexact='^(hypot|fm(ax|in)|(exp|log)(2|10|1p|m1)?|pow|sin|cos|sincos|atan2?)$'
for object in "$build"/reference/*.o; do
    [ -f "$object" ] || continue
    while read -r symbol; do
        [[ "$symbol" =~ $pure ]] && continue
        [[ "$object" = */@(judge|bend)* && "$symbol" =~ $inexact ]] && continue
        grep -qx "${object##*/} $symbol" <<<"$reasoned" && continue
        echo "${object#"$build"/}: $symbol: reference/ may not ask this of libc"
        status=1
    done < <(nm -u "$object" | awk '{ print $NF }')
done
exit $status
