#!/bin/sh
# Resolve one lock (runtime, embedded, dev or fleet) into a file with hashes and without addresses, for every platform at once.
set -eu
cd "$(dirname "$0")"
compile="../../.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header"
case $1 in
runtime) $compile --override overrides.txt ../../pyproject.toml -o runtime.txt ;;
embedded) $compile --no-deps embedded.in -o embedded.txt ;;
dev) $compile --constraint runtime.txt --group ../../pyproject.toml:dev -o dev.txt ;;
fleet) $compile --constraint runtime.txt --constraint dev.txt fleet.in -o fleet.txt ;;
esac
