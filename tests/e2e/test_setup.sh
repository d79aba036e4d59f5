#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh names exactly what is missing, installs it by one apt-get call, and where it may not it
# prints that line and fails. apt-get, sudo, id and gcc are stand-ins; nothing is installed.
set -euo pipefail

setup=$(cd "$(dirname "$0")/.." && pwd)/setup.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

check() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        echo "$1: got '$2', want '$3'"
        failed=$((failed + 1))
    fi
}

# A machine where microhttpd.h is missing until the stand-in apt-get has run.
bin=$work/bin
mkdir "$bin"
for name in bash env id tail sed tr mktemp rm sleep make curl cat grep touch true; do
    ln -s "$(type -P "$name")" "$bin/$name"
done
cat >"$bin/gcc" <<END
#!/bin/bash
text=\$(cat)
[ -e "$work/installed" ] || ! grep -q microhttpd <<<"\$text" || echo "MISSING libmicrohttpd-dev"
END
cat >"$bin/apt-get" <<END
#!/bin/bash
echo "\$*" >>"$work/apt.log"
case "\$*" in *install*) [ -e "$work/apt-fails" ] && exit 100; touch "$work/installed" ;; esac
exit 0
END
chmod +x "$bin/gcc" "$bin/apt-get"
run() { env -i PATH="$bin" TMPDIR="$work" "$setup" "$@" 2>"$work/err" </dev/null; }
line='apt-get install -y --no-install-recommends libmicrohttpd-dev'

check 'print' "$(run --print run)" libmicrohttpd-dev
check 'print installs nothing' "$(cat "$work/apt.log" 2>/dev/null || true)" ''

rm "$bin/id"
printf '#!/bin/bash\necho 1000\n' >"$bin/id"
chmod +x "$bin/id"
status=0
run run || status=$?
check 'ordinary user fails' "$status" 1
check 'ordinary user gets the line' "$(grep -c "run: $line\$" "$work/err")" 1

cat >"$bin/sudo" <<END
#!/bin/bash
[ "\$1" = -n ] && shift
echo sudo >>"$work/sudo.log"
exec "\$@"
END
chmod +x "$bin/sudo"
touch "$work/apt-fails"
status=0
run run || status=$?
check 'failing apt-get fails' "$status" 1
check 'failing apt-get gives the line' "$(grep -c "$line" "$work/err")" 2
rm "$work/apt-fails"
status=0
run run || status=$?
check 'sudo installs' "$status" 0
check "through sudo" "$(uniq "$work/sudo.log")" sudo
check 'one install line' "$(tail -n 1 "$work/apt.log" | grep -o 'install .*')" \
    'install -y --no-install-recommends libmicrohttpd-dev'

: >"$work/apt.log"
run run
check 'nothing missing, nothing called' "$(cat "$work/apt.log")" ''

rm "$bin/gcc"
check 'no compiler' "$(run --print run | tr '\n' ' ')" \
    'gcc libc6-dev libmicrohttpd-dev libjansson-dev libsqlite3-dev zlib1g-dev '
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
