"""Executors spread out before they race, and take up what others let fall."""

from swarmd.events.kinds import Policy
from swarmd.plan.plan import GoalPlan, fold
from swarmd.roles import executor
from swarmd.roles.executor import next_attempt, openings
from swarmd.roles.scene import Scene, Timing
from swarmd.roles.work import Compose, Execute
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId, child_task, rendezvous
from tests.household import PEERS, SWARM, Household, part


class Split:
    """A goal of three leaves: flights; hotels after flights; dinners."""

    def __init__(self) -> None:
        self.home = Household()
        self.goal: GoalId = self.home.goal(PEERS[0], PEERS[:1], policy=Policy(attempts=3))
        parts = (part("flights"), part("hotels", 0), part("dinners"))
        self.split = self.home.accept(self.goal, self.goal, PEERS[:1], 100, *parts)
        self.ids = [child_task(self.split, index) for index in range(3)]

    @property
    def plan(self) -> GoalPlan:
        return fold(self.home.said, SWARM).goals[self.goal]

    def claim(self, peer: int, index: int, ms: int, attempt: int = 1) -> EventId:
        return self.home.claim(PEERS[peer], self.goal, self.ids[index], ms, attempt)

    def finish(self, peer: int, index: int, ms: int, attempt: int = 1, *, done: bool = True) -> None:
        claim = self.claim(peer, index, ms, attempt)
        self.home.result(PEERS[peer], self.goal, self.ids[index], claim, ms + 1, attempt, done=done)

    def open_to(self, peer: int, *live: int, expired: set[EventId] | None = None) -> list[tuple[TaskId, int]]:
        executors = sorted(PEERS[p] for p in (peer, *live))
        scene = Scene(PEERS[peer], 0, Timing(), {"executor": executors})
        return [(o.task.id, o.attempt) for o in openings(self.plan, scene, expired or set())]


def test_leaves_are_open_but_not_those_that_wait_for_a_sibling() -> None:
    split = Split()
    assert set(split.open_to(0)) == {(split.ids[0], 1), (split.ids[2], 1)}
    split.finish(1, 0, 200)
    assert set(split.open_to(0)) == {(split.ids[1], 1), (split.ids[2], 1)}


def test_each_executor_begins_where_it_ranks_first() -> None:
    split = Split()
    for peer in range(4):
        first, second = (
            rendezvous(task, PEERS[:4]).index(PEERS[peer]) for task, _ in split.open_to(peer, *{0, 1, 2, 3} - {peer})
        )
        assert first <= second


def test_a_held_task_is_not_open_until_its_lease_runs_out() -> None:
    split = Split()
    claim = split.claim(1, 0, 200)
    assert (split.ids[0], 1) not in split.open_to(0, 1)
    assert (split.ids[0], 2) in split.open_to(0, 1, expired={claim})


def test_a_failed_attempt_opens_the_next_one_but_to_another_executor_first() -> None:
    split = Split()
    split.finish(1, 0, 200, done=False)
    assert (split.ids[0], 2) in split.open_to(0, 1)
    assert split.ids[0] not in [task for task, _ in split.open_to(1, 0)]
    assert (split.ids[0], 2) in split.open_to(1), "where there is no other, the same one tries again"


def test_when_every_live_executor_has_failed_anyone_may_try_again() -> None:
    split = Split()
    split.finish(1, 0, 200, done=False)
    split.finish(0, 0, 300, 2, done=False)
    assert (split.ids[0], 3) in split.open_to(1, 0)


def test_a_finished_task_is_not_open() -> None:
    split = Split()
    split.finish(1, 0, 200)
    assert next_attempt(split.plan, split.plan.tasks[split.ids[0]], set()) is None


def test_an_inner_task_is_open_to_be_composed_once_its_parts_are_finished() -> None:
    split = Split()
    for index in range(3):
        split.finish(1, index, 200 + index)
    assert split.open_to(0) == [(TaskId(split.goal), 1)]
    request = executor.request(split.plan, split.plan.tasks[TaskId(split.goal)], 1)
    assert isinstance(request, Compose)
    assert [(p.title, p.status) for p in request.parts] == [(t, "done") for t in ("flights", "hotels", "dinners")]


def test_a_leaf_is_executed_with_the_results_that_it_waited_for() -> None:
    split = Split()
    split.finish(1, 0, 200)
    request = executor.request(split.plan, split.plan.tasks[split.ids[1]], 1)
    assert isinstance(request, Execute)
    assert [p.title for p in request.inputs] == ["flights"]
    assert request.inputs[0].text.startswith("by ")
    assert request.place.siblings == ("flights", "dinners")


def test_a_failed_part_is_handed_on_as_failed() -> None:
    home = Household()
    goal = home.goal(PEERS[0], PEERS[:1], policy=Policy(attempts=1))
    split = home.accept(goal, goal, PEERS[:1], 100, part("flights"), part("hotels"))
    for index, done in enumerate((True, False)):
        task = child_task(split, index)
        home.result(PEERS[1], goal, task, home.claim(PEERS[1], goal, task, 200), 300, done=done)
    plan = fold(home.said, SWARM).goals[goal]
    request = executor.request(plan, plan.tasks[TaskId(goal)], 1)
    assert isinstance(request, Compose)
    assert [p.status for p in request.parts] == ["done", "failed"]


def test_an_executor_that_nobody_has_heard_of_yet_ranks_last() -> None:
    split = Split()
    scene = Scene(PeerId("newcomer"), 0, Timing(), {"executor": list(PEERS[:2])})
    assert len(openings(split.plan, scene, set())) == 2
