#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Proves the two commands on a fresh Debian 12: bootstraps a minimal root, puts a clone of this
# checkout's HEAD there, and runs `make run` and `make test` in it. Needs root, debootstrap and git.
#
#   fresh-root.sh [DIRECTORY]      default: build/fresh; it may grow to 2 GB
#
# TARGETS="test" runs other targets instead. Beside the two commands it shows that an ordinary user
# without sudo gets the one apt-get line, and that a second run, with everything installed, writes
# only to the checkout and the XDG cache.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mkdir -p "${1:-$here/build/fresh}" && cd "${1:-$here/build/fresh}" && pwd)
root=$work/root
base=$work/base.tar
read -ra targets <<<"${TARGETS:-run test}"
mirror=${MIRROR:-http://deb.debian.org/debian}

say() { echo "fresh-root: $*"; }

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    say "needs root and debootstrap"
    exit 77
fi

# What lets this machine reach its registries: proxies, certificates, apt's configuration. Packages
# come from the same sources, third parties' left out.
copy_configuration() {
    local name
    for name in /etc/resolv.conf /etc/hosts; do
        if [ -e "$name" ]; then cp -L "$name" "$root$name"; fi
    done
    mkdir -p "$root/etc/ssl/certs" "$root/etc/apt/apt.conf.d"
    if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
        cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    fi
    for name in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
        if grep -qsiE 'proxy|CaInfo' "$name"; then cp "$name" "$root/etc/apt/apt.conf.d/"; fi
    done
    if compgen -G '/etc/apt/sources.list.d/debian*' >/dev/null; then
        rm -f "$root/etc/apt/sources.list"
        cp /etc/apt/sources.list.d/debian* "$root/etc/apt/sources.list.d/"
    fi
}

# Only what a registry's client may need goes in; nothing else of this machine's environment.
environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8)
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY \
    NODE_EXTRA_CA_CERTS SSL_CERT_FILE npm_config_registry; do
    if [ -n "${!name:-}" ]; then environment+=("$name=${!name}"); fi
done

# Runs a shell command in the root, in namespaces that take its mounts and processes with them.
inside() {
    local user=$1
    shift
    # The inner script is for the inner shell.
    # shellcheck disable=SC2016
    unshare --mount --pid --fork bash -c '
        root=$1 user=$2 command=$3
        shift 3
        mount -t proc proc "$root/proc"
        mount --bind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/dev/shm" 2>/dev/null || true
        exec env -i HOME="/home/$user" "$@" \
            chroot --userspec="$user:$user" "$root" /bin/sh -c "$command"
    ' inside "$root" "$user" "$1" "${environment[@]}"
}

rm -rf "$root"
mkdir -p "$root"
if [ ! -f "$base" ]; then
    say "bootstrapping Debian 12 into $base"
    debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/debootstrap.log" ||
        { tail -n 20 "$work/debootstrap.log"; exit 1; }
    tar -C "$root" -cf "$base.part" .
    mv "$base.part" "$base"
else
    tar -C "$root" -xf "$base"
fi
copy_configuration
git clone -q "$here" "$root/posref"
mkdir -p "$root/home/root" "$root/home/nobody"
inside root 'chown nobody /home/nobody; groupadd -f nobody' >/dev/null 2>&1 || true

say "make itself, the one thing that make cannot install"
inside root 'apt-get -q update && DEBIAN_FRONTEND=noninteractive \
    apt-get -q install -y --no-install-recommends make' >"$work/make.log" 2>&1 ||
    { tail -n 20 "$work/make.log"; exit 1; }

say "an ordinary user without sudo gets the one line"
if inside nobody 'cd /posref && make run' >"$work/user.log" 2>&1; then
    say "make run succeeded for a user who cannot install packages"
    exit 1
fi
grep -E 'apt-get install -y .*libmicrohttpd-dev' "$work/user.log" ||
    { cat "$work/user.log"; exit 1; }

for target in "${targets[@]}"; do
    say "make $target"
    began=$SECONDS
    inside root "cd /posref && make $target" 2>&1 | tee "$work/$target.log"
    say "make $target passed in $((SECONDS - began)) s"
done

say "the same again from a clean checkout: what is written where?"
inside root 'cd /posref && make clean && rm -rf /home/root/.cache && touch /stamp && sleep 1 &&
    make '"${targets[*]}" >"$work/again.log" 2>&1 || { tail -n 40 "$work/again.log"; exit 1; }
written=$(cd "$root" && find . -xdev -newer stamp ! -type d ! -path './posref/*' \
    ! -path './home/root/.cache/*' ! -path './proc/*' ! -path './dev/*')
if [ -n "$written" ]; then
    say "written outside the checkout and the XDG cache:"
    echo "$written"
    exit 1
fi
say "passed: nothing was written outside the checkout and the XDG cache"
