"""The two sides of a sync session, and a responder that does not play fair."""

import pytest

from swarmd.events.envelope import Opened
from swarmd.gossip.eventset import EventSet
from swarmd.gossip.frames import FIRST, Bound, Done, Frame, Give, GroupSummary, Pull, Range, Ranges, Summary, Want
from swarmd.gossip.reconcile import Initiator, respond
from swarmd.vocab import hlc, limits
from swarmd.vocab.faults import RemoteFault
from tests.household import PEERS, WALL_MS, Household

HORIZON = hlc.at(WALL_MS + limits.DRIFT_MS_MAX)


def events(count: int) -> list[Opened]:
    home = Household(())
    goal = home.goal(PEERS[0], PEERS[:1])
    for number in range(count - 1):
        home.claim(PEERS[0], goal, goal, number)
    return home.said


def holding(some: list[Opened]) -> EventSet:
    held = EventSet()
    for opened in some:
        held.add(opened)
    return held


SOME = events(40)
GROUP = SOME[0].id


def asking(ours: list[Opened], theirs_count: int = 50) -> tuple[Initiator, Frame | None]:
    """An initiator that has heard that the other side has something else, and its first real question."""
    initiator = Initiator(holding(ours), HORIZON, silent=False)
    question, _ = initiator.step(Summary(HORIZON, (GroupSummary(GROUP, theirs_count, bytes(16)),)))
    return initiator, question


def test_the_first_frame_says_how_far_ahead_this_side_takes_stamps() -> None:
    assert Initiator(EventSet(), 5, silent=True).start() == Summary(5)


def test_level_peers_part_at_once() -> None:
    initiator = Initiator(holding(SOME), HORIZON, silent=False)
    answer, _ = respond(holding(SOME), initiator.start(), HORIZON)
    assert initiator.step(answer) == (None, ())


def test_who_has_nothing_pulls_everything_without_asking_for_ids() -> None:
    initiator, question = asking([])
    assert isinstance(question, Pull)
    answer, _ = respond(holding(SOME), question, HORIZON)
    following, brought = initiator.step(answer)
    assert {e.id for e in brought} == {o.id for o in SOME}
    assert following is None


def test_who_has_something_compares_fingerprints() -> None:
    _, question = asking(SOME[:10])
    assert isinstance(question, Ranges)
    assert len(question.ranges) == 1
    answer, _ = respond(holding(SOME), question, HORIZON)
    assert isinstance(answer, Ranges)
    assert all(part.fingerprint is not None for part in answer.ranges), "40 events are too many to list"
    assert answer.ranges[0].lower == FIRST
    assert all(a.upper == b.lower for a, b in zip(answer.ranges, answer.ranges[1:], strict=False))


def test_a_short_range_is_listed_by_ids() -> None:
    _, question = asking(SOME[:10])
    assert question is not None
    answer, _ = respond(holding(SOME[:20]), question, HORIZON)
    assert isinstance(answer, Ranges)
    assert [len(part.ids) for part in answer.ranges] == [20]


def test_a_group_that_the_other_side_lacks_is_given_unless_silent() -> None:
    for silent in (False, True):
        initiator = Initiator(holding(SOME), HORIZON, silent=silent)
        question, _ = initiator.step(Summary(HORIZON, ()))
        assert (question is None) if silent else isinstance(question, Give)


def test_a_gift_is_taken_in_and_acknowledged() -> None:
    assert respond(EventSet(), Give((SOME[0].envelope,)), HORIZON) == (Done(), (SOME[0].envelope,))


@pytest.mark.parametrize("frame", [Done(), Give(()), Ranges("", ()), Want("", ())])
def test_an_answer_that_does_not_fit_the_question_ends_the_session(frame: Frame) -> None:
    with pytest.raises(RemoteFault):
        Initiator(EventSet(), HORIZON, silent=False).step(frame)


def test_a_responder_is_not_told_what_it_did_not_ask() -> None:
    with pytest.raises(RemoteFault, match="must ask"):
        respond(EventSet(), Done(), HORIZON)


def test_an_answer_about_ranges_that_were_not_asked_about_ends_the_session() -> None:
    initiator, question = asking(SOME[:10])
    assert isinstance(question, Ranges)
    outside = Range(Bound(HORIZON + 1), Bound(HORIZON + 2), bytes(16))
    with pytest.raises(RemoteFault, match="not asked"):
        initiator.step(Ranges(GROUP, (outside,)))


def test_a_range_cut_into_itself_ends_the_session() -> None:
    initiator, question = asking(SOME[:10])
    assert isinstance(question, Ranges)
    asked = question.ranges[0]
    with pytest.raises(RemoteFault, match="into itself"):
        initiator.step(Ranges(GROUP, (Range(asked.lower, asked.upper, bytes(16)),)))


def test_ever_more_ranges_end_the_session_before_they_fill_the_memory() -> None:
    initiator, question = asking(SOME[:10])
    with pytest.raises(RemoteFault, match="more differences"):  # noqa: PT012 - which step it takes does not matter
        for _ in range(1_000):
            assert isinstance(question, Ranges)
            asked = question.ranges[0]
            inside = Range(Bound(asked.lower.hlc, asked.lower.prefix + "0"), asked.upper, bytes(16))
            question, _ = initiator.step(Ranges(GROUP, (inside,) * limits.RANGES_MAX))


def test_promising_more_and_giving_the_same_again_ends_the_session() -> None:
    initiator, question = asking([])
    assert isinstance(question, Pull)
    initiator.step(Give((SOME[5].envelope,), more=True))
    with pytest.raises(RemoteFault, match="the same again"):
        initiator.step(Give((SOME[5].envelope,), more=True))


def test_promising_more_and_giving_something_else_ends_the_session() -> None:
    initiator, question = asking(SOME[:10])
    assert isinstance(question, Ranges)
    asked = question.ranges[0]
    question, _ = initiator.step(Ranges(GROUP, (Range(asked.lower, asked.upper, None, (bytes(16),)),)))
    assert isinstance(question, Want)
    with pytest.raises(RemoteFault, match="gives none"):
        initiator.step(Give((SOME[20].envelope,), more=True))


def test_a_broken_session_starts_anew_and_brings_only_what_is_missing() -> None:
    ours = holding([])
    initiator = Initiator(ours, HORIZON, silent=False)
    answer, _ = respond(holding(SOME), initiator.start(), HORIZON)
    initiator.step(answer)  # … and the link breaks here
    for opened in SOME[:-1]:
        ours.add(opened)
    again = Initiator(ours, HORIZON, silent=False)
    question: Frame | None = again.start()
    brought: list[str] = []
    while question is not None:
        answer, _ = respond(holding(SOME), question, HORIZON)
        question, came = again.step(answer)
        for envelope in came:
            brought.append(envelope.id)
            ours.add(next(o for o in SOME if o.id == envelope.id))
    assert brought == [SOME[-1].id]
