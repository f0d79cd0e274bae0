"""The set grows, counts each event once, and its fingerprints stand for what is in it."""

import random

import pytest

from swarmd.gossip.eventset import EMPTY, EventSet, Group
from swarmd.gossip.frames import FIRST, Bound
from swarmd.vocab import hlc
from swarmd.vocab.ids import EventId
from tests.household import PEERS, Household, history, member, unknown


def holding(seed: int) -> EventSet:
    events = EventSet()
    for opened in history(random.Random(seed)):
        events.add(opened)
    return events


def test_an_event_is_new_once() -> None:
    events = EventSet()
    assert events.add(member(PEERS[0]))
    assert not events.add(member(PEERS[0]))
    assert len(events) == 1
    assert member(PEERS[0]).id in events
    assert [opened.id for opened in events] == [member(PEERS[0]).id]


def test_an_event_that_is_not_there_has_no_envelope() -> None:
    with pytest.raises(KeyError):
        EventSet().envelope(member(PEERS[0]).id)


def test_the_newest_come_first_whatever_their_goal() -> None:
    events = holding(4)
    assert len(events.groups) > 1
    expected = sorted(events, key=lambda opened: (opened.event.hlc, opened.id), reverse=True)
    assert list(events.newest_first()) == expected


def test_the_fingerprint_depends_on_the_set_alone() -> None:
    some = history(random.Random(1))
    one, other = EventSet(), EventSet()
    for opened in some:
        one.add(opened)
    for opened in reversed(some):
        other.add(opened)
    assert one.fingerprint() == other.fingerprint()
    assert EventSet().fingerprint() == EMPTY
    other.add(member(PEERS[0], 5, "x"))
    assert one.fingerprint() != other.fingerprint()


def test_events_reconcile_in_the_group_of_their_goal_and_memberships_in_that_of_the_swarm() -> None:
    home = Household(PEERS[:1])
    goal = home.goal(PEERS[0], PEERS[:1])
    home.claim(PEERS[0], goal, goal, 5)
    events = EventSet()
    for opened in (*home.said, unknown(PEERS[0], 3, goal), unknown(PEERS[0], 4)):
        events.add(opened)
    assert {name: len(group.keys) for name, group in events.groups.items()} == {"": 2, goal: 3}


def test_a_range_holds_the_events_from_its_lower_up_to_its_upper_bound() -> None:
    group = Group()
    ids = [EventId(f"{n:064x}") for n in range(6)]
    for n, identifier in enumerate(ids):
        group.add(n // 2, identifier)
    assert group.ids(*group.span(FIRST, Bound(hlc.HLC_MAX))) == ids
    assert group.ids(*group.span(Bound(1), Bound(2))) == ids[2:4]
    assert group.ids(*group.span(Bound(1, ids[3]), Bound(2))) == ids[3:4]
    assert group.span(Bound(2), Bound(1)) == (4, 4), "an upside-down range is empty"


def test_the_bound_of_a_position_parts_it_from_the_one_before() -> None:
    for seed in range(5):
        for group in holding(seed).groups.values():
            for position in range(len(group.keys)):
                bound = group.bound(position)
                assert group.span(FIRST, bound) == (0, position)


def test_the_fingerprint_of_a_part_is_that_of_a_set_with_just_those_events() -> None:
    group = max(holding(2).groups.values(), key=lambda g: len(g.keys))
    part = Group()
    for key in group.keys[3:9]:
        part.add(*key)
    assert group.fingerprint(3, 9) == part.fingerprint(0, 6)
    assert group.fingerprint(2, 2) == EMPTY
