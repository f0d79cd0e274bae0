"""Ids are the same on every machine and release, and the same that libp2p uses."""

import hashlib

import pytest
from libp2p.crypto.ed25519 import Ed25519PrivateKey
from libp2p.peer.id import ID

from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.ids import (
    EventId,
    PeerId,
    child_task,
    event_id,
    is_digest,
    peer_id,
    public_key,
    rendezvous,
    short,
)


def test_an_event_s_id_is_the_sha_256_of_its_payload() -> None:
    assert event_id(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_child_s_id_follows_from_its_split_and_place() -> None:
    split = EventId("ab" * 32)
    assert child_task(split, 0) == hashlib.sha256(f"swarmd/task/1 {split} 0".encode()).hexdigest()
    assert len({child_task(split, index) for index in range(12)}) == 12


def test_a_peer_id_is_the_one_that_libp2p_derives() -> None:
    for number in range(20):
        key = Ed25519PrivateKey.from_bytes(bytes([number] * 32)).get_public_key()
        ours = peer_id(key.to_bytes())
        assert ours == str(ID.from_pubkey(key))
        assert public_key(ours) == key.to_bytes()


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "12D3KooW",
        "0" * 52,
        "é" * 52,
        "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N",  # a digest of an RSA key
        "z" * 52,
        peer_id(bytes(32))[:-1] + "\n",
        peer_id(bytes(32)) + "\n",
        " " + peer_id(bytes(32)),
    ],
)
def test_what_holds_no_ed25519_key_is_a_remote_fault(wrong: str) -> None:
    with pytest.raises(RemoteFault):
        public_key(PeerId(wrong))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0" * 64, True), ("0" * 63, False), ("0" * 63 + "\n", False), ("A" * 64, False), ("é" * 64, False), ("", False)],
)
def test_a_digest_is_64_lower_hex_digits(text: str, expected: bool) -> None:
    assert is_digest(text) is expected


def test_the_rendezvous_order_stays_as_it_is_since_replicas_of_two_releases_must_agree() -> None:
    members = [PeerId(name) for name in ("garage", "attic", "kitchen", "shed")]
    assert rendezvous("a task", members) == sorted(
        members, key=lambda peer: hashlib.sha256(f"a task {peer}".encode()).digest()
    )


def test_short_ids_show_where_ids_differ() -> None:
    peer = peer_id(bytes(32))
    assert short(peer) == peer[-8:]
    assert short("abcdef0123456789") == "abcdef01"
