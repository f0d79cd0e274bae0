"""Executors race for leaves: each starts where it ranks first, claims no more than it can work on, and gives way at
once."""

from dataclasses import dataclass

from swarmd.plan.plan import GoalPlan
from swarmd.plan.task import Task, attempts_failed, holder_of, result_of
from swarmd.roles.scene import Scene, place
from swarmd.roles.work import CHECKLIST, Compose, Execute, Part
from swarmd.vocab import limits
from swarmd.vocab.ids import EventId, PeerId, rendezvous


@dataclass(frozen=True, slots=True)
class Opening:
    """A task that may be claimed, and for which attempt."""

    task: Task
    attempt: int


def openings(goal: GoalPlan, scene: Scene, expired: set[EventId]) -> list[Opening]:
    """Tasks that this executor may claim, in the order in which it should. *expired*: claims whose lease ran out."""
    executors = scene.live("executor")
    found = []
    for place_in_plan, task in enumerate(goal.walk()):
        attempt = next_attempt(goal, task, expired)
        if attempt is None or goal.blocked(task):
            continue
        failed = _failed_at(goal, task)
        if scene.me in failed and not failed >= set(executors):
            continue  # another machine may do better; when each has failed, anyone may try again
        order = rendezvous(task.id, executors)
        rank = order.index(scene.me) if scene.me in order else len(order)
        found.append((rank, place_in_plan, Opening(task, attempt)))
    return [opening for _, _, opening in sorted(found, key=lambda entry: entry[:2])]


def has_abler(goal: GoalPlan, task: Task, scene: Scene) -> bool:
    """Whether the peer whose model made this task, and so can read its goal, is there to work on it: an executor that
    cannot leaves the task to it."""
    split = goal.tasks[task.parent] if task.parent is not None and not task.children else task
    if split.accepted is None:
        return False
    proposal = goal.book(split.id).proposals[split.accepted.proposal]
    by_a_model = proposal.model not in ("", CHECKLIST)
    others = set(scene.live("executor")) - {scene.me} - _failed_at(goal, task)
    return by_a_model and proposal.author in others


def next_attempt(goal: GoalPlan, task: Task, expired: set[EventId]) -> int | None:
    """Which attempt at *task* is open to claims now; None while it is held, finished or not ready, and when there can
    be no further one: nobody takes in a claim over the limit."""
    if task.state != "ready":
        return None
    book = goal.book(task.id)
    claim = holder_of(task, book)
    if claim is None:
        return attempts_failed(task, book) + 1
    failed = any(result.status == "failed" for result in book.outcomes(claim))
    following = book.claims[claim].attempt + 1
    return following if (failed or claim in expired) and following <= limits.ATTEMPT_MAX else None


def _failed_at(goal: GoalPlan, task: Task) -> set[PeerId]:
    return {r.author for r in goal.book(task.id).results.values() if r.status == "failed"}


def request(goal: GoalPlan, task: Task, attempt: int) -> Execute | Compose:
    """What to ask the model: a leaf is executed, an inner task composed from its parts."""
    if task.children:
        parts = tuple(_part(goal, goal.tasks[child]) for child in task.children)
        return Compose(place=place(goal, task), parts=parts, attempt=attempt)
    line = [*goal.ancestors(task), task]
    needed = [goal.tasks[a] for t in line for a in t.after if a in goal.tasks]
    return Execute(place=place(goal, task), inputs=tuple(_part(goal, t) for t in needed), attempt=attempt)


def _part(goal: GoalPlan, task: Task) -> Part:
    book = goal.book(task.id)
    counts = result_of(task, book)
    return Part(
        title=task.title,
        text=book.results[counts].text if counts else "",
        status="done" if task.state == "done" else "failed",
    )
