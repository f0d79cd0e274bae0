"""One task: what has been said of it, in any order, and where it stands in the accepted tree once it is part of it."""

import math
from dataclasses import dataclass, field
from typing import Literal

from swarmd.events.kinds import Claim, Nomination, Promise, Proposal, Result, Score, Vote
from swarmd.plan.ballot import Acceptance, BallotBook
from swarmd.plan.claims import backed, counting, holder
from swarmd.vocab.hlc import Hlc
from swarmd.vocab.ids import EventId, PeerId, TaskId

TaskEvent = Proposal | Score | Promise | Nomination | Vote | Claim | Result

_WEIGHTS = {"tiny": 1.5, "small": 2.0, "good": 3.0}  # of a mark, by its basis; checks of the text alone weigh 1

State = Literal[
    "open",  # waits for a split to be accepted
    "split",  # has parts, of which some are unfinished
    "ready",  # can be worked: a leaf, or an inner task whose parts are finished
    "done",
    "failed",
]


@dataclass(slots=True)
class TaskBook:
    """Everything said of a task. Holds events even before the task is part of the tree: a child may be early."""

    ballots: BallotBook
    proposals: dict[EventId, Proposal] = field(default_factory=dict)
    scores: dict[EventId, dict[PeerId, tuple[int, EventId, Score]]] = field(default_factory=dict)
    claims: dict[EventId, Claim] = field(default_factory=dict)
    results: dict[EventId, Result] = field(default_factory=dict)

    def add(self, identifier: EventId, event: TaskEvent) -> None:
        """Take in one event of this task."""
        match event:
            case Proposal():
                self.proposals[identifier] = event
            case Score():
                marks = self.scores.setdefault(event.proposal, {})
                entry = (event.hlc, identifier, event)
                if event.author not in marks or entry[:2] < marks[event.author][:2]:
                    marks[event.author] = entry  # a scorer's first word counts
            case Claim():
                self.claims[identifier] = event
            case Result():
                self.results[identifier] = event
            case _:
                self.ballots.add(identifier, event)

    @property
    def empty(self) -> bool:
        """Whether nothing has been said: a book may be opened before there is anything to put in."""
        return self == TaskBook(BallotBook(self.ballots.task))

    def facts(self) -> tuple[object, ...]:
        """Everything said, in one order whatever the order of hearing: what a digest is taken of."""
        marks = {p: sorted((scorer, mark[1]) for scorer, mark in given.items()) for p, given in self.scores.items()}
        return (
            sorted(self.proposals),
            sorted(marks.items()),
            self.ballots.facts(),
            sorted(self.claims),
            sorted(self.results),
        )

    def marks(self, proposal: EventId, members: tuple[PeerId, ...]) -> dict[PeerId, float]:
        """The electorate's marks of *proposal*, 0..1."""
        given = self.scores.get(proposal, {})
        return {peer: given[peer][2].mark for peer in members if peer in given}

    def mean(self, proposal: EventId, members: tuple[PeerId, ...]) -> float | None:
        """The weighed mean mark of *proposal*, None while nobody of the electorate has scored it. A mark weighs by what
        it rests on, and that is part of the event, so that all peers weigh alike."""
        given = self.scores.get(proposal, {})
        scores = [given[peer][2] for peer in members if peer in given]
        weights = [_WEIGHTS.get(score.basis, 1.0) for score in scores]
        if not scores:
            return None
        # sum() rounds otherwise from Python 3.12 on, and Debian 12 and 13 are to agree to the last bit
        return math.fsum(weight * score.mark for weight, score in zip(weights, scores, strict=True)) / sum(weights)

    def generation(self, proposal: EventId) -> int:
        """How many times *proposal* has been polished from its first ancestor that is known."""
        seen = {proposal}
        while (parent := self.proposals[proposal].refines) in self.proposals and parent not in seen:
            assert parent is not None
            seen.add(parent)
            proposal = parent
        return len(seen) - 1

    def outcomes(self, claim: EventId) -> list[Result]:
        """How *claim* ended, by the word of its own author; what others say of it does not count."""
        author, attempt = self.claims[claim].author, self.claims[claim].attempt
        return [r for r in self.results.values() if (r.claim, r.author, r.attempt) == (claim, author, attempt)]

    def refined(self) -> set[EventId]:
        """Proposals that some other proposal polishes."""
        return {p.refines for p in self.proposals.values() if p.refines is not None}


@dataclass(slots=True)
class Task:
    """A task of the accepted tree. *after*: earlier siblings it waits for. *budget*: how many tasks it may still grow
    to, itself included. *born*: stamp of the acceptance that made it."""

    id: TaskId
    parent: TaskId | None
    title: str
    detail: str
    depth: int
    leaf: bool
    budget: int
    born: Hlc
    after: tuple[TaskId, ...] = ()
    accepted: Acceptance | None = None
    children: tuple[TaskId, ...] = ()
    state: State = "open"

    @property
    def finished(self) -> bool:
        """Done or failed."""
        return self.state in ("done", "failed")


def result_of(task: Task, book: TaskBook) -> EventId | None:
    """The result that counts."""
    return counting(book.results, book.claims, task.born)


def holder_of(task: Task, book: TaskBook) -> EventId | None:
    """The claim that holds the task, whether or not it has a result."""
    return holder(book.claims, task.born)


def attempts_failed(task: Task, book: TaskBook) -> int:
    """The highest attempt that ended in a failed result that its claim backs; 0 if none."""
    ended = (book.results[identifier] for identifier in backed(book.results, book.claims, task.born))
    return max((result.attempt for result in ended if result.status == "failed"), default=0)
