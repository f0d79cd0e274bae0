"""The plan is a function of the set of events: order, repeats, and the path by which an event came do not matter."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swarmd.events.envelope import Opened
from swarmd.plan.plan import GoalPlan, Plan, fold
from swarmd.plan.show import goal_line, goal_view
from swarmd.plan.views import GoalView
from tests.household import SWARM, history

seeds = st.integers(0, 10_000).map(random.Random)


def take(plan: Plan, seen: set[str], events: list[Opened]) -> None:
    """What a replica does: known events are not applied again."""
    for opened in events:
        if opened.id not in seen:
            seen.add(opened.id)
            plan.apply(opened)


def views(plan: Plan) -> list[GoalView]:
    return [
        goal_view(goal, lambda peer: peer, {}, lambda task: "")
        for _, goal in sorted(plan.goals.items())
        if goal.goal is not None
    ]


def shuffled(rng: random.Random, events: list[Opened]) -> list[Opened]:
    return rng.sample(events, len(events))


@given(seeds)
@settings(max_examples=120)
def test_any_order_with_any_repeats_gives_one_digest_and_equal_views(rng: random.Random) -> None:
    events = history(rng)
    plan = fold(events, SWARM)
    for order in (events[::-1], shuffled(rng, events), shuffled(rng, events + rng.choices(events, k=20))):
        other = fold(order, SWARM)
        assert other.digest() == plan.digest()
        assert views(other) == views(plan)


@given(seeds)
@settings(max_examples=40)
def test_replicas_that_heard_different_parts_agree_when_they_have_merged(rng: random.Random) -> None:
    events = history(rng)
    parts = [shuffled(rng, rng.sample(events, rng.randint(0, len(events)))) for _ in range(3)]
    digests = set()
    for order in (parts, parts[::-1]):
        plan, seen = Plan(SWARM), set[str]()
        for some in [*order, shuffled(rng, events)]:
            take(plan, seen, some)
        digests.add(plan.digest())
        assert views(plan) == views(fold(events, SWARM))
    assert len(digests) == 1


@given(seeds)
@settings(max_examples=40)
def test_taking_events_in_one_by_one_equals_folding_from_scratch(rng: random.Random) -> None:
    events = shuffled(rng, history(rng))
    stops = set(rng.sample(range(len(events)), min(6, len(events))))
    plan = Plan(SWARM)
    for position, opened in enumerate(events):
        plan.apply(opened)
        if position in stops:
            scratch = fold(sorted(events[: position + 1], key=lambda o: o.id), SWARM)
            assert plan.digest() == scratch.digest()
            assert views(plan) == views(scratch)


@given(seeds)
@settings(max_examples=40)
def test_a_digest_tells_a_missing_event_of_a_member(rng: random.Random) -> None:
    events = history(rng)
    plan = fold(events, SWARM)
    candidates = [
        position
        for position, opened in enumerate(events)
        if opened.event.author in plan.members
        and type(opened.event).__name__ not in ("Unknown", "Member", "Score", "Vote")
    ]
    gone = rng.choice(candidates)
    assert fold(events[:gone] + events[gone + 1 :], SWARM).digest() != plan.digest()


@given(seeds)
@settings(max_examples=40)
def test_every_task_of_the_tree_hangs_where_its_parts_say(rng: random.Random) -> None:
    plan = fold(shuffled(rng, history(rng)), SWARM)
    for goal in plan.goals.values():
        reached = [task.id for task in goal.walk()]
        assert len(set(reached)) == len(reached) == len(goal.tasks), "no task outside the tree, none twice"
        for task in goal.walk():
            assert all(goal.tasks[child].parent == task.id for child in task.children)
            if task.state == "split":
                assert not all(goal.tasks[child].finished for child in task.children)


@given(seeds)
@settings(max_examples=60)
def test_a_finished_task_stays_finished_however_its_events_arrive_while_nobody_equivocates(rng: random.Random) -> None:
    events = history(rng)
    whole = fold(events, SWARM)
    if any(goal.forced or equivocates(goal) for goal in whole.goals.values()):
        return
    plan, done = Plan(SWARM), set[tuple[str, str]]()
    for opened in shuffled(rng, events):
        plan.apply(opened)
        now_done = {(g.id, t.id) for g in plan.goals.values() for t in g.walk() if t.state == "done"}
        alive = {(g.id, t.id) for g in plan.goals.values() for t in g.walk()}
        assert done & alive <= now_done
        done |= now_done


def equivocates(goal: GoalPlan) -> bool:
    return any(book.ballots.equivocators() for book in goal.books.values())


@pytest.mark.parametrize("seed", range(3))
def test_a_goal_line_counts_the_tree(seed: int) -> None:
    for goal in fold(history(random.Random(seed)), SWARM).goals.values():
        if goal.goal is not None:
            line = goal_line(goal)
            assert 0 <= line.done <= line.tasks == len(goal.tasks)
