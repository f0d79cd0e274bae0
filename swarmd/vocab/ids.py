"""Ids are text: equal bytes give equal ids on every machine, and nothing is ever assigned.

An event's id is the SHA-256 of its payload. A task's id is derived from the split that made it. A peer's id is its
libp2p peer id, which for Ed25519 holds the public key itself (libp2p peer-ids specification, "identity" multihash).
"""

import hashlib
from collections.abc import Iterable
from typing import NewType

import base58

from swarmd.vocab.faults import RemoteFault

EventId = NewType("EventId", str)  # 64 hex digits
TaskId = NewType("TaskId", str)  # 64 hex digits; a goal's root task has the goal's event id
PeerId = NewType("PeerId", str)  # base58, "12D3KooW…"

GoalId = EventId

# multihash "identity" (0x00), 36 bytes, then a protobuf PublicKey {type: Ed25519, data: 32 bytes}
_ED25519_PREFIX = bytes.fromhex("002408011220")
_ED25519_KEY_BYTES = 32
_PEER_ID_CHARS = 52  # of those 38 bytes in base58


def event_id(payload: bytes) -> EventId:
    """The id of the event whose payload is exactly these bytes."""
    return EventId(hashlib.sha256(payload).hexdigest())


def child_task(proposal: EventId, index: int) -> TaskId:
    """The task that subgoal *index* (from 0) of *proposal* becomes if that split is accepted."""
    return TaskId(hashlib.sha256(f"swarmd/task/1 {proposal} {index}".encode()).hexdigest())


def peer_id(public_key: bytes) -> PeerId:
    """The peer id of a raw 32-byte Ed25519 public key."""
    return PeerId(base58.b58encode(_ED25519_PREFIX + public_key).decode())


def public_key(peer: PeerId) -> bytes:
    """The raw Ed25519 public key inside a peer id.

    Raises RemoteFault if the id is not that of an Ed25519 key.
    """
    if len(peer) != _PEER_ID_CHARS:  # before decoding, which takes quadratic time
        raise RemoteFault("peer id is too short or too long")
    try:
        raw: bytes = base58.b58decode(peer)
    except ValueError as error:
        raise RemoteFault("peer id is not base58") from error
    if len(raw) != len(_ED25519_PREFIX) + _ED25519_KEY_BYTES or not raw.startswith(_ED25519_PREFIX):
        raise RemoteFault("peer id does not hold an Ed25519 key")
    return raw[len(_ED25519_PREFIX) :]


def is_digest(text: str) -> bool:
    """Whether *text* has the form of an event or task id."""
    return len(text) == 64 and not set(text) - set("0123456789abcdef")


def rendezvous(key: str, peers: Iterable[PeerId]) -> list[PeerId]:
    """Peers by highest random weight for *key* (Thaler and Ravishankar 1998): every peer finds the same order alone."""
    return sorted(set(peers), key=lambda peer: (hashlib.sha256(f"{key} {peer}".encode()).digest(), peer))


def short(identifier: str) -> str:
    """An id as people see it: 8 characters, taken where peer ids differ."""
    return identifier[-8:] if identifier.startswith("12D3KooW") else identifier[:8]
