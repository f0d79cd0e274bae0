"""One sync session to a peer, bounded in number, given up in silence."""

import random

import pytest

from swarmd.gossip.eventset import EventSet
from swarmd.gossip.frames import Done, Summary
from swarmd.gossip.reconcile import Initiator
from swarmd.replica.sessions import Sessions
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from tests.household import PEERS


def fresh() -> Sessions:
    return Sessions(random.Random(1))


def asking() -> Initiator:
    return Initiator(EventSet(), 0, silent=False)


def test_a_planned_session_comes_due_within_its_span_and_once() -> None:
    sessions = fresh()
    sessions.plan(PEERS[0], 100, 50)
    sessions.plan(PEERS[0], 100, 5_000)
    due = sessions.next_ms()
    assert due is not None
    assert 100 <= due <= 150
    assert sessions.ripe(due - 1) == []
    assert sessions.ripe(due) == [PEERS[0]]
    assert sessions.ripe(due) == []


def test_no_second_session_to_a_peer_is_planned_while_one_is_open() -> None:
    sessions = fresh()
    number = sessions.initiate(PEERS[0], asking(), 0)
    sessions.plan(PEERS[0], 0, 0)
    assert sessions.ripe(10) == []
    sessions.close(number)
    sessions.plan(PEERS[0], 0, 0)
    assert sessions.ripe(10) == [PEERS[0]]


def test_our_sessions_have_even_numbers() -> None:
    sessions = fresh()
    assert [sessions.initiate(peer, asking(), 0) % 2 for peer in PEERS[:3]] == [0, 0, 0]


def test_sessions_are_bounded_in_all_and_for_each_peer() -> None:
    sessions = fresh()
    accepted = [sessions.accept(2 * n + 1, PEERS[0], 0) for n in range(5)]
    assert accepted == [True, True, True, False, False]
    more = [sessions.accept(101 + 2 * n, PEERS[1 + n % 6], 0) for n in range(30)]
    assert sum(more) + 3 == limits.SESSIONS_MAX
    for peer in PEERS:
        sessions.plan(peer, 0, 0)
    assert sessions.ripe(10) == [], "no room for one of ours"


def test_a_silent_session_is_given_up_after_20_seconds() -> None:
    sessions = fresh()
    number = sessions.initiate(PEERS[0], asking(), 0)
    assert sessions.idle(20_000) == []
    assert sessions.idle(20_001) == [number]
    assert sessions.next_ms() == 20_001


def test_a_frame_on_a_session_that_is_not_open_is_their_fault() -> None:
    with pytest.raises(RemoteFault):
        fresh().hear(8, Done(), EventSet(), 0, 0)


def test_a_session_ends_when_both_are_level_and_counts_as_completed() -> None:
    sessions = fresh()
    number = sessions.initiate(PEERS[0], asking(), 0)
    assert sessions.hear(number, Summary(0), EventSet(), 0, 5) == (None, ())
    sessions.close(number, complete=True)
    assert (sessions.completed, sessions.tried) == (1, {PEERS[0]})
    sessions.lost(PEERS[0])
    assert sessions.tried == set()


def test_a_session_of_theirs_says_nothing_about_our_being_level() -> None:
    sessions = fresh()
    sessions.accept(1, PEERS[0], 0)
    assert isinstance(sessions.hear(1, Summary(0), EventSet(), 7, 0)[0], Summary)
    sessions.close(1, complete=True)
    assert (sessions.completed, sessions.tried) == (0, set())


def test_closing_twice_is_no_fault() -> None:
    assert fresh().close(4) is None
