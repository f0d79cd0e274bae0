"""Decomposers propose splits: each its own strategy for every open task, and polish of what others' marks found
weak."""

from dataclasses import dataclass

from swarmd.plan.plan import GoalPlan
from swarmd.plan.task import Task
from swarmd.roles.scene import PROPOSERS_MAX, Scene, children_max, exhausted, place, proposers
from swarmd.roles.strategies import STRATEGIES
from swarmd.roles.work import Propose
from swarmd.vocab.ids import EventId, rendezvous


@dataclass(frozen=True, slots=True)
class Draft:
    """A split that this peer wants to propose."""

    strategy: str
    refines: EventId | None = None


def wanted(goal: GoalPlan, task: Task, scene: Scene) -> Draft | None:
    """The next split of an open task that this peer should work on, if any."""
    assert goal.goal is not None
    book = goal.book(task.id)
    clock = scene.clocks.get(task.id)
    own = [p for p in book.proposals.values() if p.author == scene.me and p.refines is None]
    order = proposers(task, scene)
    late = clock is not None and scene.mono_ms >= clock.opened_ms + scene.timing.deliberation_ms
    rank = order.index(scene.me) if scene.me in order else len(order)
    if not own and (scene.me in order or (late and not book.proposals)):
        return Draft(strategy(rank, 0))
    weak = weakest_link(goal, task, scene)
    if weak is not None:
        return Draft(book.proposals[weak].strategy, refines=weak)
    if own and goal.goal.policy.strict and len(own) < len(STRATEGIES) and exhausted(goal, task, scene):
        return Draft(strategy(rank, len(own)))
    return None


def strategy(rank: int, turn: int) -> str:
    """The strategy of the decomposer at *rank* in its *turn*-th split of a task: no two ranks share one, and turns go
    round. The list begins with what suits most goals, so that is what is tried first."""
    return STRATEGIES[(rank + turn * PROPOSERS_MAX) % len(STRATEGIES)]


def weakest_link(goal: GoalPlan, task: Task, scene: Scene) -> EventId | None:
    """The split that this peer should polish: the best of those that fell short, once enough scorers have said so.

    Another decomposer than its author does it, the first in rendezvous order; the author only when it is alone.
    """
    assert goal.goal is not None
    book = goal.book(task.id)
    members = goal.electorate.members
    means = {p: mean for p in book.proposals if (mean := book.mean(p, members)) is not None}
    if not means or max(means.values()) >= goal.goal.policy.threshold:
        return None
    refined = book.refined()
    tips = [p for p in means if p not in refined]
    if len(tips) < len([p for p in book.proposals if p not in refined]):
        return None  # a split that nobody has marked yet may be good enough
    enough = min(goal.electorate.quorum, len(set(scene.live("scorer")) & set(members)) or 1)
    ripe = [p for p in tips if book.generation(p) < goal.goal.policy.polish and len(book.marks(p, members)) >= enough]
    if not ripe:
        return None
    best = min(ripe, key=lambda p: (-means[p], p))
    others = [peer for peer in scene.live("decomposer") if peer != book.proposals[best].author]
    order = rendezvous(f"polish {best}", others or scene.live("decomposer"))
    return best if order and order[0] == scene.me else None


def request(goal: GoalPlan, task: Task, draft: Draft) -> Propose:
    """What to ask the model for a draft."""
    assert goal.goal is not None
    book = goal.book(task.id)
    refined = book.proposals.get(draft.refines) if draft.refines else None
    critiques = [score.critique for _, _, score in book.scores.get(draft.refines, {}).values()] if draft.refines else []
    return Propose(
        place=place(goal, task),
        strategy=draft.strategy,
        children_max=children_max(goal, task),
        leaves_only=task.depth + 1 >= goal.goal.limits.depth,
        previous=refined.subgoals if refined else (),
        critiques=tuple(sorted({c for c in critiques if c})),
    )
