"""Reconciliation against the plainest oracle there is: the difference of two sets."""

import random
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from swarmd.events.codec import encode
from swarmd.events.envelope import Envelope, Opened, open_envelope
from swarmd.events.kinds import Cancel
from swarmd.gossip import frames
from swarmd.gossip.eventset import EventSet
from swarmd.gossip.frames import Frame, Give
from swarmd.gossip.reconcile import Initiator, respond
from swarmd.vocab import hlc, limits
from tests.household import PEERS, SWARM, WALL_MS, member, unknown

HORIZON = hlc.at(WALL_MS + limits.DRIFT_MS_MAX)
GROUPS = [letter * 64 for letter in "abc"]
seeds = st.integers(0, 100_000).map(random.Random)


def event(number: int, at: int, group: str, bytes_more: int = 0) -> Opened:
    """An event with a payload of about 300 bytes; nobody looks at its signature here."""
    cancel = Cancel(author=PEERS[0], hlc=at, goal=group, reason=f"{number} ".ljust(150 + bytes_more, "."))  # type: ignore[arg-type]
    envelope = Envelope(encode(cancel), bytes(64))
    return Opened(envelope.id, cancel, envelope)


# several groups of very different sizes; stamps that many events share; some far in the future
POOL = [
    event(n, hlc.at(WALL_MS + n // 7 * (n % 3) + (2 * limits.DRIFT_MS_MAX if n % 50 == 49 else 0)), group)
    for group, count in zip(GROUPS, (900, 60, 3), strict=True)
    for n in range(count)
]
BY_ENVELOPE = {opened.envelope: opened for opened in POOL}


@dataclass
class Talk:
    """A sync session between two sets. *down*, *up*: bytes of the frames to and from the initiator."""

    ours: EventSet
    theirs: EventSet
    horizon: int = HORIZON
    their_horizon: int = HORIZON
    silent: bool = False
    down: int = 0
    up: int = 0
    frames: int = 0
    brought: list[Envelope] = field(default_factory=list)
    given: list[Envelope] = field(default_factory=list)

    def run(self, frames_max: int = 2_000, between: "list[Opened] | None" = None) -> bool:
        """Talk until level, or until the stream breaks after *frames_max* questions; whether level. *between*: events
        that the initiator hears from others meanwhile, one after each answer."""
        initiator = Initiator(self.ours, self.horizon, silent=self.silent)
        question: Frame | None = initiator.start()
        for _ in range(frames_max):
            assert question is not None
            data = frames.encode(question)
            self.up += len(data)
            assert len(data) <= limits.FRAME_BYTES_MAX
            answer, given = respond(self.theirs, frames.decode_frame(data), self.their_horizon)
            take(self.theirs, given, self.their_horizon)
            self.given += given
            data = frames.encode(answer)
            self.down += len(data)
            assert len(data) <= limits.FRAME_BYTES_MAX
            self.frames += 1
            question, brought = initiator.step(frames.decode_frame(data))
            self.brought += brought
            take(self.ours, brought, self.horizon)
            if between:
                self.ours.add(between.pop())
            if question is None:
                return True
        return False


def take(events: EventSet, envelopes: "tuple[Envelope, ...]", horizon: int) -> None:
    for envelope in envelopes:
        opened = BY_ENVELOPE.get(envelope) or open_envelope(envelope, SWARM)
        if opened.event.hlc <= horizon:
            events.add(opened)


def holding(events: "list[Opened] | set[Opened]") -> EventSet:
    held = EventSet()
    for opened in events:
        held.add(opened)
    return held


def ids(events: EventSet) -> set[str]:
    return {opened.id for opened in events}


def two_sets(rng: random.Random) -> tuple[list[Opened], list[Opened]]:
    """Any relation there is: disjoint, nested, nearly equal, empty."""
    ours, theirs = rng.choice((0, 0.02, 0.5, 0.98, 1)), rng.choice((0, 0.02, 0.5, 0.98, 1))
    pool = POOL if rng.random() < 0.5 else rng.sample(POOL, 60)
    return [o for o in pool if rng.random() < ours], [o for o in pool if rng.random() < theirs]


def up_to(events: list[Opened], horizon: int) -> set[str]:
    return {opened.id for opened in events if opened.event.hlc <= horizon}


@given(seeds)
@settings(max_examples=80)
def test_any_two_sets_end_with_their_union_and_nothing_travels_that_was_there(rng: random.Random) -> None:
    left, right = two_sets(rng)
    talk = Talk(holding(left), holding(right))
    assert talk.run()
    ours, theirs = {o.id for o in left}, {o.id for o in right}
    assert ids(talk.ours) == ours | up_to(right, HORIZON)
    assert ids(talk.theirs) == theirs | up_to(left, HORIZON)
    assert sorted(e.id for e in talk.brought) == sorted(up_to(right, HORIZON) - ours)
    assert sorted(e.id for e in talk.given) == sorted(up_to(left, HORIZON) - theirs)
    difference = len(talk.brought) + len(talk.given)
    moved = sum(e.size for e in (*talk.brought, *talk.given))
    # each difference may cost a path of three levels, 16 fingerprints of 40 bytes each; groups cost a line
    assert talk.up + talk.down <= 1.15 * moved + 2_500 + 700 * min(difference, 120) * 2


@given(seeds)
@settings(max_examples=30)
def test_level_sets_part_after_one_question(rng: random.Random) -> None:
    some, _ = two_sets(rng)
    some = [opened for opened in some if opened.event.hlc <= HORIZON]
    talk = Talk(holding(some), holding(some[::-1]))
    assert talk.run()
    assert talk.frames == 1
    assert talk.ours.fingerprint() == talk.theirs.fingerprint()
    assert talk.up + talk.down < 500


@given(seeds, st.integers(0, 600))
@settings(max_examples=20)
def test_a_late_joiner_moves_little_more_than_the_bytes_it_lacked(rng: random.Random, at_least: int) -> None:
    lacked = rng.sample(POOL, 60 + at_least)
    talk = Talk(holding([]), holding(lacked))
    assert talk.run()
    assert len(talk.ours) == len(up_to(lacked, HORIZON))
    assert talk.up + talk.down <= 1.15 * sum(e.size for e in talk.brought) + 1_000


@given(seeds)
@settings(max_examples=30)
def test_an_observer_gives_nothing(rng: random.Random) -> None:
    left, right = two_sets(rng)
    talk = Talk(holding(left), holding(right), silent=True)
    assert talk.run()
    assert not talk.given
    assert ids(talk.theirs) == {o.id for o in right}
    assert ids(talk.ours) == {o.id for o in left} | up_to(right, HORIZON)


@given(seeds)
@settings(max_examples=30)
def test_what_lies_beyond_either_horizon_stays_where_it_is(rng: random.Random) -> None:
    left, right = two_sets(rng)
    near, far = hlc.at(WALL_MS + 120), hlc.at(WALL_MS + 3 * limits.DRIFT_MS_MAX)
    horizon, their_horizon = rng.choice(((near, far), (far, near), (near, near), (far, far)))
    talk = Talk(holding(left), holding(right), horizon, their_horizon)
    assert talk.run()
    both = min(horizon, their_horizon)
    assert ids(talk.ours) == {o.id for o in left} | up_to(right, both)
    assert ids(talk.theirs) == {o.id for o in right} | up_to(left, both)


@given(seeds)
@settings(max_examples=30)
def test_broken_sessions_go_on_where_the_sets_have_got_to(rng: random.Random) -> None:
    left, right = two_sets(rng)
    talk = Talk(holding(left), holding(right))
    lengths = [rng.randint(1, 4) for _ in range(8)]
    if not any(talk.run(length) for length in lengths):
        assert talk.run()
    assert up_to(list(talk.ours), HORIZON) == up_to(left, HORIZON) | up_to(right, HORIZON)
    assert up_to(list(talk.theirs), HORIZON) == up_to(left, HORIZON) | up_to(right, HORIZON)
    assert len({e.id for e in talk.brought}) == len(talk.brought), "nothing is brought a second time"


@given(seeds)
@settings(max_examples=30)
def test_events_that_come_from_others_meanwhile_do_no_harm(rng: random.Random) -> None:
    left, right = two_sets(rng)
    between = rng.sample(POOL, 40)
    heard = list(between)
    talk = Talk(holding(left), holding(right))
    assert talk.run(between=between)
    heard = [opened for opened in heard if opened not in between]
    assert ids(talk.ours) == {o.id for o in (*left, *heard)} | up_to(right, HORIZON)
    assert ids(talk.theirs) >= {o.id for o in right} | up_to(left, HORIZON)
    assert ids(talk.theirs) <= ids(talk.ours) | {o.id for o in right}
    assert talk.run(), "and the next session makes them level"
    assert up_to(list(talk.ours), HORIZON) == up_to(list(talk.theirs), HORIZON)


def test_events_of_the_largest_size_and_of_unknown_kinds_pass() -> None:
    overhead = unknown(PEERS[0], hlc.at(WALL_MS)).envelope.size + 4  # a long string has a longer header
    large = [
        unknown(PEERS[0], hlc.at(WALL_MS + n), filling=str(n) * (limits.ENVELOPE_BYTES_MAX - overhead - less))
        for n, less in enumerate((17, 0, 80, 1, 0, 40, 0))
    ]
    assert max(o.envelope.size for o in large) == limits.ENVELOPE_BYTES_MAX
    for ours, theirs in (([], large), (large, []), (large[:3], large[2:])):
        talk = Talk(holding([member(PEERS[0]), *ours]), holding(theirs))
        assert talk.run()
        assert ids(talk.ours) == ids(talk.theirs) == {o.id for o in (*large, member(PEERS[0]))}


def test_a_stamp_that_many_events_share_is_brought_whole_by_one_session_however_many_frames_it_takes() -> None:
    chorus = [event(n, hlc.at(WALL_MS), GROUPS[0], bytes_more=800) for n in range(600)]
    BY_ENVELOPE.update({opened.envelope: opened for opened in chorus})
    assert sum(opened.envelope.size for opened in chorus) > limits.FRAME_BYTES_MAX
    talk = Talk(holding([]), holding(chorus))
    assert talk.run()
    assert talk.frames > 3
    assert ids(talk.ours) == ids(talk.theirs)


def test_a_give_holds_many_small_events() -> None:
    lacked = [opened for opened in POOL if opened.event.hlc <= HORIZON]
    talk = Talk(holding([]), holding(lacked))
    assert talk.run()
    assert talk.frames <= 2 + len(GROUPS) + sum(e.size for e in talk.brought) // (limits.ENVELOPE_BYTES_MAX // 2)
    assert isinstance(respond(talk.theirs, Give(()), HORIZON)[0], frames.Done)
