"""The fold. `Plan` takes events one by one in any order, any number of times, and always shows what the set says.

Everything derived hangs on keys (a task's id is known before the task is), so an early event simply waits in its book
until the tree reaches it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from swarmd.events.envelope import Opened, Swarm
from swarmd.events.kinds import (
    Amend,
    Cancel,
    Claim,
    Event,
    Goal,
    Member,
    Nomination,
    Promise,
    Proposal,
    Result,
    Score,
    Subgoal,
    Unknown,
    Vote,
)
from swarmd.plan.ballot import Acceptance, BallotBook, Electorate
from swarmd.plan.claims import backed
from swarmd.plan.task import Task, TaskBook, attempts_failed, holder_of, result_of
from swarmd.plan.views import GoalStatus
from swarmd.vocab.hlc import Hlc
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId, child_task

_PARTS_MIN = 2  # a split needs two parts to be one


@dataclass(frozen=True, slots=True)
class Shift:
    """That the fold moved: a split was *accepted*, a task *finished*, a goal *ended*, or somebody was *admitted*."""

    kind: Literal["accepted", "finished", "ended", "admitted"]
    goal: str
    task: str


@dataclass(slots=True)
class GoalPlan:
    """One goal's part of the plan."""

    id: GoalId
    goal: Goal | None = None
    books: dict[TaskId, TaskBook] = field(default_factory=dict)
    tasks: dict[TaskId, Task] = field(default_factory=dict)
    cancels: dict[EventId, Cancel] = field(default_factory=dict)
    amends: dict[EventId, Amend] = field(default_factory=dict)
    events: int = 0
    _digest: str = ""
    _status: GoalStatus | None = None
    _electorate: Electorate | None = None

    # --- reading ---------------------------------------------------------------------------------------------------

    @property
    def root(self) -> Task | None:
        """The goal's own task, once the goal itself has been heard."""
        return self.tasks.get(TaskId(self.id))

    def book(self, task: TaskId) -> TaskBook:
        """What has been said of *task*."""
        book = self.books.get(task)
        if book is None:
            book = self.books[task] = TaskBook(BallotBook(task))
        return book

    @property
    def electorate(self) -> Electorate:
        """Who votes: as the goal says, else as its author's first amendment says; a forced amendment replaces
        either."""
        if self._electorate is None:
            self._electorate = self._count_electorate()
        return self._electorate

    def _count_electorate(self) -> Electorate:
        if self.goal is None:
            return Electorate((), 0)
        amends = sorted(
            (amend.hlc, identifier, amend)
            for identifier, amend in self.amends.items()
            if amend.author == self.goal.author and amend.electorate
        )
        forced = [amend for _, _, amend in amends if amend.forced]
        if forced:
            return Electorate.of(forced[-1].electorate, forced[-1].quorum)
        if self.goal.electorate:
            return Electorate.of(self.goal.electorate, self.goal.quorum)
        first = [amend for _, _, amend in amends if not amend.forced]
        return Electorate.of(first[0].electorate, first[0].quorum) if first else Electorate((), 0)

    @property
    def forced(self) -> bool:
        """Whether a forced amendment has replaced the electorate."""
        return self.goal is not None and any(a.forced and a.author == self.goal.author for a in self.amends.values())

    @property
    def cancel(self) -> Cancel | None:
        """The first cancellation, if it came before the goal was done."""
        first = min(((c.hlc, i) for i, c in self.cancels.items()), default=None)
        if first is None:
            return None
        if any(done < first[0] for done in self._root_done()):
            return None
        return self.cancels[first[1]]

    @property
    def status(self) -> GoalStatus:
        """How the goal stands."""
        if self._status is None:
            self._status = self._judge_status()
        return self._status

    def _judge_status(self) -> GoalStatus:
        if self.cancel is not None:
            return "cancelled"
        root = self.root
        if root is None or not root.finished:
            return "open"
        return "done" if root.state == "done" else "failed"

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to do."""
        return self.status != "open"

    def walk(self, task: TaskId | None = None) -> Iterator[Task]:
        """The accepted tree from *task* (or the root) down, parents first, parts in order."""
        start = self.tasks.get(task if task is not None else TaskId(self.id))
        if start is None:
            return
        yield start
        for child in start.children:
            yield from self.walk(child)

    def ancestors(self, task: Task) -> list[Task]:
        """From the root down to, and without, *task*."""
        chain: list[Task] = []
        while task.parent is not None:
            task = self.tasks[task.parent]
            chain.append(task)
        return chain[::-1]

    def blocked(self, task: Task) -> list[Task]:
        """The unfinished tasks whose results *task*, or a task above it, waits for."""
        line = [*self.ancestors(task), task]
        return [self.tasks[a] for t in line for a in t.after if a in self.tasks and not self.tasks[a].finished]

    def leaf_flags(self, task: Task, proposal: Proposal) -> list[bool]:
        """Which subgoals of *proposal* would be leaves under *task*: those that say so, and all at a limit."""
        return [self._is_leaf(task, proposal, subgoal) for subgoal in proposal.subgoals]

    def digest(self) -> str:
        """SHA-256 over everything that this goal's fold says; equal event sets give equal digests."""
        if not self._digest:
            electorate = self.electorate
            facts = (
                self.id,
                self.status,
                electorate.members,
                electorate.quorum,
                [
                    (
                        task.id,
                        task.title,
                        task.leaf,
                        task.state,
                        task.born,
                        task.children,
                        task.accepted.proposal if task.accepted else "",
                        holder_of(task, self.book(task.id)) or "",
                        result_of(task, self.book(task.id)) or "",
                    )
                    for task in self.walk()
                ],
                [(task, book.facts()) for task, book in sorted(self.books.items()) if not book.empty],
                sorted(self.cancels),
                sorted(self.amends),
            )  # fmt: skip
            self._digest = hashlib.sha256(msgspec.msgpack.encode(facts)).hexdigest()
        return self._digest

    # --- folding ---------------------------------------------------------------------------------------------------

    def apply(self, identifier: EventId, event: Event) -> list[Shift]:
        """Take in one event of this goal that was not taken in before."""
        shifts: list[Shift] = []
        was_ended = self.ended
        self.events += 1
        self._digest = ""
        if isinstance(event, Goal | Amend):
            self._electorate = None
        match event:
            case Goal():
                self.goal = event
                bounds = event.limits
                leaf = bounds.depth == 0 or min(bounds.children, bounds.tasks - 1) < _PARTS_MIN
                self.tasks[TaskId(self.id)] = Task(
                    id=TaskId(self.id), parent=None, title=event.text, detail="", depth=0, leaf=leaf,
                    budget=1 if leaf else bounds.tasks, born=Hlc(event.hlc),
                )  # fmt: skip
                self._settle(TaskId(self.id), shifts)
            case Cancel():
                self.cancels[identifier] = event
            case Amend():
                self.amends[identifier] = event
                for task in list(self.walk()):
                    if task.id in self.tasks:
                        self._settle(task.id, shifts)
            case Proposal() | Score() | Promise() | Nomination() | Vote() | Claim() | Result():
                self.book(event.task).add(identifier, event)
                if event.task in self.tasks and isinstance(event, Proposal | Vote | Claim | Result):
                    self._settle(event.task, shifts)
            case _:
                raise AssertionError(f"{type(event).__name__} belongs to no goal")
        self._status = None
        if self.ended and not was_ended:
            shifts.append(Shift("ended", self.id, self.id))
        return shifts

    def _settle(self, identifier: TaskId, shifts: list[Shift]) -> None:
        """Bring a task of the tree, what hangs below it and what rests on it up to date with its book."""
        task = self.tasks[identifier]
        book = self.book(identifier)
        accepted = book.ballots.accepted(self.electorate, book.proposals) if book.ballots.votes else None
        if accepted != task.accepted:
            self._regrow(task, book, accepted, shifts)
        self._roll_up(task, shifts)

    def _regrow(self, task: Task, book: TaskBook, accepted: Acceptance | None, shifts: list[Shift]) -> None:
        before, task.accepted = task.accepted, accepted
        if before is None or accepted is None or before.proposal != accepted.proposal:
            self._fell(task)
        if accepted is None:  # only an equivocator's voided vote takes an acceptance back
            task.children, task.leaf = (), task.budget < 2
            return
        if before is None or before.proposal != accepted.proposal:
            shifts.append(Shift("accepted", self.id, task.id))
        proposal = book.proposals[accepted.proposal]
        ids = [child_task(accepted.proposal, index) for index in range(len(proposal.subgoals))]
        leaves = self.leaf_flags(task, proposal)
        inner = leaves.count(False)
        share = (task.budget - 1 - len(ids)) // inner if inner else 0
        task.leaf = not ids
        task.children = tuple(ids)
        for index, (child, subgoal, leaf) in enumerate(zip(ids, proposal.subgoals, leaves, strict=True)):
            after = tuple(ids[a] for a in sorted(set(subgoal.after)) if a < index)
            known = self.tasks.get(child)
            if known is not None:
                known.born = accepted.born
            else:
                self.tasks[child] = Task(
                    id=child, parent=task.id, title=subgoal.title, detail=subgoal.detail, depth=task.depth + 1,
                    leaf=leaf, budget=1 if leaf else 1 + share, born=accepted.born, after=after,
                )  # fmt: skip
        for child in ids:
            self._settle(child, shifts)

    def _fell(self, task: Task) -> None:
        for child in task.children:
            below = self.tasks.pop(child, None)
            if below is not None:
                self._fell(below)

    def _is_leaf(self, task: Task, proposal: Proposal, subgoal: Subgoal) -> bool:
        assert self.goal is not None
        if subgoal.leaf or task.depth + 1 >= self.goal.limits.depth:
            return True
        inner = sum(1 for s in proposal.subgoals if not s.leaf)
        return (task.budget - 1 - len(proposal.subgoals)) // inner < _PARTS_MIN

    def _roll_up(self, task: Task, shifts: list[Shift]) -> None:
        """Recompute a task's state, and that of the tasks above it as far as it changes them."""
        current: Task | None = task
        while current is not None:
            before = current.state
            current.state = self._state(current)
            if current.finished and before not in ("done", "failed"):
                shifts.append(Shift("finished", self.id, current.id))
            if current.state == before and current is not task:
                return
            current = self.tasks.get(current.parent) if current.parent is not None else None

    def _state(self, task: Task) -> Literal["open", "split", "ready", "done", "failed"]:
        assert self.goal is not None
        book = self.book(task.id)
        counts = result_of(task, book)
        if counts is not None and book.results[counts].status == "done":
            return "done"
        if attempts_failed(task, book) >= self.goal.policy.attempts:
            return "failed"
        if task.leaf:
            return "ready"
        if task.accepted is None:
            return "open"
        children = [self.tasks[child] for child in task.children]
        if not all(child.finished for child in children):
            return "split"
        return "ready" if any(child.state == "done" for child in children) else "failed"

    def _root_done(self) -> list[int]:
        """The stamps of all results that finished the goal; a later one may count, but it was done at the first."""
        root, book = self.root, self.books.get(TaskId(self.id))
        if root is None or book is None:
            return []
        results = [book.results[identifier] for identifier in backed(book.results, book.claims, root.born)]
        return [result.hlc for result in results if result.status == "done"]


class Plan:
    """All goals, folded from the events of admitted authors."""

    def __init__(self, swarm: Swarm) -> None:
        self._swarm = swarm
        self._waiting: dict[PeerId, list[Opened]] = {}  # by authors who are not admitted yet
        self.members: dict[PeerId, Member] = {}
        self.goals: dict[GoalId, GoalPlan] = {}
        self._open: list[GoalPlan] | None = None

    def apply(self, opened: Opened) -> list[Shift]:
        """Take in one verified event that was not taken in before; events of unknown kinds change nothing."""
        event = opened.event
        if isinstance(event, Member):
            return self._admit(event)
        if isinstance(event, Unknown):
            return []
        if event.author not in self.members:
            self._waiting.setdefault(event.author, []).append(opened)  # all of them: the event set holds them anyway
            return []
        return self._fold(opened.id, event)

    def digest(self) -> str:
        """SHA-256 over all goals and members."""
        facts = (sorted(self.members), [(goal, plan.digest()) for goal, plan in sorted(self.goals.items())])
        return hashlib.sha256(msgspec.msgpack.encode(facts)).hexdigest()

    def forget(self, goal: GoalId) -> None:
        """Drop an ended goal, of which no event will be taken in again."""
        self.goals.pop(goal, None)
        self._open = None

    def open_goals(self) -> list[GoalPlan]:
        """Goals that have not ended, oldest first."""
        if self._open is None:
            known = [plan for plan in self.goals.values() if plan.goal is not None and not plan.ended]
            self._open = sorted(known, key=lambda plan: (plan.goal.hlc if plan.goal else 0, plan.id))
        return list(self._open)

    def _admit(self, member: Member) -> list[Shift]:
        if not self._swarm.admits(member.peer, member.proof):
            return []
        before = self.members.get(member.peer)
        if before is None or (member.hlc, member.name) > (before.hlc, before.name):
            self.members[member.peer] = member  # the newest name is shown
        if before is not None:
            return []
        shifts = [Shift("admitted", "", member.peer)]
        for opened in self._waiting.pop(member.peer, ()):
            shifts += self._fold(opened.id, opened.event)
        return shifts

    def _fold(self, identifier: EventId, event: Event) -> list[Shift]:
        self._open = None
        goal = identifier if isinstance(event, Goal) else GoalId(event.goal)  # type: ignore[attr-defined]
        plan = self.goals.get(goal)
        if plan is None:
            plan = self.goals[goal] = GoalPlan(goal)
        return plan.apply(identifier, event)


def fold(events: Iterable[Opened], swarm: Swarm) -> Plan:
    """The plan that a set of events states."""
    plan = Plan(swarm)
    seen: set[EventId] = set()
    for opened in events:
        if opened.id not in seen:
            seen.add(opened.id)
            plan.apply(opened)
    return plan
