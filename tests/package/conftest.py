import filecmp
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.package.deb import BUILT, HERE, Deb, Room, bare_root, of_this_machine, unpack

_NONE = "no package in build/deb; to build one: make deb"
_PACKAGES: list[Path | None] = [*sorted(BUILT.glob("swarmd_*.deb"))] or [None]
_MODELS: list[Path | None] = [*sorted(BUILT.glob("swarmd-model-*.deb"))] or [None]


def _name(path: Path | None) -> str:
    return path.name if path else "none"


def _expect_fresh(deb: Deb) -> Deb:
    ours = {path.relative_to(HERE) for path in (HERE / "swarmd").rglob("*.py")}
    packed = {path.relative_to(deb.library) for path in (deb.library / "swarmd").rglob("*.py")}
    if ours != packed or not all(filecmp.cmp(HERE / file, deb.library / file, shallow=False) for file in ours):
        pytest.fail(f"{deb.path.name} was built from other sources; to build it anew: make deb")
    return deb


@pytest.fixture(scope="session", params=_PACKAGES, ids=_name)
def deb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Deb:
    """Each package of swarmd that was built."""
    if request.param is None:
        pytest.fail(_NONE)
    return _expect_fresh(unpack(request.param, tmp_path_factory.mktemp("deb")))


@pytest.fixture(scope="session", params=_MODELS, ids=_name)
def model_deb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Deb:
    """Each package of the model that was built."""
    if request.param is None:
        pytest.fail(_NONE)
    return unpack(request.param, tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> Deb:
    """The package for this machine and suite."""
    path = of_this_machine("swarmd") if shutil.which("dpkg-deb") else None
    if path is None:
        pytest.fail(_NONE)
    return _expect_fresh(unpack(path, tmp_path_factory.mktemp("native")))


@pytest.fixture(scope="session")
def base(native: Deb) -> Path:
    """A bare root of this suite: systemd, Python, and the C libraries that the packages depend on."""
    if os.geteuid() != 0:
        pytest.skip("making a root of the suite takes root")
    return bare_root("systemd", native.library.parent.name, "libgomp1", "libstdc++6")


@pytest.fixture
def room(base: Path, native: Deb, tmp_path: Path) -> Iterator[Room]:
    """A copy of the bare root with the package in /srv, not installed."""
    room = Room(base, tmp_path / "room")
    room.put(native.path, "/srv/swarmd.deb")
    yield room
    shutil.rmtree(tmp_path / "room")


@pytest.fixture(scope="module")
def installed(base: Path, native: Deb, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A copy of the bare root with the package installed, for tests that leave it so."""
    folder = tmp_path_factory.mktemp("installed")
    room = Room(base, folder / "room")
    room.put(native.path, "/srv/swarmd.deb")
    room.must("dpkg --install /srv/swarmd.deb")
    yield room
    shutil.rmtree(folder)
