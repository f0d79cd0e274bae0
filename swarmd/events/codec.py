"""Payload bytes to facts and back. Bytes are checked as they came and kept as they came: nothing is re-encoded."""

import msgspec

from swarmd.events.kinds import Event, Goal, Known, Member, Proposal, Result, Score, Subgoal, Unknown
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.hlc import HLC_MAX
from swarmd.vocab.ids import EventId, is_digest, public_key
from swarmd.vocab.text import is_safe

# "deterministic" sorts map keys of dicts; struct fields already have one order
_encoder = msgspec.msgpack.Encoder(order="deterministic")
_decoder = msgspec.msgpack.Decoder(Known)
_KNOWN_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in Known.__args__)

SWARM = ""  # the group of events that belong to no goal


class _Header(msgspec.Struct, frozen=True):
    kind: str
    author: str
    hlc: int
    goal: str = ""


_header_decoder = msgspec.msgpack.Decoder(_Header)


def encode(event: Known) -> bytes:
    """The payload of a new event of ours."""
    return _encoder.encode(event)


def decode(payload: bytes) -> Known | Unknown:
    """The fact that *payload* states, or `Unknown` for a kind or version that this peer does not know.

    Raises RemoteFault for anything malformed, out of range or unsafe to show.
    """
    try:
        header = _header_decoder.decode(payload)
        if header.kind not in _KNOWN_KINDS:
            return _unknown(header)
        event = _decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteFault(f"malformed event: {error}") from error
    _check_text(event)
    return event


def group(identifier: EventId, event: Event) -> str:
    """What an event reconciles with: its goal's id, or `SWARM`."""
    if isinstance(event, Goal):
        return identifier
    return getattr(event, "goal", SWARM)


def _unknown(header: _Header) -> Unknown:
    public_key(header.author)  # type: ignore[arg-type]
    if not 0 <= header.hlc <= HLC_MAX or not (header.goal == SWARM or is_digest(header.goal)):
        raise RemoteFault("unknown event with a malformed header")
    return Unknown(author=header.author, hlc=header.hlc, goal=header.goal)  # type: ignore[arg-type]


def _check_text(event: Known) -> None:
    texts: tuple[str, ...]
    long: tuple[str, ...]
    match event:
        case Goal():
            texts, long = (), (event.text,)
        case Proposal():
            texts, long = (event.strategy, event.model), ()
            for subgoal in event.subgoals:
                _check_subgoal(subgoal)
        case Score():
            texts, long = (event.critique, event.model, event.basis), ()
        case Result():
            texts, long = (event.model,), (event.text,)
        case Member():
            texts, long = (event.name,), ()
        case _:
            texts, long = (getattr(event, "reason", ""),), ()
    if not all(map(is_safe, texts)) or not all(is_safe(text, lines=True) for text in long):
        raise RemoteFault("event text holds control characters")
    if any(len(text.encode()) > limits.RESULT_BYTES_MAX for text in long):
        raise RemoteFault("event text is too long")


def _check_subgoal(subgoal: Subgoal) -> None:
    if not is_safe(subgoal.title) or not is_safe(subgoal.detail, lines=True) or not subgoal.title.strip():
        raise RemoteFault("subgoal text is empty or holds control characters")
