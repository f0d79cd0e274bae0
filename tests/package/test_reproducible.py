"""The same sources give the same bytes, wherever and whenever they are built."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.package.deb import HERE, Deb


@pytest.mark.timeout(1_800)
def test_a_second_build_elsewhere_gives_the_same_bytes(native: Deb, tmp_path: Path) -> None:
    build = ["sh", str(HERE / "packaging/deb.sh"), native.field("Architecture"), str(tmp_path / "again")]
    subprocess.run(build, check=True, capture_output=True, umask=0o077, env=os.environ | {"TZ": "Pacific/Kiritimati"})
    again = sorted((tmp_path / "again").glob("*.deb"))
    assert len(again) == 2
    for package in again:
        assert package.read_bytes() == (native.path.parent / package.name).read_bytes(), package.name
