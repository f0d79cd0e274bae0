"""What a role may look at when it decides: the plan, who is alive, and this machine's monotonic clock."""

from dataclasses import dataclass, field

from swarmd.events.kinds import Proposal
from swarmd.plan.plan import GoalPlan
from swarmd.plan.task import Task
from swarmd.roles.work import Place
from swarmd.vocab.ids import EventId, PeerId, TaskId, rendezvous

_AROUND_MAX = 100  # titles that a split is compared with beside its path and siblings; further ones are far away
PROPOSERS_MAX = 3  # so many decomposers split one task; more would cost energy and rarely win


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Spans in milliseconds of this peer's own clock; peers need not agree on them.

    *deliberation_ms*: how long a chair waits for more splits and marks. *ballot_ms*: how long a ballot may stall.
    *settle_ms*: how long a claim waits for an earlier one before tokens are spent; about one gossip delay.
    *presence_ms*: how often a peer announces itself. *sync_ms*: the longest a difference may stay unreconciled.
    """

    deliberation_ms: int = 30_000
    ballot_ms: int = 6_000
    settle_ms: int = 500
    presence_ms: int = 4_000
    sync_ms: int = 2_000


@dataclass(slots=True)
class TaskClock:
    """When things happened to a task, by this machine's monotonic clock. *patience*: 0..1, drawn once, spreads
    timers."""

    opened_ms: int
    patience: float
    proposed_ms: int | None = None  # when the first proposal was seen
    ballot: int = 0
    ballot_ms: int | None = None  # since when that ballot runs with something to nominate


@dataclass(slots=True)
class Scene:
    """The moment in which this peer decides. *with_role*: live peers by role, this one included, in order of id."""

    me: PeerId
    mono_ms: int
    timing: Timing
    with_role: dict[str, list[PeerId]]
    clocks: dict[TaskId, TaskClock] = field(default_factory=dict)

    def live(self, role: str) -> list[PeerId]:
        """Live peers that hold *role*."""
        return self.with_role.get(role, [])


def proposers(task: Task, scene: Scene) -> list[PeerId]:
    """The decomposers that split a task at first, in rendezvous order."""
    return rendezvous(f"propose {task.id}", scene.live("decomposer"))[:PROPOSERS_MAX]


def fits(goal: GoalPlan, task: Task, proposal: Proposal) -> bool:
    """Whether a split keeps to the goal's limits."""
    assert goal.goal is not None
    return len(proposal.subgoals) <= children_max(goal, task) and len(proposal.subgoals) != 1


def children_max(goal: GoalPlan, task: Task) -> int:
    """Into how many parts a task may be split."""
    assert goal.goal is not None
    return min(goal.goal.limits.children, task.budget - 1)


def nominable(goal: GoalPlan, task: Task, scene: Scene) -> EventId | None:
    """The split that a chair would put to the vote now: fewest rejections, then the best mean mark.

    One at or over the threshold; or, with polishing exhausted and a goal that is not strict, the best there is.
    """
    assert goal.goal is not None
    book = goal.book(task.id)
    electorate = goal.electorate
    rejected = [
        nomination.proposal
        for ballot, named in book.ballots.nominations.items()
        for nomination in named.values()
        if book.ballots.hopeless(ballot, electorate)
    ]
    ranked = []
    for identifier, proposal in book.proposals.items():
        mean = book.mean(identifier, electorate.members)
        if mean is not None and fits(goal, task, proposal):
            ranked.append((rejected.count(identifier), -mean, identifier))
    ranked.sort()
    good = [entry for entry in ranked if -entry[1] >= goal.goal.policy.threshold]
    if good:
        return good[0][2]
    if ranked and not goal.goal.policy.strict and exhausted(goal, task, scene):
        return ranked[0][2]
    return None


def exhausted(goal: GoalPlan, task: Task, scene: Scene) -> bool:
    """Whether polishing has come to its end: every line of splits is as polished as it may be, or it takes too long."""
    assert goal.goal is not None
    book = goal.book(task.id)
    clock = scene.clocks.get(task.id)
    limit = goal.goal.policy.polish
    if not book.proposals:
        return False
    refined = book.refined()
    if all(book.generation(p) >= limit for p in book.proposals if p not in refined):
        return all(p in book.scores for p in book.proposals)
    if clock is None or clock.proposed_ms is None:
        return False
    return scene.mono_ms >= clock.proposed_ms + scene.timing.deliberation_ms * (limit + 1)


def place(goal: GoalPlan, task: Task) -> Place:
    """Where the work on *task* lies, in words."""
    assert goal.goal is not None
    above = goal.ancestors(task)
    siblings = _siblings(goal, task)
    near = [cousin for sibling in siblings for cousin in sibling.children]
    near += [uncle.id for ancestor in reversed(above) for uncle in _siblings(goal, ancestor)]
    return Place(
        goal=goal.goal.text,
        path=tuple(t.title for t in above[1:]),
        title=task.title,
        detail=task.detail,
        siblings=tuple(sibling.title for sibling in siblings),
        around=tuple(goal.tasks[t].title for t in near[:_AROUND_MAX]),
    )


def _siblings(goal: GoalPlan, task: Task) -> list[Task]:
    held = goal.tasks[task.parent].children if task.parent else ()
    return [goal.tasks[sibling] for sibling in held if sibling != task.id]
