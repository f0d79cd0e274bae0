"""One task before its electorate, without signatures, model or network: scorers speak through a channel that loses,
delays and reorders, fall silent and come back with what was on their disk. Next to it, a model of the ballot so dumb
that it is plainly right.
"""

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from swarmd.events.kinds import Event, Goal, Limits, Nomination, Policy, Promise, Proposal, Score, Subgoal, Vote
from swarmd.plan.plan import GoalPlan
from swarmd.plan.task import Task
from swarmd.roles import scorer
from swarmd.roles.scene import Scene, TaskClock, Timing
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId

TIMING = Timing(deliberation_ms=1_000, ballot_ms=500)


@dataclass
class Scorer:
    """A member of the electorate. *disk*: what it keeps over a restart, own words always."""

    peer: PeerId
    plan: GoalPlan
    disk: list[EventId] = field(default_factory=list)
    own: set[EventId] = field(default_factory=set)
    clocks: dict[TaskId, TaskClock] = field(default_factory=dict)
    up: bool = True


class Chamber:
    """*size* scorers, three rival splits that they mark differently, and every event ever said."""

    def __init__(
        self,
        rng: random.Random,
        size: int,
        *,
        quorum: int = 0,
        strict: bool = False,
        mean: float = 0.6,
        marks_known: float = 1.0,
    ) -> None:
        self.rng = rng
        self.now_ms = 0
        self.events: dict[EventId, Event] = {}
        self.peers = [PeerId(f"scorer-{number}-{rng.randrange(1 << 30)}") for number in range(size)]
        goal = Goal(
            author=self.peers[0], hlc=1, text="goal", electorate=tuple(self.peers), quorum=quorum,
            limits=Limits(depth=1), policy=Policy(threshold=0.6, polish=0, strict=strict),
        )  # fmt: skip
        self.goal = GoalId(self._keep(goal))
        self.task = TaskId(self.goal)
        self.splits = [
            self._keep(
                Proposal(
                    author=self.peers[0], hlc=2, goal=self.goal, task=self.task, strategy=f"way {number}",
                    subgoals=(Subgoal(title=f"a{number}"), Subgoal(title=f"b{number}")),
                )
            )
            for number in range(3)
        ]  # fmt: skip
        for split in self.splits:
            for peer in self.peers:
                mark = min(1.0, max(0.0, rng.gauss(mean, 0.3)))
                self._keep(
                    Score(
                        author=peer, hlc=3, goal=self.goal, task=self.task, proposal=split,
                        specific=mark, disjoint=mark, covering=mark,
                    )
                )  # fmt: skip
        self.first = list(self.events)
        self.scorers = [Scorer(peer, GoalPlan(self.goal)) for peer in self.peers]
        self.flying: list[tuple[Scorer, EventId]] = []
        for one in self.scorers:
            for identifier, event in self.events.items():
                if not isinstance(event, Score) or event.author == one.peer or rng.random() < marks_known:
                    self._deliver(one, identifier)

    # --- what happens ----------------------------------------------------------------------------------------------

    def speak(self, one: Scorer) -> None:
        """Let a scorer say what it wants to say now. What it says is on its disk before anybody hears it."""
        for _ in range(8):
            task = one.plan.root
            assert task is not None
            if not one.up or task.accepted is not None:
                return
            said = scorer.speak(one.plan, task, self._scene(one))
            if said is None:
                return
            identifier = self._keep(self._event(one, said))
            one.own.add(identifier)
            self._deliver(one, identifier)
            self.flying += [(other, identifier) for other in self.scorers if other is not one]

    def spell(self) -> None:
        """A spell of bad weather: some scorers hear each other more or less, the others nothing; then it shifts.

        It ends in the middle of things: a vote is on the air, or on one disk alone, when the next ballot begins.
        """
        rng = self.rng
        together = rng.sample(self.scorers, rng.randint(1, len(self.scorers)))
        luck = rng.choice((0.15, 0.4, 0.8))
        for one in together:
            one.up = True
        for _ in range(rng.randint(1, 14)):
            for one in rng.sample(together, rng.randint(0, len(together))):
                self.speak(one)
            waiting, self.flying = self.flying, []
            for hearer, identifier in waiting:
                if hearer in together and rng.random() < luck:
                    self._deliver(hearer, identifier)
                    if rng.random() < 0.05:
                        self.flying.append((hearer, identifier))  # to come once more
                elif rng.random() < 0.98:
                    self.flying.append((hearer, identifier))
            self.now_ms += rng.randrange(800)
        for one in self.scorers:
            if rng.random() < 0.2:
                self._restart(one)
            one.up = one.up and rng.random() < 0.9

    def heal(self, up: Iterable[Scorer]) -> None:
        """From now on these are up, and everybody up hears everything that anybody up knows."""
        for one in self.scorers:
            one.up = False
        living = list(up)
        for one in living:
            self._restart(one)
        self.flying.clear()
        for _ in range(400):
            known = sorted({identifier for one in living for identifier in one.disk})
            for one in living:
                for identifier in known:
                    self._deliver(one, identifier)
            for one in living:
                self.speak(one)
            if all(task.accepted is not None for one in living if (task := one.plan.root)):
                return
            self.now_ms += 250

    # --- what must hold --------------------------------------------------------------------------------------------

    def accepted_ever(self) -> set[EventId]:
        """By the dumb model: every split that a quorum's valid votes of one ballot, published or not, approved."""
        electorate = self.scorers[0].plan.electorate
        return dumbly_accepted(self.events.values(), set(electorate.members), electorate.quorum)

    def shown(self) -> set[EventId]:
        """Every split that some scorer takes as accepted."""
        roots = [one.plan.root for one in self.scorers]
        return {root.accepted.proposal for root in roots if root is not None and root.accepted is not None}

    # --- inside ----------------------------------------------------------------------------------------------------

    def _keep(self, event: Event) -> EventId:
        identifier = EventId(hashlib.sha256(f"{len(self.events)} {event!r}".encode()).hexdigest())
        self.events[identifier] = event
        return identifier

    def _deliver(self, one: Scorer, identifier: EventId) -> None:
        if one.up and identifier not in one.disk:
            one.disk.append(identifier)
            one.plan.apply(identifier, self.events[identifier])

    def _restart(self, one: Scorer) -> None:
        one.up = True
        kept = [i for i in one.disk if i in one.own or i in self.first or self.rng.random() < 0.7]
        one.disk, one.plan, one.clocks = [], GoalPlan(self.goal), {}
        for identifier in kept:
            self._deliver(one, identifier)

    def _scene(self, one: Scorer) -> Scene:
        clock = TaskClock(self.now_ms, self.rng.random(), proposed_ms=self.now_ms)
        one.clocks.setdefault(self.task, clock)
        living = [other.peer for other in self.scorers if other.up]
        return Scene(one.peer, self.now_ms, TIMING, {"scorer": living, "decomposer": living}, one.clocks)

    def _event(self, one: Scorer, said: scorer.Speech) -> Event:
        common = {"author": one.peer, "hlc": 10 + len(self.events), "goal": self.goal, "task": self.task}
        match said:
            case scorer.SayPromise(ballot, approvals):
                return Promise(**common, ballot=ballot, approvals=approvals)  # type: ignore[arg-type]
            case scorer.SayNomination(ballot, proposal, promises):
                return Nomination(**common, ballot=ballot, proposal=proposal, promises=promises)  # type: ignore[arg-type]
            case scorer.SayVote(ballot, proposal, approve):
                return Vote(**common, ballot=ballot, proposal=proposal, approve=approve)  # type: ignore[arg-type]


def dumbly_accepted(events: Iterable[Event], members: set[PeerId], quorum: int) -> set[EventId]:
    """Count hands: whoever said two things in one ballot said nothing."""
    votes = [event for event in events if isinstance(event, Vote) and event.author in members]
    accepted = set()
    for ballot in {vote.ballot for vote in votes}:
        for proposal in {vote.proposal for vote in votes}:
            hands = 0
            for member in members:
                said = {(v.proposal, v.approve) for v in votes if v.author == member and v.ballot == ballot}
                hands += said == {(proposal, True)}
            if hands >= quorum:
                accepted.add(proposal)
    return accepted


def root(one: Scorer) -> Task:
    """The task that the chamber is about."""
    assert one.plan.root is not None
    return one.plan.root
