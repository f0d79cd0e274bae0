"""Secrets are private, whole, never overwritten, and a slip of the pen is noticed."""

import os
import random
import stat
from pathlib import Path

import pytest

from swarmd.events.envelope import Identity, Swarm
from swarmd.store.keys import (
    fingerprint,
    identity,
    key_text,
    new_key,
    parse_key,
    read_key,
    read_swarm,
    retire_keys,
    rotate_key,
    swarm_text,
    write_key,
)
from swarmd.vocab.faults import LocalMistake

KEY = bytes(range(32))
ME = Identity(bytes([1] * 32)).peer
TEXT = "swarmd-key-1:aaaqeaye-audaocaj-bifqydio-b4ibceqt-cqkrmfyy-denbwha5-dyp6mmmh"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_identity_is_made_once_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "state" / "identity"
    first = identity(path)
    assert first.peer.startswith("12D3KooW")
    assert (mode(path), path.stat().st_size) == (0o600, 32)
    assert identity(path).peer == first.peer
    assert [found.name for found in path.parent.iterdir()] == ["identity"], "a draft was left behind"


@pytest.mark.parametrize("readable", [0o640, 0o604, 0o660])
def test_an_identity_that_others_can_read_is_refused_with_the_chmod_to_run(tmp_path: Path, readable: int) -> None:
    path = tmp_path / "identity"
    identity(path)
    path.chmod(readable)
    with pytest.raises(LocalMistake, match=f"chmod 600 {path}"):
        identity(path)


@pytest.mark.parametrize("size", [0, 31, 33, 10_000])
def test_an_identity_of_a_wrong_length_is_refused_and_left_alone(tmp_path: Path, size: int) -> None:
    path = tmp_path / "identity"
    path.write_bytes(bytes(size))
    path.chmod(0o600)
    with pytest.raises(LocalMistake, match="backup"):
        identity(path)
    assert path.stat().st_size == size


def test_an_identity_that_appears_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "identity"
    link = os.link

    def late(source: str, target: Path) -> None:
        path.write_bytes(KEY)
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(FileExistsError):
        identity(path)
    assert path.read_bytes() == KEY


def test_a_key_reads_the_same_on_every_release() -> None:
    assert key_text(KEY) == TEXT
    assert parse_key(TEXT) == KEY
    assert fingerprint(KEY).replace("-", "") == Swarm.of_key(KEY).id[:16]


def test_new_keys_differ() -> None:
    assert len({new_key() for _ in range(100)}) == 100


@pytest.mark.parametrize(
    "text",
    [
        TEXT.upper(),
        f"  {TEXT}\r\n",
        TEXT.replace(":", ": "),
        TEXT.replace("-", "").replace("swarmdkey1", "swarmd-key-1"),
    ],
)
def test_case_dashes_and_spaces_do_not_matter(text: str) -> None:
    assert parse_key(text) == KEY


def test_every_single_mistyped_swapped_or_lost_character_is_noticed() -> None:
    rng = random.Random(7)
    start = len("swarmd-key-1:")
    slips = set()
    for place in range(start, len(TEXT)):
        if TEXT[place] == "-":
            continue
        for typed in "abcdefghijklmnopqrstuvwxyz0123456789!é":
            slips.add(TEXT[:place] + typed + TEXT[place + 1 :])
        slips.add(TEXT[:place] + TEXT[place + 1 :])
        slips.add(TEXT[:place] + rng.choice("abc") + TEXT[place:])
        slips.add(TEXT[:place] + TEXT[place : place + 2][::-1] + TEXT[place + 2 :])
    slips = {slip for slip in slips if slip.replace("-", "") != TEXT.replace("-", "")}
    assert len(slips) > 2_000
    for slip in slips:
        with pytest.raises(LocalMistake, match="mistyped"):
            parse_key(slip)


@pytest.mark.parametrize("text", ["", "swarmd-key-2:aaaa", "aaaqeaye", "ssh-ed25519 AAAA", TEXT.removeprefix("s")])
def test_what_is_no_key_at_all_is_told_so(text: str) -> None:
    with pytest.raises(LocalMistake, match="begins with swarmd-key-1:"):
        parse_key(text)


def test_a_key_file_is_private_and_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "etc" / "swarm.key"
    write_key(path, KEY)
    assert path.read_text() == f"{TEXT}\n"
    assert mode(path) == 0o600
    assert read_key(path) == KEY
    with pytest.raises(LocalMistake, match="exists already"):
        write_key(path, new_key())
    assert read_key(path) == KEY


def test_a_missing_key_names_the_command_to_run(tmp_path: Path) -> None:
    with pytest.raises(LocalMistake, match="swarmd key new"):
        read_key(tmp_path / "swarm.key")


def test_a_key_that_everybody_can_read_is_refused_but_a_group_may(tmp_path: Path) -> None:
    path = tmp_path / "swarm.key"
    write_key(path, KEY)
    path.chmod(0o640)
    assert read_key(path) == KEY
    path.chmod(0o644)
    with pytest.raises(LocalMistake, match=f"chmod o= {path}"):
        read_key(path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", TEXT.encode()[:-3], bytes(100_000)])
def test_a_damaged_key_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "swarm.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(LocalMistake, match=str(path)):
        read_key(path)


def test_a_key_path_that_is_a_directory_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(LocalMistake, match="cannot read the swarm key"):
        read_key(tmp_path)


def test_a_changed_key_keeps_the_swarm_and_the_old_key_opens_links_until_it_is_retired(tmp_path: Path) -> None:
    path = tmp_path / "swarm.key"
    write_key(path, KEY)
    path.chmod(0o640)
    first, second = rotate_key(path), rotate_key(path)
    assert read_swarm(path) == second
    assert {first.id, second.id} == {Swarm.of_key(KEY).id}
    assert second.keys == (second.key, first.key, KEY)
    assert second.admits(ME, Swarm.of_key(KEY).proof(ME))
    done = retire_keys(path)
    assert read_swarm(path) == done
    assert done.keys == (second.key,)
    assert done.retired == (first.key, KEY)
    assert done.id == second.id
    assert done.admits(ME, Swarm.of_key(KEY).proof(ME))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["swarm.key"]


def test_what_is_shown_of_a_changed_key_can_be_typed_in_elsewhere(tmp_path: Path) -> None:
    write_key(tmp_path / "swarm.key", KEY)
    swarm = rotate_key(tmp_path / "swarm.key")
    (tmp_path / "copy").write_text(swarm_text(swarm))
    (tmp_path / "copy").chmod(0o600)
    assert read_swarm(tmp_path / "copy") == swarm


def test_a_slip_in_an_older_key_is_told(tmp_path: Path) -> None:
    path = tmp_path / "swarm.key"
    write_key(path, KEY)
    rotate_key(path)
    path.write_text(path.read_text()[:-9])
    with pytest.raises(LocalMistake, match="mistyped"):
        read_swarm(path)
