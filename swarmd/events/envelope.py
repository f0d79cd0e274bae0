"""An envelope is an event's payload with its author's signature, over those bytes exactly as sent.

An event is verified against its own author, whoever relayed it; so gossip, sync and disk share one way in.
"""

import functools
import hashlib
import hmac
from collections.abc import Sequence
from typing import Protocol

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from swarmd.events.codec import decode, encode
from swarmd.events.kinds import Known, Unknown
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.ids import EventId, PeerId, event_id, peer_id, public_key


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """Bytes as they travel and as they lie on disk: a msgpack array of payload and signature."""

    payload: bytes
    signature: bytes

    @property
    def id(self) -> EventId:
        """SHA-256 of the payload."""
        return event_id(self.payload)

    @property
    def size(self) -> int:
        """Bytes of payload and signature."""
        return len(self.payload) + len(self.signature)


class Opened(msgspec.Struct, frozen=True):
    """A verified event with the envelope it came in."""

    id: EventId
    event: Known | Unknown
    envelope: Envelope


class Swarm(msgspec.Struct, frozen=True):
    """What the members of one swarm share: its id, which separates signatures and topics, and its secret key.

    The id is made from the first key the swarm ever had, and stays when the key is changed. *older*: keys that open
    links as well, newest first, while a change lasts. *retired*: keys that open nothing any more, but still show that
    who joined under them was a member.
    """

    id: str
    key: bytes
    older: tuple[bytes, ...] = ()
    retired: tuple[bytes, ...] = ()

    @property
    def keys(self) -> tuple[bytes, ...]:
        """All keys that open a link, newest first."""
        return (self.key, *self.older)

    def proof(self, peer: PeerId) -> bytes:
        """What only a holder of the swarm key can say of *peer*: HMAC-SHA256 of its id (RFC 2104)."""
        return self._proof(self.key, peer)

    def admits(self, peer: PeerId, proof: bytes) -> bool:
        """Whether *proof* shows that *peer* holds a key of the swarm, or did."""
        return any(hmac.compare_digest(self._proof(key, peer), proof) for key in (*self.keys, *self.retired))

    def _proof(self, key: bytes, peer: PeerId) -> bytes:
        return hmac.digest(key, f"swarmd/member/1 {self.id} {peer}".encode(), "sha256")

    @staticmethod
    def of_key(key: bytes) -> "Swarm":
        """The swarm of a 32-byte key; its id is a digest that does not give the key away."""
        return Swarm.of_keys((key,))

    @staticmethod
    def of_keys(keys: Sequence[bytes], retired: Sequence[bytes] = ()) -> "Swarm":
        """The swarm whose key was changed: *keys* that open links, then *retired* ones, each newest first."""
        first = (*keys, *retired)[-1]
        identifier = hashlib.sha256(b"swarmd/swarm/1 " + first).hexdigest()[:32]
        return Swarm(id=identifier, key=keys[0], older=tuple(keys[1:]), retired=tuple(retired))


class Signer(Protocol):
    """Whoever can sign as this peer."""

    @property
    def peer(self) -> PeerId:
        """The author of what it signs."""

    def sign(self, message: bytes) -> bytes:
        """A 64-byte Ed25519 signature (RFC 8032)."""


class Identity:
    """A peer's own Ed25519 key: the same that libp2p knows it by."""

    def __init__(self, seed: bytes) -> None:
        """*seed*: 32 secret bytes."""
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.seed = seed
        self.peer = peer_id(self._key.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        """A 64-byte Ed25519 signature of *message*."""
        return self._key.sign(message)


def seal(event: Known, signer: Signer, swarm: Swarm) -> Envelope:
    """The signed envelope of a new event of ours. Its author must be the signer; raises ValueError if it is too
    large."""
    assert event.author == signer.peer
    payload = encode(event)
    envelope = Envelope(payload, signer.sign(_signed(swarm.id, payload)))
    if envelope.size > limits.ENVELOPE_BYTES_MAX:
        raise ValueError(f"event of {envelope.size} bytes is over the limit of {limits.ENVELOPE_BYTES_MAX}")
    return envelope


def open_envelope(envelope: Envelope, swarm: Swarm) -> Opened:
    """The verified event inside. Raises RemoteFault if it is too large, malformed, or not signed by its author."""
    if envelope.size > limits.ENVELOPE_BYTES_MAX:
        raise RemoteFault("event is too large")
    event = decode(envelope.payload)
    try:
        _verifier(event.author).verify(envelope.signature, _signed(swarm.id, envelope.payload))
    except (InvalidSignature, ValueError) as error:
        raise RemoteFault("event is not signed by its author") from error
    return Opened(envelope.id, event, envelope)


@functools.lru_cache(maxsize=4 * limits.PEERS_MAX)  # reading a key out of an id takes as long as a signature
def _verifier(author: PeerId) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(public_key(author))


def _signed(swarm_id: str, payload: bytes) -> bytes:
    return b"swarmd/event/1\0" + swarm_id.encode() + b"\0" + payload
