"""The bytes in docs/wire.md are those that the code makes: another implementation is written by that page."""

import hashlib
from pathlib import Path

import pytest

from swarmd.events.envelope import Envelope, Identity, Swarm, open_envelope, seal
from swarmd.events.kinds import Member
from swarmd.gossip.eventset import EMPTY, fingerprint
from swarmd.gossip.frames import (
    FIRST,
    Bound,
    Done,
    Frame,
    GroupSummary,
    Presence,
    Pull,
    Range,
    Ranges,
    Summary,
    Want,
    decode_frame,
    encode,
)
from swarmd.net.host import noise_of, prologue_of
from swarmd.store.keys import key_text
from swarmd.vocab import hlc

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text("utf-8")
SWARM = Swarm.of_key(bytes(range(32)))
ME = Identity(bytes([1] * 32))
STAMP = hlc.at(1_790_000_000_000)


def attic() -> Envelope:
    proof = SWARM.proof(ME.peer)
    return seal(Member(author=ME.peer, hlc=STAMP, peer=ME.peer, name="attic", proof=proof), ME, SWARM)


def test_names_are_made_as_the_page_says() -> None:
    assert f"`{key_text(SWARM.key)}`" in PAGE
    assert f"`{SWARM.id}`" in PAGE
    assert f"`{ME.peer}`" in PAGE
    assert f"`{attic().id}`" in PAGE
    assert f"`{STAMP}`" in PAGE
    assert f"`{hashlib.sha256(f'swarmd/mdns/1 {SWARM.id}'.encode()).hexdigest()[:16]}`" in PAGE
    assert f"`{noise_of(SWARM.key)}`" in PAGE
    assert f"`{prologue_of(SWARM.key).hex()}`" in PAGE


def test_the_envelope_on_the_page_opens() -> None:
    lines = [bytes.fromhex(line) for line in PAGE.splitlines() if line.startswith("    ") and _is_hex(line.strip())]
    payload, signature, _ = lines
    assert Envelope(payload, signature) == attic()
    assert open_envelope(Envelope(payload, signature), SWARM).event.author == ME.peer
    assert encode((attic(),)) == b"\x91\x92\xc4\xc7" + payload + b"\xc4\x40" + signature
    assert f"Payload ({len(payload)} bytes)" in PAGE


def test_the_presence_on_the_page_is_the_codes() -> None:
    presence = Presence(name="attic", roles=("scorer",), wall_ms=1, hlc=1, fingerprint=EMPTY, run=b"r" * 16)
    assert f"    {(b'P' + encode(presence)).hex()}\n" in PAGE


def test_the_fingerprints_on_the_page_are_the_codes() -> None:
    assert f"`{EMPTY.hex()}`" in PAGE
    assert f"`{fingerprint(int(attic().id, 16), 1).hex()}`" in PAGE


@pytest.mark.parametrize(
    "frame",
    [
        Summary(hlc.at(1_790_086_400_000)),
        Summary(5, (GroupSummary("", 1, fingerprint(int(attic().id, 16), 1)),)),
        Ranges("", (Range(FIRST, Bound(9), EMPTY),)),
        Ranges("", (Range(FIRST, Bound(9, "ab"), None, (bytes.fromhex(attic().id)[:16],)),)),
        Pull("", FIRST, Bound(9)),
        Want("", (bytes.fromhex(attic().id)[:16],)),
        Done(),
    ],
)
def test_the_frames_on_the_page_are_the_codes(frame: Frame) -> None:
    assert f"`{encode(frame).hex()}`" in PAGE
    assert decode_frame(encode(frame)) == frame


def _is_hex(text: str) -> bool:
    return len(text) > 100 and not set(text) - set("0123456789abcdef")
