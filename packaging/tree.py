"""The tree that the package installs, out of locked wheels: `tree.py wheels` unpacks them, `tree.py trim` keeps what
runs.

Everything comes ready built for the wanted architecture, so the machine that packs needs no compiler and may be of
another.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_GLIBC_MINORS = range(17, 37)  # manylinux begins at glibc 2.17 (PEP 600); Debian 12 has 2.36
_PURE_SOURCES = "python-baseconv,sdnotify,varint"  # one Python file each, published without a wheel
_LOCKS = Path(__file__).parent / "requirements"

# What only their authors, compilers and type checkers read
_SUFFIXES = {".pyi", ".c", ".h", ".pxd", ".pyx", ".proto", ".a", ".typed", ".rst", ".md"}
_NOT_CODE = {"bin", "docs", "examples", "interop", "newsfragments", "scripts", "stubs", "cffi-gen-src"}  # beside code
_NOWHERE = {"SelfTest", "tests", "__pycache__", "licenses", "sboms"}
_DIST_INFO = {"METADATA"}  # the rest of a *.dist-info is for installers; versions are read from this
_TABLES = ("netaddr/eui/*.txt", "netaddr/eui/*.idx")  # 9 MB of makers of network cards
_OTHERS_API = ("pydantic/v1",)  # for programs of ten years ago
_LEXERS, _LEXERS_USED = Path("pygments/lexers"), {"__init__.py", "_mapping.py", "python.py"}  # of 4 MB, for tracebacks


def unpack(lock: str, architecture: str, folder: Path) -> None:
    """Every distribution of *lock* (runtime or embedded) but the unused ones, for *architecture* and this very Python,
    into *folder*, each checked against its hash; nothing is done if they are there. Raises CalledProcessError if one
    cannot be had."""
    unused = set((_LOCKS / "unused.txt").read_text().split("\n"))
    wanted = "".join(entry for entry in _entries((_LOCKS / f"{lock}.txt").read_text()) if _name(entry) not in unused)
    there = folder.with_suffix(".txt")  # what was asked for, written last
    if there.exists() and there.read_text() == wanted:
        return
    there.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    picked = folder.with_suffix(".picked")
    picked.write_text(wanted)
    major, minor = sys.version_info[:2]
    machine = _MACHINES[architecture]
    tags = [f"manylinux_2_{number}_{machine}" for number in reversed(_GLIBC_MINORS)]
    command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-compile"]
    command += ["--root-user-action=ignore", "--require-hashes", "--no-deps", "--only-binary=:all:"]
    command += [
        f"--no-binary={_PURE_SOURCES}",
        "--no-build-isolation",
        "--use-pep517",
    ]  # they are built by the suite's own setuptools
    command += [f"--python-version={major}.{minor}", "--implementation=cp"]
    command += [f"--abi={abi}" for abi in (f"cp{major}{minor}", "abi3", "none")]
    command += [f"--platform={tag}" for tag in (*tags, f"linux_{machine}")]
    subprocess.run([*command, f"--target={folder}", f"--requirement={picked}"], check=True)
    picked.rename(there)


def trim(wheels: Path, folder: Path, part: str) -> None:
    """Copy what runs from *wheels*, or from its *part* alone, to *folder*."""
    tables = {table for pattern in _TABLES for table in wheels.glob(pattern)}
    for source in sorted((wheels / part).rglob("*")):
        path = source.relative_to(wheels)
        if source.is_dir() or source in tables or not _runs(path):
            continue
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)  # without permissions: nothing in a library is a program
        if source.suffix == ".py" and (code := source.read_bytes()).startswith(b"#!"):
            target.write_bytes(code[code.index(b"\n") :])  # nor does it name an interpreter


def _runs(path: Path) -> bool:
    top = path.parts[0]
    if top in _NOT_CODE or top.endswith("-stubs") or _NOWHERE & set(path.parts[:-1]):
        return False
    if top.endswith(".dist-info"):
        return path.name in _DIST_INFO
    if path.parent == _LEXERS:
        return path.name in _LEXERS_USED
    if any(path.is_relative_to(part) for part in _OTHERS_API):
        return False
    return path.suffix not in _SUFFIXES and not path.name.startswith("LICENSE")


def _entries(lock: str) -> Iterator[str]:
    yield from re.findall(r"^\S+==.*\n(?:[ \t].*\n)*", lock, re.MULTILINE)


def _name(entry: str) -> str:
    return entry.partition("==")[0]


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("wheels")
    verb.add_argument("lock", choices=("runtime", "embedded"))
    verb.add_argument("architecture", choices=sorted(_MACHINES))
    verb.add_argument("folder", type=Path)
    verb = verbs.add_parser("trim")
    verb.add_argument("wheels", type=Path)
    verb.add_argument("folder", type=Path)
    verb.add_argument("part", nargs="?", default="")
    args = parser.parse_args()
    if args.verb == "wheels":
        unpack(args.lock, args.architecture, args.folder)
    else:
        trim(args.wheels, args.folder, args.part)


if __name__ == "__main__":
    main()
