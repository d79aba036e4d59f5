#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# The plugin in docs/plugin.md compiles without a warning and passes; with a
# sign turned it fails and is named.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
core_db
cp "$root/harness/posref_plugin.h" "$work"
fenced c <"$root/docs/plugin.md" >"$work/mykernel.c"
commands=$(fenced sh <"$root/docs/plugin.md")
same "$(grep -c . <<<"$commands")" 2 'commands in plugin.md'

# The two commands as they stand; posref is the one under test.
build=$(sed -n 1p <<<"$commands") judge=$(sed -n 2p <<<"$commands")
(cd "$work" && eval "${build/#cc/${CC:-cc} -Wall -Wextra -Werror}") >"$work/log" 2>&1
same $? 0 "$build: $(cat "$work/log")"
(cd "$work" && eval "\"\$POSREF\" ${judge#posref } --suite smoke --db $db --report json") \
    >"$work/out" 2>"$work/err"
same $? 0 "$judge: $(cat "$work/err")"
says '.verdict == "pass" and .grade == "float32" and .counts.pass > 5 and .counts.unsupported > 0'

# All of core: what it does not know it declines, parameters that are newer than it included.
succeeds test "$work/libmykernel.so" scheme=rope op=rotate --db "$db" --report json
says '.verdict == "pass" and .grade == "float32" and .counts.pass > 200 and
    .counts.unsupported > 1000'
run test "$work/libmykernel.so" op=rotate xpos_scale_base=512 --db "$db"
same "$status" 2 'xPos is declined'

sed -i 's/\* c - x\[i + r/* c + x[i + r/; s/= x\[i\] \* s/= -x[i] * s/' "$work/mykernel.c"
(cd "$work" && eval "${build/#cc/${CC:-cc}}") && ok
run test "$work/libmykernel.so" --suite smoke --db "$db" --report json
same "$status" 1 'signs turned'
says '.explanations | length > 0 and all(.[]; .fault == "direction")'

# The other languages: the command in the first comment builds each; libraries that can run here are
# judged, on what they accept.
page() { # FENCE FILE COMPILER EXTRA LIBRARY
    fenced "$1" <"$root/docs/plugin.md" >"$work/$2"
    if ! command -v "$3" >/dev/null; then
        echo "skipped: no $3, so $2 of docs/plugin.md was not compiled"
        return
    fi
    build=$(sed -n "1s/^.*$2: //p" "$work/$2")
    (cd "$work" && eval "${build/#$3/$3 $4}") >"$work/log" 2>&1
    same $? 0 "$build: $(head -c 600 "$work/log")"
    [ "$5" ] || return
    run test "$work/$5" --suite smoke --db "$db" --report json
    same "$status" 0 "$5: $(cat "$work/err")"
    says '.verdict == "pass" and .counts.pass > 5 and .counts.unsupported > 0'
}
page cpp mykernel.cpp g++ '-Wall -Wextra -Werror -std=c++17' libmykernel_cpp.so
page rust mykernel.rs rustc '-D warnings' libmykernel_rs.so
page cuda mykernel.cu nvcc '' ''
finish
