"""Parallel decomposers differ, polish what others wrote, and stop."""

import pytest

from swarmd.events.kinds import Limits, Policy
from swarmd.plan.plan import GoalPlan, fold
from swarmd.roles import decomposer
from swarmd.roles.decomposer import Draft, strategy, wanted
from swarmd.roles.scene import PROPOSERS_MAX, Scene, TaskClock, Timing, children_max, exhausted, fits, nominable, place
from swarmd.roles.strategies import STRATEGIES
from swarmd.vocab.ids import EventId, GoalId, TaskId, child_task, rendezvous
from tests.household import LIMITS, PEERS, POLICY, SWARM, Household, part

TIMING = Timing(deliberation_ms=1_000)


class Deliberation:
    """A goal with an electorate of three, whose splits a test writes and marks."""

    def __init__(self, policy: Policy = POLICY, limits: Limits = LIMITS) -> None:
        self.home = Household()
        self.goal: GoalId = self.home.goal(PEERS[0], PEERS[:3], policy=policy, limits=limits)
        self.clock = TaskClock(0, 0.5)

    @property
    def plan(self) -> GoalPlan:
        return fold(self.home.said, SWARM).goals[self.goal]

    def scene(self, me: int = 0, live: int = 3, mono_ms: int = 0) -> Scene:
        peers = list(PEERS[:live])
        clocks = {TaskId(self.goal): self.clock}
        return Scene(PEERS[me], mono_ms, TIMING, {"decomposer": peers, "scorer": peers}, clocks)

    def propose(self, author: int, ms: int = 10, refines: EventId | None = None, count: int = 2) -> EventId:
        self.clock.proposed_ms = self.clock.proposed_ms or 0
        parts = [part(f"{author} {ms} {number}") for number in range(count)]
        return self.home.proposal(PEERS[author], self.goal, self.goal, ms, *parts, refines=refines)

    def mark(self, proposal: EventId, *marks: float) -> None:
        for scorer, mark in enumerate(marks):
            self.home.score(PEERS[scorer], self.goal, self.goal, proposal, 20, mark)

    def wanted(self, me: int = 0, live: int = 3, mono_ms: int = 0) -> Draft | None:
        plan = self.plan
        return wanted(plan, plan.tasks[TaskId(self.goal)], self.scene(me, live, mono_ms))

    def nominable(self, mono_ms: int = 0) -> EventId | None:
        plan = self.plan
        return nominable(plan, plan.tasks[TaskId(self.goal)], self.scene(mono_ms=mono_ms))

    def exhausted(self, mono_ms: int = 0) -> bool:
        plan = self.plan
        return exhausted(plan, plan.tasks[TaskId(self.goal)], self.scene(mono_ms=mono_ms))


# --- drafts --------------------------------------------------------------------------------------------------------


def test_parallel_decomposers_take_different_strategies() -> None:
    drafts = [Deliberation().wanted(me) for me in range(3)]
    strategies = [draft.strategy for draft in drafts if draft is not None]
    assert len(set(strategies)) == 3


def test_the_first_decomposers_in_rendezvous_order_propose_and_no_more() -> None:
    talk = Deliberation()
    wishing = [me for me in range(7) if talk.wanted(me, live=7) is not None]
    order = rendezvous(f"propose {talk.goal}", PEERS)[:PROPOSERS_MAX]
    assert {PEERS[me] for me in wishing} == set(order)


def test_when_they_have_not_proposed_in_time_anybody_may() -> None:
    talk = Deliberation()
    assert all(talk.wanted(me, live=7, mono_ms=1_000) is not None for me in range(7))


def test_each_proposes_once_of_its_own() -> None:
    talk = Deliberation()
    talk.propose(0)
    assert talk.wanted(0) is None
    assert talk.wanted(1) is not None


def test_strategies_go_round() -> None:
    assert {strategy(0, turn) for turn in range(len(STRATEGIES))} == set(STRATEGIES)
    assert len({strategy(rank, 0) for rank in range(PROPOSERS_MAX)}) == PROPOSERS_MAX


# --- polish --------------------------------------------------------------------------------------------------------


def test_a_split_that_falls_short_is_polished_by_one_that_did_not_write_it() -> None:
    talk = Deliberation()
    for author in range(3):
        talk.mark(talk.propose(author), 0.1, 0.2, 0.3 + author / 10)
    book = talk.plan.book(TaskId(talk.goal))
    best = max(book.proposals, key=lambda p: book.mean(p, PEERS[:3]) or 0)
    wishes = [talk.wanted(me) for me in range(3)]
    assert [wish.refines for wish in wishes if wish is not None] == [best]
    assert wishes[2] is None, "its author"


def test_a_lone_decomposer_polishes_its_own() -> None:
    talk = Deliberation()
    split = talk.propose(0)
    talk.mark(split, 0.1, 0.1, 0.1)
    assert talk.wanted(0, live=1) == Draft("by time", split)


def test_a_split_that_is_good_enough_is_not_polished() -> None:
    talk = Deliberation()
    talk.mark(talk.propose(0), 0.9, 0.9, 0.9)
    assert talk.wanted(0) is None


def test_nothing_is_polished_before_enough_scorers_have_spoken_on_every_split() -> None:
    talk = Deliberation()
    split = talk.propose(0)
    talk.mark(split, 0.1)
    assert talk.wanted(0, live=3) is None
    talk.mark(split, 0.1, 0.1)
    talk.propose(1, ms=11)  # and this one nobody has marked
    assert all(talk.wanted(me) is None for me in (0, 1))


def test_polishing_is_bounded_in_generations() -> None:
    talk = Deliberation(Policy(polish=1))
    first = talk.propose(0)
    talk.mark(first, 0.1, 0.1, 0.1)
    second = talk.propose(1, ms=12, refines=first)
    talk.mark(second, 0.2, 0.2, 0.2)
    assert talk.plan.book(TaskId(talk.goal)).generation(second) == 1
    wishes = [talk.wanted(me) for me in range(3)]
    assert all(wish is None or wish.refines is None for wish in wishes)
    assert talk.exhausted()


def test_a_polisher_is_given_the_split_and_what_was_said_of_it() -> None:
    talk = Deliberation()
    split = talk.propose(0)
    talk.mark(split, 0.1, 0.1, 0.1)
    plan = talk.plan
    request = decomposer.request(plan, plan.tasks[TaskId(talk.goal)], Draft("by time", split))
    assert request.previous == plan.book(TaskId(talk.goal)).proposals[split].subgoals
    assert request.strategy == "by time"


# --- what may be nominated -----------------------------------------------------------------------------------------


def test_nominable_is_the_best_mean_at_or_over_the_threshold() -> None:
    talk = Deliberation()
    talk.mark(talk.propose(0), 0.7, 0.7, 0.7)
    best = talk.propose(1)
    talk.mark(best, 0.8, 0.8, 0.8)
    assert talk.nominable() == best


def test_nothing_below_the_threshold_is_nominable_until_polishing_is_exhausted() -> None:
    talk = Deliberation()
    split = talk.propose(0)
    talk.mark(split, 0.2, 0.2, 0.2)
    assert talk.nominable() is None
    assert not talk.exhausted(2_999)
    assert talk.nominable(3_000) == split, "three windows of deliberation, for two generations"


def test_nothing_below_the_threshold_is_nominable_in_a_strict_goal() -> None:
    talk = Deliberation(Policy(polish=0, strict=True))
    talk.mark(talk.propose(0), 0.2, 0.2, 0.2)
    assert talk.nominable(10_000) is None


def test_marks_of_who_is_not_of_the_electorate_do_not_count() -> None:
    talk = Deliberation()
    split = talk.propose(0)
    for outsider in (4, 5):
        talk.home.score(PEERS[outsider], talk.goal, talk.goal, split, 20, 1.0)
    assert talk.nominable() is None
    talk.mark(split, 0.7)
    assert talk.plan.book(TaskId(talk.goal)).mean(split, PEERS[:3]) == pytest.approx(0.7)


def test_a_split_that_breaks_the_goals_limits_is_not_nominable() -> None:
    talk = Deliberation(limits=Limits(children=3))
    for count, fitting in ((0, True), (1, False), (2, True), (3, True), (4, False)):
        split = talk.propose(0, ms=30 + count, count=count)
        plan = talk.plan
        root = plan.tasks[TaskId(talk.goal)]
        assert fits(plan, root, plan.book(root.id).proposals[split]) == fitting
    assert children_max(talk.plan, root) == 3


# --- places --------------------------------------------------------------------------------------------------------


def test_a_place_says_where_in_the_goal_the_work_lies() -> None:
    home = Household()
    goal = home.goal(PEERS[0], PEERS[:1])
    outer = home.accept(goal, goal, PEERS[:1], 100, part("flights", leaf=False), part("hotels"))
    inner = home.accept(goal, child_task(outer, 0), PEERS[:1], 200, part("out"), part("back"))
    plan = fold(home.said, SWARM).goals[goal]
    assert place(plan, plan.tasks[TaskId(goal)]).is_root
    leaf = place(plan, plan.tasks[child_task(inner, 1)])
    assert (leaf.goal, leaf.path, leaf.title, leaf.siblings) == ("Japan trip", ("flights",), "back", ("out",))
