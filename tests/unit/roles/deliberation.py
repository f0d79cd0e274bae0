"""A task whose rival splits and marks a test writes, as decomposers and chairs see it."""

from swarmd.events.kinds import Limits, Policy
from swarmd.plan.plan import GoalPlan, fold
from swarmd.roles.decomposer import Draft, wanted
from swarmd.roles.scene import Scene, TaskClock, Timing, exhausted, nominable
from swarmd.vocab.ids import EventId, GoalId, TaskId
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
