"""The packages under test, as `make deb` and `make debs` leave them in build/deb, and others made from them."""

import re
import shutil
from pathlib import Path

import pytest

from tests.hosts.command import run
from tests.hosts.host import Host

_DEBS = Path(__file__).parents[2] / "build" / "deb"
_RELEASES = {"bookworm": "deb12u1", "trixie": "deb13u1"}


def package(suite: str, name: str = "swarmd") -> Path:
    """The newest build of a package for *suite*. Skips the test if there is none."""
    builds = _builds(suite, name)
    if not builds:
        pytest.skip(f"there is no package for {suite}: make debs")
    return builds[-1]


def suites() -> list[str]:
    """Those that there is a package of swarmd for. Skips the test if there is none."""
    return [suite for suite in _RELEASES if _builds(suite, "swarmd")] or [package("bookworm").name]


def _builds(suite: str, name: str) -> list[Path]:
    architecture = run("dpkg", "--print-architecture").strip()
    return sorted(_DEBS.glob(f"{name}_*~{_RELEASES[suite]}_{architecture}.deb"), key=lambda deb: deb.stat().st_mtime)


def release(deb: Path, version: str, folder: Path, *, settings: str = "") -> Path:
    """The package *deb* as another *version* of it, in which config.toml ends with *settings*."""
    tree = folder / version
    run("dpkg-deb", "--raw-extract", str(deb), str(tree))
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}", control.read_text()))
    with (tree / "etc/swarmd/config.toml").open("a") as config:
        config.write(settings)
    made = folder / f"swarmd_{version}.deb"
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", str(tree), str(made))
    shutil.rmtree(tree)
    return made


def install(host: Host, deb: Path, *options: str) -> str:
    """Install *deb* as `apt install ./swarmd.deb` does when nobody is there to answer; what it says."""
    host.put(deb, f"/root/{deb.name}")
    return host.run(*APT, "install", *options, f"/root/{deb.name}", seconds=600)


APT = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--quiet=2", "-o", "Dpkg::Use-Pty=0")
