#!/bin/sh
# Build the packages of every suite into build/deb/, each suite in a root of its own (as root): debs.sh [ARCHITECTURE]...
# SUITES: those alone.
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "Making the roots of other suites needs root. Run: sudo make debs" >&2; exit 1; }

# Mounts end with their namespace. Wheels are kept: the certificates that fetch them are the root's own (root.sh).
inside() {
    unshare --mount --pid --fork --kill-child sh -c '
        root=$1; shift
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mkdir -p "$root/srv/swarmd"
        mount --bind . "$root/srv/swarmd"
        exec chroot "$root" env -u PIP_FIND_LINKS HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
            PIP_CACHE_DIR=/srv/swarmd/build/pip "$@"' inside "$@"
}

[ $# -gt 0 ] || set -- amd64 arm64
for suite in ${SUITES:-bookworm trixie}; do
    root=build/roots/$suite
    [ -d "$root" ] || sh packaging/root.sh "$suite" "$root"
    for architecture; do
        inside "$root" sh /srv/swarmd/packaging/deb.sh "$architecture"
    done
done
