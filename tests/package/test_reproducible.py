"""The same sources give the same bytes, wherever and whenever they are built."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.package.deb import HERE, Deb

SOURCES = ("LICENSE", "packaging", "swarmd", "systemd")


@pytest.mark.timeout(1_800)
def test_a_second_build_elsewhere_gives_the_same_bytes(native: Deb, tmp_path: Path) -> None:
    for name in SOURCES:
        (shutil.copytree if (HERE / name).is_dir() else shutil.copy)(HERE / name, tmp_path / name)
    build = ["sh", str(tmp_path / "packaging/deb.sh")]
    done = subprocess.run(build, capture_output=True, text=True, umask=0o077, env=os.environ | {"TZ": "Asia/Kathmandu"})
    assert done.returncode == 0, done.stdout + done.stderr
    again = sorted((tmp_path / "build/deb").glob("*.deb"))
    assert len(again) == 2
    for package in again:
        assert package.read_bytes() == (native.path.parent / package.name).read_bytes(), package.name
