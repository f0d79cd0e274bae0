"""Whatever bytes arrive, the word is either understood exactly or refused as a remote fault."""

import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from swarmd.events.codec import SWARM, decode, encode, group
from swarmd.events.envelope import Envelope, Identity, Swarm, open_envelope, seal
from swarmd.events.kinds import (
    Amend,
    Approval,
    Cancel,
    Claim,
    Event,
    Goal,
    Known,
    Limits,
    Member,
    Nomination,
    Policy,
    Promise,
    Proposal,
    Result,
    Score,
    Subgoal,
    Unknown,
    Usage,
    Vote,
)
from swarmd.gossip import frames
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.hlc import HLC_MAX
from swarmd.vocab.text import clean

SWARM_OF_TESTS = Swarm.of_key(bytes(32))
IDENTITIES = {identity.peer: identity for identity in (Identity(bytes([number] * 32)) for number in range(5))}

peers = st.sampled_from(sorted(IDENTITIES))
digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
stamps = st.integers(0, HLC_MAX)
marks = st.floats(0, 1)
ballots = st.integers(0, limits.BALLOT_MAX)
attempts = st.integers(1, limits.ATTEMPT_MAX)
leases = st.integers(1_000, 3_600_000)
electorates = st.lists(peers, max_size=5, unique=True).map(tuple)


def line(bytes_max: int) -> st.SearchStrategy[str]:
    return st.text(max_size=bytes_max // 4).map(lambda text: clean(text, bytes_max))


def page(bytes_max: int) -> st.SearchStrategy[str]:
    return st.text(max_size=200).map(lambda text: clean(text, bytes_max, lines=True))


subgoals = st.builds(
    Subgoal,
    title=line(limits.TITLE_BYTES_MAX).filter(bool),
    detail=page(limits.DETAIL_BYTES_MAX),
    leaf=st.booleans(),
    after=st.lists(st.integers(0, limits.CHILDREN_MAX - 1), max_size=limits.CHILDREN_MAX).map(tuple),
)
approvals = st.builds(Approval, ballot=ballots, proposal=digests)
models = line(limits.MODEL_BYTES_MAX)


def fact(kind: type[Known], **of_kind: st.SearchStrategy[Any]) -> st.SearchStrategy[Known]:
    if "goal" in kind.__struct_fields__:
        of_kind["goal"] = digests
    return st.builds(kind, author=peers, hlc=stamps, **of_kind)


FACTS: dict[type[Known], st.SearchStrategy[Known]] = {
    Member: fact(Member, peer=peers, name=line(limits.NAME_BYTES_MAX), proof=st.binary(min_size=32, max_size=32)),
    Goal: fact(
        Goal,
        text=page(limits.GOAL_BYTES_MAX).filter(bool),
        electorate=electorates,
        quorum=st.integers(0, limits.ELECTORATE_MAX),
        limits=st.builds(Limits, depth=st.integers(0, 8), children=st.integers(1, 12), tasks=st.integers(1, 2_000)),
        policy=st.builds(
            Policy,
            threshold=marks,
            polish=st.integers(0, 5),
            strict=st.booleans(),
            attempts=st.integers(1, 20),
            lease_ms=leases,
        ),
    ),
    Proposal: fact(
        Proposal,
        task=digests,
        strategy=line(limits.STRATEGY_BYTES_MAX),
        subgoals=st.lists(subgoals, max_size=4).map(tuple),
        refines=st.none() | digests,
        model=models,
    ),
    Score: fact(
        Score,
        task=digests,
        proposal=digests,
        specific=marks,
        disjoint=marks,
        covering=marks,
        critique=line(limits.CRITIQUE_BYTES_MAX),
        model=models,
    ),
    Promise: fact(
        Promise,
        task=digests,
        ballot=st.integers(1, limits.BALLOT_MAX),
        approvals=st.lists(approvals, max_size=4).map(tuple),
    ),
    Nomination: fact(
        Nomination, task=digests, ballot=ballots, proposal=digests, promises=st.lists(digests, max_size=4).map(tuple)
    ),
    Vote: fact(Vote, task=digests, ballot=ballots, proposal=digests, approve=st.booleans()),
    Claim: fact(Claim, task=digests, attempt=attempts, lease_ms=leases),
    Result: fact(
        Result,
        task=digests,
        attempt=attempts,
        claim=digests,
        status=st.sampled_from(["done", "failed"]),
        text=page(limits.RESULT_BYTES_MAX),
        model=models,
        usage=st.builds(Usage, tokens=st.integers(0, 2**40), ms=st.integers(0, 2**40)),
    ),
    Cancel: fact(Cancel, reason=line(limits.REASON_BYTES_MAX)),
    Amend: fact(Amend, electorate=electorates, quorum=st.integers(1, limits.ELECTORATE_MAX), forced=st.booleans()),
}
facts = st.one_of(*FACTS.values())

DECODERS: dict[str, Callable[[bytes], object]] = {
    "event": decode,
    "presence": frames.decode_presence,
    "live": frames.decode_live,
    "frame": frames.decode_frame,
    "batch": frames.decode_batch,
}
every_decoder = pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS.keys())

presences = st.builds(
    frames.Presence,
    name=line(limits.NAME_BYTES_MAX),
    roles=st.lists(line(20), max_size=3).map(tuple),
    model=models,
    slots=st.integers(0, 1_024),
    running=st.integers(0, 1_024),
    version=line(20),
    wall_ms=st.integers(0, 2**48),
    hlc=stamps,
    fingerprint=st.binary(min_size=16, max_size=16),
    count=st.integers(0, 2**40),
    run=st.binary(min_size=16, max_size=16),
    leaving=st.booleans(),
)
lives = st.builds(
    frames.Live,
    goal=digests,
    task=digests,
    claim=digests,
    offset=st.integers(0, 2**40),
    text=page(limits.LIVE_BYTES_MAX),
)
ids16 = st.binary(min_size=16, max_size=16)
bounds = st.builds(frames.Bound, hlc=stamps, prefix=st.text("0123456789abcdef", max_size=65))
envelopes = st.builds(Envelope, payload=st.binary(max_size=100), signature=st.binary(max_size=64))
groups = st.just(SWARM) | digests
frames_of_sync = st.one_of(
    st.builds(
        frames.Summary,
        groups=st.lists(
            st.builds(frames.GroupSummary, group=groups, count=st.integers(0, 2**40), fingerprint=ids16), max_size=3
        ).map(tuple),
        horizon=stamps,
    ),
    st.builds(
        frames.Ranges,
        group=groups,
        ranges=st.lists(
            st.builds(
                frames.Range,
                lower=bounds,
                upper=bounds,
                fingerprint=st.none() | ids16,
                ids=st.lists(ids16, max_size=3).map(tuple),
            ),
            max_size=3,
        ).map(tuple),
    ),
    st.builds(frames.Pull, group=groups, lower=bounds, upper=bounds),
    st.builds(frames.Want, group=groups, ids=st.lists(ids16, max_size=3).map(tuple)),
    st.builds(frames.Give, envelopes=st.lists(envelopes, max_size=3).map(tuple), more=st.booleans()),
    st.just(frames.Done()),
)

# whatever msgpack can say
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats()
leaves = st.none() | st.booleans() | numbers | st.text(max_size=8) | st.binary(max_size=40)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
FIELDS = sorted({field for kind in (*FACTS, frames.Presence, frames.Live) for field in kind.__struct_fields__})
TAGS = [kind.__struct_config__.tag for kind in FACTS]


def contained(decoder: Callable[[bytes], object], data: bytes) -> None:
    try:
        decoder(data)
    except RemoteFault as fault:
        str(fault).encode()


def test_there_is_an_example_of_every_kind() -> None:
    assert set(FACTS) == set(Known.__args__)


@pytest.mark.parametrize("kind", FACTS, ids=lambda kind: kind.__name__)
@settings(max_examples=40)
@given(data=st.data())
def test_every_kind_of_event_comes_back_as_it_went(kind: type[Known], data: st.DataObject) -> None:
    event = data.draw(FACTS[kind])
    payload = encode(event)
    assert decode(payload) == event
    assert encode(event) == payload, "one fact, one payload"
    identifier = Envelope(payload, b"").id
    assert group(identifier, event) == getattr(event, "goal", identifier if kind is Goal else SWARM)


@given(facts, st.integers(0), st.integers(0, 7), st.booleans())
def test_one_flipped_bit_anywhere_is_a_remote_fault(event: Known, place: int, bit: int, in_signature: bool) -> None:
    envelope = seal(event, IDENTITIES[event.author], SWARM_OF_TESTS)
    assert open_envelope(envelope, SWARM_OF_TESTS).event == event
    payload, signature = bytearray(envelope.payload), bytearray(envelope.signature)
    part = signature if in_signature else payload
    part[place % len(part)] ^= 1 << bit
    with pytest.raises(RemoteFault):
        open_envelope(Envelope(bytes(payload), bytes(signature)), SWARM_OF_TESTS)


@given(facts)
def test_another_swarm_s_event_is_a_remote_fault(event: Known) -> None:
    envelope = seal(event, IDENTITIES[event.author], Swarm.of_key(b"1" * 32))
    with pytest.raises(RemoteFault):
        open_envelope(envelope, SWARM_OF_TESTS)


@given(facts)
def test_an_event_signed_by_another_peer_is_a_remote_fault(event: Known) -> None:
    envelope = seal(event, IDENTITIES[event.author], SWARM_OF_TESTS)
    forged = msgspec.structs.replace(event, author=next(peer for peer in sorted(IDENTITIES) if peer != event.author))
    with pytest.raises(RemoteFault):
        open_envelope(Envelope(encode(forged), envelope.signature), SWARM_OF_TESTS)


@given(presences)
def test_presence_comes_back_as_it_went(presence: frames.Presence) -> None:
    assert frames.decode_presence(frames.encode(presence)) == presence


@given(lives)
def test_live_text_comes_back_as_it_went(live: frames.Live) -> None:
    assert frames.decode_live(frames.encode(live)) == live


@given(frames_of_sync)
def test_frames_come_back_as_they_went(frame: frames.Frame) -> None:
    assert frames.decode_frame(frames.encode(frame)) == frame


@given(st.lists(envelopes, max_size=4).map(tuple))
def test_a_batch_comes_back_as_it_went(batch: tuple[Envelope, ...]) -> None:
    assert frames.decode_batch(frames.encode(batch)) == batch


@every_decoder
@given(data=st.binary(max_size=300))
@example(data=b"")
@example(data=b"\x91" * 200_000)  # arrays in arrays in arrays
@example(data=b"\x81\xa1a" * 80_000)  # maps in maps
@example(data=b"\x85\xa4kind" + b"\x91" * 200_000)
@example(data=b"\xdd\xff\xff\xff\xff")  # an array of 4 billion, which does not follow
@example(data=b"\xdf\xff\xff\xff\xff")
@example(data=b"\xc6\xff\xff\xff\xff")
@example(data=bytes(600_000))
def test_any_bytes_are_contained(decoder: Callable[[bytes], object], data: bytes) -> None:
    contained(decoder, data)


@every_decoder
@given(value=values)
def test_any_msgpack_value_is_contained(decoder: Callable[[bytes], object], value: object) -> None:
    contained(decoder, msgspec.msgpack.encode(value))


@every_decoder
@given(
    value=st.dictionaries(st.sampled_from(FIELDS), values | digests | peers, max_size=12),
    tag=st.sampled_from([*TAGS, "vote/2"]),
)
def test_any_value_in_a_known_field_is_contained(
    decoder: Callable[[bytes], object], value: dict[str, object], tag: str
) -> None:
    contained(decoder, msgspec.msgpack.encode({**value, "kind": tag}))


@given(facts, st.integers(0), st.binary(max_size=8), st.integers(0, 8))
def test_any_damage_to_a_payload_is_contained(event: Known, place: int, patch: bytes, lost: int) -> None:
    payload = encode(event)
    place %= len(payload)
    contained(decode, payload[:place] + patch + payload[place + lost :])


@given(facts)
def test_fields_of_later_versions_are_passed_over(event: Known) -> None:
    raw = msgspec.msgpack.decode(encode(event))
    assert decode(msgspec.msgpack.encode({"colour": [1], **raw, "weight": {"a": None}})) == event


@given(facts, st.sampled_from(["\x1b[2J", "\x00", "\u202e", "\x9b", "\u2028", "\x07"]))
def test_an_event_that_could_drive_a_terminal_is_a_remote_fault(event: Known, poison: str) -> None:
    raw = msgspec.msgpack.decode(encode(event))
    for field in ("text", "strategy", "critique", "model", "name", "reason"):
        if field in raw:
            with pytest.raises(RemoteFault):
                decode(msgspec.msgpack.encode({**raw, field: f"a{poison}b"}))
    for subgoal in raw.get("subgoals", ()):
        for field in ("title", "detail"):
            poisoned = {**raw, "subgoals": [{**subgoal, field: f"a{poison}b"}]}
            with pytest.raises(RemoteFault):
                decode(msgspec.msgpack.encode(poisoned))


@given(facts)
def test_text_that_is_no_utf_8_is_a_remote_fault(event: Known) -> None:
    payload = msgspec.msgpack.encode({**msgspec.msgpack.decode(encode(event)), "later": "???"})
    for wrong in (b"\xed\xa0\x80", b"\xc0\x80a", b"\xff\xfea"):
        contained(decode, payload.replace(b"???", wrong))
        with pytest.raises(RemoteFault):
            decode(payload.replace(b"\xa4kind", b"\xa4" + wrong + b"x"))


@given(
    kind=st.text(max_size=20).filter(lambda kind: kind not in TAGS),
    author=peers,
    stamp=stamps,
    goal=st.none() | digests,
    more=st.dictionaries(st.sampled_from(["task", "x", "text"]), values, max_size=3),
)
def test_an_unknown_kind_is_kept_with_its_group(
    kind: str, author: str, stamp: int, goal: str | None, more: dict[str, object]
) -> None:
    raw = {"kind": kind, "author": author, "hlc": stamp, **more} | ({"goal": goal} if goal else {})
    payload = msgspec.msgpack.encode(raw)
    envelope = Envelope(payload, b"")
    event = decode(payload)
    assert event == Unknown(author=author, hlc=stamp, goal=goal or SWARM)  # type: ignore[arg-type]
    assert group(envelope.id, event) == (goal or SWARM)


@given(author=st.text(max_size=60) | peers, stamp=st.integers(-(2**63), 2**64 - 1), goal=st.text(max_size=70) | digests)
def test_an_unknown_kind_with_a_malformed_header_is_a_remote_fault(author: str, stamp: int, goal: str) -> None:
    payload = msgspec.msgpack.encode({"kind": "wish/7", "author": author, "hlc": stamp, "goal": goal})
    well_formed = author in IDENTITIES and 0 <= stamp <= HLC_MAX and (goal == SWARM or len(goal) == 64)
    try:
        event: Event = decode(payload)
    except RemoteFault:
        assert not well_formed
    else:
        assert (event.author, event.hlc) == (author, stamp)


@every_decoder
@pytest.mark.parametrize("brackets", [b"\x91", b"\x81\xa1a"], ids=["arrays", "maps"])
@pytest.mark.parametrize("depth", [10, 1_000, 80_000])
def test_a_nesting_bomb_in_a_field_is_contained(
    decoder: Callable[[bytes], object], brackets: bytes, depth: int
) -> None:
    for field in ("subgoals", "later", "groups", "roles"):
        name = field.encode()
        head = b"\x83\xa4kind\xa6vote/1\xa1b\x01" + bytes([0xA0 + len(name)]) + name
        contained(decoder, head + brackets * depth + b"\x01")


@pytest.mark.parametrize("digit", ["1", "z", "é", "0"])
def test_an_endless_peer_id_is_refused_without_work(digit: str) -> None:
    payload = msgspec.msgpack.encode({"kind": "wish/7", "author": digit * 200_000, "hlc": 1})
    started = time.process_time()
    with pytest.raises(RemoteFault):
        decode(payload)
    assert time.process_time() - started < 0.5


@given(facts)
def test_a_line_break_behind_an_id_is_a_remote_fault(event: Known) -> None:
    raw = msgspec.msgpack.decode(encode(event))
    for field in ("author", "peer", "goal", "task", "proposal", "claim", "refines"):
        if raw.get(field):
            with pytest.raises(RemoteFault):
                decode(msgspec.msgpack.encode({**raw, field: raw[field] + "\n"}))
    with pytest.raises(RemoteFault):
        decode(msgspec.msgpack.encode({"kind": "wish/7", "author": event.author + "\n", "hlc": 1}))
