"""Fixtures of the tests on booted hosts."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.lan import Lan, lan
from tests.hosts.session import group, session

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


@pytest.fixture(scope="session")
def this_run() -> Iterator[Path]:
    """The folder of this run of the tests."""
    with session() as run:
        yield run


@pytest.fixture
def home(this_run: Path, request: pytest.FixtureRequest) -> Iterator[Lan]:
    """A LAN without hosts, for one test."""
    with lan(group(this_run), this_run / "disks") as built:
        yield built
