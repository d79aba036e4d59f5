#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# The snippets of docs/ci.md do what they say: the Makefile and CTest are run, GitHub's and GitLab's
# commands taken out of their YAML and run, with a right kernel, a wrong one and one that declines.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
core_db
export POSREF_DB=$db
mkdir "$work/bin" "$work/ci"
# The posref of the snippets judges a part of core, which is enough to see what they do; but a
# baseline is of a whole suite.
{
    printf '#!/bin/sh\ncase "$*" in *baseline*) ;;\n'
    printf 'test\\ *) set -- "$@" id=rope/half/none/ ;;\nesac\n'
    printf 'exec "%s" "$@"\n' "$(realpath "$POSREF")"
} >"$work/bin/posref"
chmod +x "$work/bin/posref"
PATH=$work/bin:$PATH
cd "$work/ci" || exit 3

# section TITLE: the lines below that heading.
section() { awk -v t="## $1" '/^## /{ on = $0 == t } on' "$root/docs/ci.md"; }

# Three kernels from docs/plugin.md: as it stands, with a sign turned, and one that declines.
fenced c <"$root/docs/plugin.md" >right.c
sed 's/\* c - x\[i + r/* c + x[i + r/; s/= x\[i\] \* s/= -x[i] * s/' right.c >wrong.c
sed 's/return POSREF_PLUGIN_OK;/return POSREF_PLUGIN_UNSUPPORTED;/' right.c >declines.c
for kernel in right wrong declines; do
    "${CC:-cc}" -O1 -fPIC -shared -I"$root/harness" -o "lib$kernel.so" "$kernel.c" -lm
    same $? 0 "$kernel.c of docs/plugin.md"
done

# becomes STATUS FILE COMMAND...: with the kernel as libmykernel.so; FILE is written.
becomes() {
    local want=$1 kernel=$2 file=$3
    shift 3
    rm -f "$file"
    cp "lib$kernel.so" libmykernel.so
    "$@" >"$work/out" 2>"$work/err"
    same $? "$want" "$kernel: $*: $(head -c 300 "$work/err" "$work/out")"
    if [ -s "$file" ]; then ok; else bad "$kernel: $* wrote no $file"; fi
}

# validates: posref.xml is as its schema says.
validates() {
    if xmllint --noout --relaxng "$root/schema/junit.rng" posref.xml 2>"$work/err"; then ok; else
        bad "posref.xml of the Makefile: $(head -c 300 "$work/err")"
    fi
}

fenced make <"$root/docs/ci.md" >Makefile
becomes 0 right posref.xml make conformance
becomes 2 wrong posref.xml make conformance # make's own status
validates
becomes 0 wrong posref.xml make KERNEL=./libright.so conformance
validates

# Commands and artifacts as a YAML reader sees them; both run commands by bash -e.
if python3 -c 'import yaml' 2>/dev/null; then
    section 'GitHub Actions' | fenced yaml >github.yml
    section GitLab | fenced yaml >gitlab.yml
    python3 - >"$work/found" <<'PYTHON'
import yaml
steps = yaml.safe_load(open("github.yml"))
print(steps[0]["run"])
assert steps[1]["uses"].startswith("actions/upload-artifact@") and steps[1]["if"] == "always()"
print(steps[1]["with"]["path"])
job = yaml.safe_load(open("gitlab.yml"))["posref"]
print(job["script"])
assert job["artifacts"]["when"] == "always"
print(job["artifacts"]["reports"]["junit"])
PYTHON
    same $? 0 'the YAML of docs/ci.md'
    mapfile -t found <"$work/found"
    export GITHUB_STEP_SUMMARY=$work/summary.md
    for kernel in right:0 wrong:1 declines:2; do
        : >"$GITHUB_STEP_SUMMARY"
        becomes "${kernel#*:}" "${kernel%:*}" "${found[1]}" bash -eo pipefail -c "${found[0]}"
        if [ -s "$GITHUB_STEP_SUMMARY" ]; then ok; else bad "no step summary of $kernel"; fi
        same "$(grep -c '^::error' "$work/out" | sed 's/[1-9][0-9]*/1/')" \
            "$([ "$kernel" = right:0 ] && echo 0 || echo 1)" "annotations of $kernel"
        becomes "${kernel#*:}" "${kernel%:*}" "${found[3]}" bash -eo pipefail -c "${found[2]}"
    done
else
    echo 'skipped: no yaml module of python3, so the YAML of docs/ci.md was not read'
fi

if command -v cmake >/dev/null && command -v ctest >/dev/null; then
    {
        printf 'cmake_minimum_required(VERSION 3.13)\nproject(mykernel C)\nenable_testing()\n'
        printf 'add_library(mykernel MODULE kernel.c)\ntarget_link_libraries(mykernel m)\n'
        printf 'target_include_directories(mykernel PRIVATE "%s/harness")\n' "$root"
        fenced cmake <"$root/docs/ci.md"
    } >CMakeLists.txt
    for kernel in 'right:0:Passed' 'wrong:8:Failed' 'declines:0:Skipped'; do
        IFS=: read -r name want word <<<"$kernel"
        cp "$name.c" kernel.c
        # A sanitizer of CFLAGS is for posref, not for a kernel that others build.
        if CFLAGS='' cmake -S . -B "cmake-$name" >"$work/out" 2>&1 &&
            cmake --build "cmake-$name" >>"$work/out" 2>&1; then ok; else
            bad "cmake: $(tail -c 400 "$work/out")"
        fi
        (cd "cmake-$name" && ctest) >"$work/out" 2>&1
        same "$? $(grep -c "Test *#1: posref .*$word" "$work/out")" "$want 1" "ctest of $name"
    done
else
    echo 'skipped: no cmake, so the CTest snippet of docs/ci.md was not run'
fi

# Known failures and shards: the indented commands as they stand, the shards' "..." spelt out.
cp libwrong.so libmykernel.so
posref test ./libmykernel.so --baseline known-failures.txt --update-baseline >"$work/out" 2>&1
same "$? $(grep -c fail known-failures.txt | sed 's/[1-9][0-9]*/some/')" '1 some' 'a baseline'
line=$(section 'Known failures' | sed -n 's/^    posref/posref/p')
bash -ec "$line" >"$work/out" 2>&1
same $? 0 "$line"
mapfile -t lines < <(section Shards | sed -n 's/^    posref/posref/p')
same ${#lines[@]} 2 'commands of Shards'
for k in 1 2 3 4; do
    bash -ec "${lines[0]//1/$k}" >"$work/out" 2>&1
    same $? 1 "shard $k of a wrong kernel"
done
rm -f posref.xml
bash -ec "${lines[1]}" >"$work/out" 2>&1
same $? 1 "${lines[1]}"
if [ -s posref.xml ]; then ok; else bad 'merge wrote no posref.xml'; fi
finish
