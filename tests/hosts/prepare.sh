#!/bin/sh
# What the tests on booted hosts need of this machine, as root: tools from Debian, and packages in build/deb to try.
set -eu
cd "$(dirname "$0")/../.."

for tool in systemd-nspawn mmdebstrap nft tc ssh /usr/bin/ansible-playbook; do
    command -v "$tool" >/dev/null || missing=yes
done
if [ "${missing:-}" ]; then
    echo "Installing what the tests on hosts need …"
    apt-get update --quiet=2
    DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends \
        systemd-container mmdebstrap nftables iproute2 openssh-client ansible-core >/dev/null
fi

architecture=$(dpkg --print-architecture)
for suite in 12:bookworm 13:trixie; do
    for name in swarmd swarmd-model-smollm2; do
        ls "build/deb/${name}_"*"~deb${suite%:*}u1_$architecture.deb" >/dev/null 2>&1 || { unbuilt="${unbuilt:-} ${suite#*:}"; break; }
    done
done
if [ "${unbuilt:-}" ]; then
    echo "There are no packages in build/deb for Debian$unbuilt: building them, some minutes …"
    SUITES=$unbuilt sh packaging/debs.sh "$architecture"
else
    echo "Trying the packages that are in build/deb (sudo make debs builds them anew):"
    ls -l build/deb/*"_$architecture.deb"
fi
