"""What the units say of the program and of the package is so."""

import re
from pathlib import Path

import pytest

from swarmd.control.server import CONNECTIONS_MAX as CALLERS_MAX
from swarmd.net.host import CONNECTIONS_MAX as PEERS_MAX
from swarmd.vocab import limits
from tests.package.deb import HERE, Deb

UNITS = [HERE / "systemd" / name for name in ("swarmd.service", "swarmd.socket")]
MIB = 1 << 20


def setting(name: str) -> str:
    """What swarmd.service sets *name* to."""
    (value,) = re.findall(rf"(?m)^{name}=(.*)$", (HERE / "systemd/swarmd.service").read_text())
    return str(value)


def test_the_service_may_use_what_the_bounds_of_the_program_add_up_to() -> None:
    memory = int(setting("MemoryMax").removesuffix("G")) << 30
    assert memory >= 2 * (110 * MIB + 300 * MIB + limits.EVENTS_BYTES_MAX)
    assert int(setting("LimitNOFILE")) >= 2 * (2 * PEERS_MAX + CALLERS_MAX)


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_the_units_are_packed_as_they_are_and_name_manual_pages_that_are_there(deb: Deb, unit: Path) -> None:
    (packed,) = [file for file in deb.files() if file.endswith(f"/systemd/system/{unit.name}")]
    assert (deb.tree / packed).read_text() == unit.read_text()
    pages = re.findall(r"man:(\w+)\((\d)\)", unit.read_text())
    assert pages
    for name, section in pages:
        assert f"usr/share/man/man{section}/{name}.{section}.gz" in deb.files()
