"""What passes between peers beside events: presence, running text, and the frames of a sync stream. All msgpack.

Presence and live text are ephemeral: never stored, never folded. A sync stream is one initiator and one responder; each
frame answers the one before, so neither side ever holds more than one frame of the other.
"""

from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from swarmd.events.envelope import Envelope
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.hlc import HLC_MAX
from swarmd.vocab.ids import EventId
from swarmd.vocab.text import is_safe

_Bytes16: TypeAlias = Annotated[bytes, Meta(min_length=16, max_length=16)]
_Short: TypeAlias = Annotated[str, Meta(max_length=limits.MODEL_BYTES_MAX)]
_Stamp: TypeAlias = Annotated[int, Meta(ge=0, le=HLC_MAX)]
_T = TypeVar("_T")
_Group: TypeAlias = Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?\Z")]


class Presence(Struct, frozen=True, kw_only=True):
    """One peer's word that it lives. *fingerprint*: of its whole event set. *wall_ms*: its own clock, Unix time.
    *running*: model requests under way; *slots*: how many it can serve at once. *run*: random, new at every start.
    *tier*: what may be expected of the model (tiny, small, good); *tokens_per_s*: what it wrote in its self-test, 0 if
    it had none; *why*: this model was chosen, in words."""

    name: Annotated[str, Meta(max_length=limits.NAME_BYTES_MAX)]
    roles: Annotated[tuple[_Short, ...], Meta(max_length=8)]
    model: _Short = ""
    slots: Annotated[int, Meta(ge=0, le=1_024)] = 0
    running: Annotated[int, Meta(ge=0, le=1_024)] = 0
    version: _Short = ""
    wall_ms: Annotated[int, Meta(ge=0, le=HLC_MAX)]
    hlc: _Stamp
    fingerprint: _Bytes16
    count: Annotated[int, Meta(ge=0)] = 0
    run: _Bytes16
    leaving: bool = False
    tier: _Short = ""
    tokens_per_s: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    why: _Short = ""


class Live(Struct, frozen=True, kw_only=True):
    """A chunk of a running task's text, starting *offset* characters into it; empty to keep a quiet claim's lease."""

    goal: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    task: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    claim: Annotated[EventId, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    offset: Annotated[int, Meta(ge=0)]
    text: Annotated[str, Meta(max_length=limits.LIVE_BYTES_MAX)]


class Bound(Struct, frozen=True, array_like=True, order=True):
    """A place in a group's events, which lie in order of stamp, then id: before every event whose stamp is later, or
    equal with an id that sorts at or after *prefix*."""

    hlc: _Stamp
    prefix: Annotated[str, Meta(max_length=65, pattern=r"^[0-9a-f]*\Z")] = ""  # an id and one digit: just after it


FIRST = Bound(0)


class GroupSummary(Struct, frozen=True, array_like=True):
    """How many events one side has of a group, and their fingerprint."""

    group: _Group
    count: Annotated[int, Meta(ge=0)]
    fingerprint: _Bytes16


class Range(Struct, frozen=True, array_like=True):
    """The events of a group in [*lower*, *upper*): either their *fingerprint*, or the 16-byte beginnings of all their
    ids."""

    lower: Bound
    upper: Bound
    fingerprint: _Bytes16 | None = None
    ids: Annotated[tuple[_Bytes16, ...], Meta(max_length=limits.FRAME_IDS_MAX)] = ()


class Summary(Struct, frozen=True, tag="summary/1"):
    """First frame of both sides. The initiator's names no groups; the responder's lists all that it has. *horizon*:
    stamps beyond which this side takes nothing, since they are too far ahead of its clock."""

    horizon: _Stamp
    groups: Annotated[tuple[GroupSummary, ...], Meta(max_length=limits.FRAME_IDS_MAX)] = ()


class Ranges(Struct, frozen=True, tag="ranges/1"):
    """Ranges of one group. The initiator sends fingerprints; the responder says nothing of those that are equal, and
    of each other one either sends all ids or the fingerprints of its parts."""

    group: _Group
    ranges: Annotated[tuple[Range, ...], Meta(max_length=limits.RANGES_MAX)]


class Pull(Struct, frozen=True, tag="pull/1"):
    """Initiator: send me, of *group*, events in [*lower*, *upper*) as far as one frame holds."""

    group: _Group
    lower: Bound
    upper: Bound


class Want(Struct, frozen=True, tag="want/1"):
    """Initiator: send me these events, by 16-byte id prefix, as far as one frame holds."""

    group: _Group
    ids: Annotated[tuple[_Bytes16, ...], Meta(max_length=limits.FRAME_IDS_MAX)]


class Give(Struct, frozen=True, tag="give/1"):
    """Events. Answers `Pull` and `Want`; from the initiator, what the responder lacks. *more*: cut at the frame
    limit."""

    envelopes: tuple[Envelope, ...]
    more: bool = False


class Done(Struct, frozen=True, tag="done/1"):
    """The responder has taken in a `Give`."""


Frame: TypeAlias = Summary | Ranges | Pull | Want | Give | Done

_encoder = msgspec.msgpack.Encoder()
_presence = msgspec.msgpack.Decoder(Presence)
_live = msgspec.msgpack.Decoder(Live)
_frame = msgspec.msgpack.Decoder(Frame)
_batch = msgspec.msgpack.Decoder(tuple[Envelope, ...])


def encode(message: Presence | Live | Frame | tuple[Envelope, ...]) -> bytes:
    """The wire form of a message of ours. A tuple of envelopes is one message on the plan topic."""
    return _encoder.encode(message)


def decode_presence(data: bytes) -> Presence:
    """Raises RemoteFault if malformed."""
    presence = _decode(_presence, data, limits.PRESENCE_BYTES_MAX)
    said = (presence.name, presence.model, presence.version, presence.tier, presence.why, *presence.roles)
    if not all(map(is_safe, said)):
        raise RemoteFault("presence holds control characters")
    return presence


def decode_live(data: bytes) -> Live:
    """Raises RemoteFault if malformed."""
    live = _decode(_live, data, limits.LIVE_BYTES_MAX * 5)
    if not is_safe(live.text, lines=True):
        raise RemoteFault("live text holds control characters")
    return live


def decode_frame(data: bytes) -> Frame:
    """Raises RemoteFault if malformed."""
    return _decode(_frame, data, limits.FRAME_BYTES_MAX)


def decode_batch(data: bytes) -> tuple[Envelope, ...]:
    """The envelopes of one message on the plan topic. Raises RemoteFault if malformed."""
    return _decode(_batch, data, limits.ENVELOPE_BYTES_MAX * 2)


def _decode(decoder: "msgspec.msgpack.Decoder[_T]", data: bytes, bytes_max: int) -> _T:
    if len(data) > bytes_max:
        raise RemoteFault(f"message of {len(data)} bytes is over the limit of {bytes_max}")
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteFault(f"malformed message: {error}") from error
