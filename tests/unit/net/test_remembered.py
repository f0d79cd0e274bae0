"""Addresses that outlive the process: only a help, so a bad file is no fault."""

from pathlib import Path

import pytest
from multiaddr import Multiaddr

from swarmd.events.envelope import Identity
from swarmd.net.remembered import load, save

PEER = Identity(b"p" * 32).peer
ADDRESS = Multiaddr("/ip4/192.168.1.20/tcp/4001")


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    save(tmp_path / "neighbours.json", {PEER: [ADDRESS]})
    assert load(tmp_path / "neighbours.json") == {PEER: [ADDRESS]}
    assert [path.name for path in tmp_path.iterdir()] == ["neighbours.json"]


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"\xff", b'{"nobody": []}', b'{"x": 1}'])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "neighbours.json").write_bytes(content)
    assert load(tmp_path / "neighbours.json") == {}


def test_a_missing_file_and_a_full_disk_are_no_fault(tmp_path: Path) -> None:
    assert load(tmp_path / "neighbours.json") == {}
    save(tmp_path / "no" / "such" / "neighbours.json", {PEER: [ADDRESS]})
