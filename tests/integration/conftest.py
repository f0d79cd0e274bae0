"""What integration tests share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """A temporary directory whose path is short enough for a UNIX socket (107 bytes), as pytest's own may not be."""
    with tempfile.TemporaryDirectory(prefix="swarmd-test-") as path:
        yield Path(path)
