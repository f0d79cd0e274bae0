#!/bin/sh
# Build the packages of the running suite into build/deb: deb.sh [ARCHITECTURE]. As root it installs what the build needs.
set -eu
cd "$(dirname "$0")/.."
here=$(dpkg --print-architecture)
architecture=${1:-$here}
folder=$PWD/build/deb
suite=deb$(. /etc/os-release && echo "$VERSION_ID")u1 # one package a suite, in their order: X~deb12u1 < X~deb13u1 < X
work=$folder/$suite-$architecture
source=$work/source
log=$folder/$suite-$architecture.log
export WHEELS="$PWD/build/wheels/$suite" # unpacked once for all builds

needs="lintian, $(sed -n '/^Build-Depends:/,/^[^ B]/{s/^Build-Depends://;/^[A-Z]/d;p}' packaging/debian/control | tr -d '\n')"
[ "$architecture" = "$here" ] || needs="$needs, binutils-aarch64-linux-gnu" # its strip
if ! dpkg-checkbuilddeps -I -d "$needs" /dev/null 2>/dev/null; then
    if [ "$(id -u)" != 0 ]; then
        echo "The build needs packages. Run: sudo apt satisfy --no-install-recommends 'dpkg-dev, $needs'" >&2
        exit 1
    fi
    echo "Installing what the build needs …"
    apt-get update --quiet=2
    DEBIAN_FRONTEND=noninteractive apt-get satisfy --quiet=2 --yes --no-install-recommends "dpkg-dev, $needs" >/dev/null
fi

rm -rf "$work"
mkdir -p "$source"
cp -r LICENSE packaging swarmd systemd "$source"
cp -rL packaging/debian "$source/debian"
find "$source" -name __pycache__ -prune -exec rm -rf {} +
sed -i "1s/(\(.*\))/(\1~$suite)/" "$source/debian/changelog"
version=$(dpkg-parsechangelog --file "$source/debian/changelog" --show-field Version)

echo "Building swarmd $version for $architecture …"
cd "$source"
dpkg-buildpackage --build=binary --no-sign --host-arch "$architecture" --no-check-builddeps >"$log" 2>&1 ||
    { tail -n 30 "$log" >&2; exit 1; }
cd "$work"
lintian --allow-root --fail-on error,warning ./*.deb
mv ./*.deb ..
cd ..
rm -rf "$work"
ls -l ./*"_${version}_$architecture".deb
