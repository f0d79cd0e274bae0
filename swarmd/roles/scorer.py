"""Scorers mark every split, and speak in the ballots: promise, nominate when in the chair, vote once.

What a scorer has promised and voted it reads from its own events, so a restart forgets nothing.
"""

from dataclasses import dataclass

from swarmd.events.kinds import Approval
from swarmd.plan.ballot import Electorate, Forced, Free, recover
from swarmd.plan.plan import GoalPlan
from swarmd.plan.task import Task, TaskBook
from swarmd.roles.scene import Scene, TaskClock, exhausted, fits, nominable, place, proposers
from swarmd.roles.work import Judge
from swarmd.vocab import limits
from swarmd.vocab.ids import EventId

_BACKOFF_MAX = 8  # ballots stall up to so many times longer than the first before the next one is tried


@dataclass(frozen=True, slots=True)
class SayPromise:
    """Publish a promise."""

    ballot: int
    approvals: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class SayNomination:
    """Publish a nomination."""

    ballot: int
    proposal: EventId
    promises: tuple[EventId, ...]


@dataclass(frozen=True, slots=True)
class SayVote:
    """Publish a vote."""

    ballot: int
    proposal: EventId
    approve: bool


Speech = SayPromise | SayNomination | SayVote


def unscored(goal: GoalPlan, task: Task, scene: Scene) -> list[EventId]:
    """Splits of an open task that this scorer has not marked, oldest first; one that is put to the vote comes first."""
    book = goal.book(task.id)
    if scene.me not in goal.electorate.members:
        return []
    nominated = {n.proposal for named in book.ballots.nominations.values() for n in named.values()}
    left = [p for p in book.proposals if scene.me not in book.scores.get(p, {})]
    return sorted(left, key=lambda p: (p not in nominated, book.proposals[p].hlc, p))


def overdue(goal: GoalPlan, task: Task, scene: Scene) -> list[EventId]:
    """Splits on which a ballot waits for this scorer's mark alone: it has stalled, or others are leaving it already,
    and the model has not spoken."""
    book, clock, electorate = goal.book(task.id), scene.clocks[task.id], goal.electorate
    ballots = book.ballots
    stalled = clock.ballot_ms is not None and scene.mono_ms >= _stalls_at(clock, scene)
    furthest = max((b for b, said in ballots.promises.items() if set(electorate.members) & said.keys()), default=0)
    waiting = [
        ballot
        for ballot in ballots.nominations
        if ballot >= ballots.promised(scene.me) and (ballot < furthest or (stalled and ballot == clock.ballot))
    ]
    named = [n.proposal for ballot in waiting for _, n, _ in ballots.valid_nominations(ballot, electorate)]
    return [p for p in unscored(goal, task, scene) if p in named]


def request(goal: GoalPlan, task: Task, proposal: EventId) -> Judge:
    """What to ask the model for a mark."""
    return Judge(place=place(goal, task), subgoals=goal.book(task.id).proposals[proposal].subgoals)


def speak(goal: GoalPlan, task: Task, scene: Scene) -> Speech | None:
    """The next thing to say in the ballots of an open task, if it is time."""
    electorate = goal.electorate
    if scene.me not in electorate.members:
        return None
    book = goal.book(task.id)
    clock = scene.clocks[task.id]
    return (
        _vote(goal, task, book, electorate, scene)
        or _nominate(goal, task, book, electorate, scene)
        or _promise(goal, task, book, electorate, scene, clock)
    )


def deadline(goal: GoalPlan, task: Task, scene: Scene) -> int | None:
    """When to look again at an open task, on the monotonic clock, though nothing new is heard; None: not needed."""
    clock = scene.clocks[task.id]
    times = [clock.opened_ms + scene.timing.deliberation_ms]
    if clock.proposed_ms is not None:
        assert goal.goal is not None
        times.append(clock.proposed_ms + scene.timing.deliberation_ms * (goal.goal.policy.polish + 1))
    if clock.ballot_ms is not None:
        times.append(_stalls_at(clock, scene))
    return min((t for t in times if t > scene.mono_ms), default=None)


def _vote(goal: GoalPlan, task: Task, book: TaskBook, electorate: Electorate, scene: Scene) -> SayVote | None:
    ballots = book.ballots
    least = ballots.promised(scene.me)
    for ballot in sorted(ballots.nominations, reverse=True):
        if ballot < least:
            return None
        for _, nomination, recovery in ballots.valid_nominations(ballot, electorate):
            if scene.me in ballots.votes.get(ballot, {}):
                return None
            if any(b > ballot and scene.me in said for b, said in ballots.votes.items()):
                return None
            proposal = book.proposals.get(nomination.proposal)
            if proposal is None or scene.me not in book.scores.get(nomination.proposal, {}):
                return None  # it votes when it has seen and marked the split
            approve = isinstance(recovery, Forced) or (
                fits(goal, task, proposal)
                and _good_enough(goal, task, book, nomination.proposal, ballot, electorate, scene)
            )
            return SayVote(ballot, nomination.proposal, approve)
    return None


def _good_enough(
    goal: GoalPlan,
    task: Task,
    book: TaskBook,
    proposal: EventId,
    ballot: int,
    electorate: Electorate,
    scene: Scene,
) -> bool:
    """By its own mark; but when every chair has had a turn without success, tastes give way to the mean."""
    assert goal.goal is not None
    policy = goal.goal.policy
    if book.scores[proposal][scene.me][2].mark >= policy.threshold:
        return True
    mean = book.mean(proposal, electorate.members)
    if ballot >= len(electorate.members) and mean is not None and mean >= policy.threshold:
        return True
    return not policy.strict and exhausted(goal, task, scene)


def _nominate(goal: GoalPlan, task: Task, book: TaskBook, electorate: Electorate, scene: Scene) -> SayNomination | None:
    ballots = book.ballots
    least = ballots.promised(scene.me)
    ready = [
        b for b, said in ballots.promises.items() if len(set(electorate.members) & said.keys()) >= electorate.quorum
    ]
    ballot = max(ready, default=0)
    if ballot < least or electorate.chair(task.id, ballot) != scene.me:
        return None
    if any(n.author == scene.me for n in ballots.nominations.get(ballot, {}).values()):
        return None
    if ballot == 0:
        if not _deliberated(goal, task, book, electorate, scene):
            return None
        choice = nominable(goal, task, scene)
        return SayNomination(0, choice, ()) if choice else None
    held = {peer: said for peer, said in ballots.promises[ballot].items() if peer in electorate.members}
    first = {peer: min(said) for peer, said in held.items()}
    match recover([held[peer][identifier] for peer, identifier in first.items()], electorate):
        case Forced(proposal):
            choice = proposal if proposal in book.proposals else None
        case Free():
            choice = nominable(goal, task, scene)
        case _:
            choice = None
    return SayNomination(ballot, choice, tuple(sorted(first.values()))) if choice else None


def _deliberated(goal: GoalPlan, task: Task, book: TaskBook, electorate: Electorate, scene: Scene) -> bool:
    """Whether every live decomposer has proposed and every live scorer has marked every split, or the window is
    over."""
    if scene.mono_ms >= scene.clocks[task.id].opened_ms + scene.timing.deliberation_ms:
        return True
    authors = {p.author for p in book.proposals.values()}
    scorers = set(scene.live("scorer")) & set(electorate.members)
    return authors.issuperset(proposers(task, scene)) and all(
        scorers <= book.scores.get(p, {}).keys() for p in book.proposals
    )


def _promise(
    goal: GoalPlan, task: Task, book: TaskBook, electorate: Electorate, scene: Scene, clock: TaskClock
) -> SayPromise | None:
    ballots = book.ballots
    nominated = [b for b in ballots.nominations if ballots.valid_nominations(b, electorate)]
    mine = max([ballots.promised(scene.me), *nominated, *(b for b, said in ballots.votes.items() if scene.me in said)])
    if mine != clock.ballot:
        clock.ballot, clock.ballot_ms = mine, None
    if nominable(goal, task, scene) is None and not ballots.any_approval():
        clock.ballot_ms = None  # nothing to vote on: the timer rests
        return None
    if clock.ballot_ms is None:
        clock.ballot_ms = scene.mono_ms
    ahead = [b for b, said in ballots.promises.items() if b > mine and set(electorate.members) & said.keys()]
    if not ahead:
        if scene.mono_ms < _stalls_at(clock, scene) and not ballots.hopeless(mine, electorate):
            return None
        if ballots.promised(scene.me) == mine > 0 and len(ballots.reached(mine, electorate)) < electorate.quorum:
            return None  # nobody follows: to run further ahead alone would only make events
    # whoever waited for its own timer would promise each ballot when others have left it: no quorum would ever meet
    target = max(ahead, default=mine + 1)
    given = ballots.given(scene.me, target)
    if target > limits.BALLOT_MAX or len(given) > limits.PROMISE_APPROVALS_MAX:
        return None  # nobody takes in a promise over the limits
    return SayPromise(target, given)


def _stalls_at(clock: TaskClock, scene: Scene) -> int:
    assert clock.ballot_ms is not None
    longer = min(2 ** min(clock.ballot, 10), _BACKOFF_MAX)
    since = clock.ballot_ms
    if clock.ballot == 0:
        since = max(since, clock.opened_ms + scene.timing.deliberation_ms)
    return since + int(scene.timing.ballot_ms * longer * (1 + clock.patience))
