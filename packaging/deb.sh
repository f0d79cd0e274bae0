#!/bin/sh
# Build the packages of the running suite into build/deb/: deb.sh [ARCHITECTURE]. As root it installs what the build needs.
set -eu
cd "$(dirname "$0")/.."
architecture=${1:-$(dpkg --print-architecture)}
work=build/deb/source-$architecture
needs="$(sed -n '/^Build-Depends:/,/^[^ B]/{s/^Build-Depends://;/^[A-Z]/d;p}' packaging/debian/control | tr -d '\n')"

. /etc/os-release
if [ "$architecture" != "$(dpkg --print-architecture)" ]; then
    needs="$needs, binutils-aarch64-linux-gnu"  # its strip
fi
if ! dpkg-checkbuilddeps -I -d "$needs" /dev/null 2>/dev/null; then
    if [ "$(id -u)" = 0 ]; then
        apt-get update --quiet=2
        DEBIAN_FRONTEND=noninteractive apt-get satisfy --quiet=2 --yes --no-install-recommends "$needs, dpkg-dev" >/dev/null
    else
        echo "The build needs packages. Run: sudo apt satisfy --no-install-recommends '$needs, dpkg-dev'" >&2
        exit 1
    fi
fi

rm -rf "$work"
mkdir -p "$work"
cp -r LICENSE packaging swarmd systemd "$work"
cp -rL packaging/debian "$work/debian"
find "$work" -name __pycache__ -prune -exec rm -rf {} +
cd "$work"
# one package a suite, in the order of the suites: X~deb12u1 < X~deb13u1 < X
sed -i "1s/(\(.*\))/(\1~deb${VERSION_ID}u1)/" debian/changelog
dpkg-buildpackage --build=binary --no-sign --host-arch "$architecture" --no-check-builddeps >../build-$architecture.log 2>&1 ||
    { tail -n 30 "../build-$architecture.log" >&2; exit 1; }
cd ../../..
rm -rf "$work" build/deb/*.changes build/deb/*.buildinfo
ls -l build/deb/*_"$architecture".deb
