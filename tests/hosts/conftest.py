"""Fixtures of the tests on booted hosts."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hosts.base import SUITES
from tests.hosts.daemon import HOME_KEY, join
from tests.hosts.desk import PINNED, Desk, ansible
from tests.hosts.host import Host
from tests.hosts.lan import Lan, lan
from tests.hosts.packages import install, package
from tests.hosts.session import group, session
from tests.hosts.swarm import NAMES, Swarm
from tests.hosts.times import Times

_TIMES = Times()
_TOOLS = ("systemd-nspawn", "mmdebstrap", "nft", "ip", "tc", "setpriv", "unshare", "nsenter")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, with the reason, where hosts cannot be booted."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    reason = ""
    if os.geteuid() != 0:
        reason = "booting hosts needs root"
    elif missing:
        reason = f"without {', '.join(missing)}: apt install systemd-container mmdebstrap nftables iproute2"
    for item in items:
        if reason and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How long things took, at the end of a run that measured something."""
    for line in _TIMES.table():
        terminalreporter.write_line(line)


@pytest.fixture
def times() -> Times:
    """Where a test notes how long things took."""
    return _TIMES


@pytest.fixture(scope="session")
def this_run() -> Iterator[Path]:
    """The folder of this run of the tests."""
    with session() as run:
        yield run


@pytest.fixture(params=SUITES)
def suite(request: pytest.FixtureRequest) -> str:
    """Each suite that there is a package for."""
    name: str = request.param
    package(name)
    return name


@pytest.fixture(scope="session")
def installed(this_run: Path) -> Callable[[str], Path]:
    """For a suite, a layer in which the package is installed and waits for a key; made at its first use."""

    def make(workshop: Lan, suite: str) -> Host:
        host = workshop.host("workshop", suite)
        install(host, package(suite))
        host.run("rm", f"/root/{package(suite).name}")
        return host

    return _layers(this_run, "installed", make)


@pytest.fixture(scope="session")
def deployed(this_run: Path) -> Callable[[str], Path]:
    """For a suite, a disk as deploy.yml leaves it, with the home's key; whose daemon never ran, as far as it knows."""
    ansible(PINNED)

    def make(workshop: Lan, suite: str) -> Host:
        host = workshop.host("workshop", suite)
        desk = Desk(workshop, this_run / "desks" / suite)
        desk.key.write_text(f"{HOME_KEY}\n")
        desk.know(host)
        desk.play("deploy.yml")
        host.run("systemctl", "stop", "swarmd.socket", "swarmd.service")
        host.run("sh", "-c", "rm -r /var/lib/swarmd/*")  # as the guide says of a card that is copied
        return host

    return _layers(this_run, "deployed", make)


def _layers(run: Path, kind: str, make: Callable[[Lan, str], Host]) -> Callable[[str], Path]:
    """For a suite, the disk of the host that *make* leaves on a LAN of its own; made at its first use."""

    def layer(suite: str) -> Path:
        folder = run / kind / suite
        if not folder.exists():
            with lan(f"{group(run)}/{kind}", run / "workshop") as workshop:
                make(workshop, suite).layer(folder)
        return folder

    return layer


@pytest.fixture
def peer(home: Lan, suite: str, installed: Callable[[str], Path]) -> Host:
    """A booted host of each suite with the package installed and a daemon that runs, with the scripted model."""
    host = home.host("peer", suite, installed(suite))
    join(host)
    return host


@pytest.fixture
def home(this_run: Path, request: pytest.FixtureRequest) -> Iterator[Lan]:
    """A LAN without hosts, for one test."""
    with lan(group(this_run), this_run / "disks") as built:
        yield built


@pytest.fixture
def swarm(home: Lan, deployed: Callable[[str], Path], tmp_path: Path) -> Swarm:
    """A swarm without hosts."""
    return Swarm(home, deployed, tmp_path)


@pytest.fixture
def three(swarm: Swarm) -> Swarm:
    """A swarm of three hosts that have met; the last one of another suite, if there is a package for it."""
    for name in NAMES[:3]:
        swarm.add(name)
    swarm.home.boot()
    swarm.meet()
    return swarm
