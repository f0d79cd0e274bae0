#!/bin/sh
# A root of a Debian suite, to build or try a package in: root.sh SUITE FOLDER [PACKAGE]... (as root; needs mmdebstrap).
# How to reach Debian and Python's packages is taken from this machine: its sources, with the suite renamed, its apt
# configuration (less what packages brought), resolver and certificates.
set -eu
suite=$1 folder=$2
shift 2
include=ca-certificates
for package; do include=$include,$package; done

command -v mmdebstrap >/dev/null || { apt-get update --quiet=2; apt-get install --quiet=2 --yes mmdebstrap >/dev/null; }
here=$(. /etc/os-release && echo "$VERSION_CODENAME")
sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    sed "s/ $here/ $suite/" | sort -u)
[ -n "$sources" ] || { echo "apt knows no sources of Debian here. Run: apt-get update" >&2; exit 1; }

mkdir -p "$(dirname "$folder")"
rm -rf --one-file-system "$folder.new" "$folder"
# the hook is for suites whose base-files do not merge /usr themselves
printf '%s\n' "$sources" | mmdebstrap --quiet --mode=root --variant=apt --include="$include" \
    --hook-directory=/usr/share/mmdebstrap/hooks/merged-usr \
    --setup-hook='mkdir -p "$1/etc/apt/apt.conf.d"
        for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
            if [ -e "$file" ] && ! dpkg -S "$file" >/dev/null 2>&1; then cp "$file" "$1$file"; fi
        done' \
    --customize-hook='cat "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" >"$1/tmp/ca" && mv "$1/tmp/ca" "$1/etc/ssl/certs/ca-certificates.crt"' \
    --customize-hook='for file in /etc/pip.conf /etc/resolv.conf; do if [ -e $file ]; then cat $file >"$1$file"; fi; done' \
    --skip=cleanup/apt/lists \
    "$suite" "$folder.new" -
mv "$folder.new" "$folder"
