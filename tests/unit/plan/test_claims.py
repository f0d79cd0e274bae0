"""One test for each sentence of the race that the fold decides."""

from swarmd.events.kinds import Policy
from swarmd.plan.plan import GoalPlan, fold
from swarmd.plan.task import Task, attempts_failed, holder_of, result_of
from swarmd.vocab.ids import EventId, GoalId, TaskId, child_task
from tests.household import PEERS, SWARM, Household, part

NEVER = float("-inf")


class Leaf:
    """A goal with one leaf, accepted by two of three votes at 101 ms, for which peers race."""

    def __init__(self, attempts: int = 3) -> None:
        self.home = Household()
        self.goal: GoalId = self.home.goal(PEERS[0], PEERS[:3], policy=Policy(attempts=attempts))
        split = self.home.accept(self.goal, self.goal, PEERS[:3], 100, part("flights"), part("hotels"))
        self.id: TaskId = child_task(split, 0)

    def claim(self, peer: int, ms: float, attempt: int = 1) -> EventId:
        return self.home.claim(PEERS[peer], self.goal, self.id, ms, attempt)

    def result(self, peer: int, claim: EventId, ms: float, attempt: int = 1, *, done: bool = True) -> EventId:
        return self.home.result(PEERS[peer], self.goal, self.id, claim, ms, attempt, done=done)

    @property
    def plan(self) -> GoalPlan:
        return fold(self.home.said, SWARM).goals[self.goal]

    @property
    def task(self) -> Task:
        return self.plan.tasks[self.id]

    @property
    def holder(self) -> EventId | None:
        return holder_of(self.task, self.plan.book(self.id))

    @property
    def counts(self) -> EventId | None:
        return result_of(self.task, self.plan.book(self.id))

    @property
    def failed(self) -> int:
        return attempts_failed(self.task, self.plan.book(self.id))


def test_a_leaf_is_open_to_any_executor_and_so_is_an_inner_task_once_its_parts_are_finished() -> None:
    home = Household()
    goal = home.goal(PEERS[0], PEERS[:1])
    split = home.accept(goal, goal, PEERS[:1], 100, part("flights"), part("hotels"))
    for index in range(2):
        leaf = child_task(split, index)
        plan = fold(home.said, SWARM).goals[goal]
        assert plan.tasks[leaf].state == "ready"
        assert plan.tasks[TaskId(goal)].state == "split"
        home.result(PEERS[1], goal, leaf, home.claim(PEERS[1], goal, leaf, 200), 300)
    assert fold(home.said, SWARM).goals[goal].tasks[TaskId(goal)].state == "ready"


def test_the_earlier_claim_holds() -> None:
    leaf = Leaf()
    leaf.claim(1, 205)
    first = leaf.claim(2, 203)
    assert leaf.holder == first


def test_a_higher_attempt_goes_before_an_earlier_claim() -> None:
    leaf = Leaf()
    leaf.claim(1, 200)
    second = leaf.claim(2, 900, attempt=2)
    leaf.claim(3, 901, attempt=2)
    assert leaf.holder == second


def test_of_two_claims_with_one_stamp_that_of_the_lower_peer_id_holds() -> None:
    leaf = Leaf()
    leaf.claim(4, 200)
    lower = leaf.claim(3, 200)
    assert leaf.holder == lower


def test_a_claim_must_be_later_than_the_acceptance_that_made_the_task() -> None:
    leaf = Leaf()
    leaf.claim(1, NEVER)
    leaf.claim(2, 101)  # the very stamp of the deciding vote
    assert leaf.holder is None
    fresh = leaf.claim(3, 102)
    assert leaf.holder == fresh


def test_a_stamp_of_1970_does_not_get_its_result_counted_either() -> None:
    leaf = Leaf()
    leaf.result(1, leaf.claim(1, NEVER), 150)
    leaf.result(1, leaf.claim(1, NEVER, attempt=3), 151, attempt=3, done=False)
    assert leaf.counts is None
    assert leaf.failed == 0
    assert leaf.task.state == "ready"


def test_a_late_result_of_a_lower_attempt_counts_while_no_higher_attempt_has_one() -> None:
    leaf = Leaf()
    first, _ = leaf.claim(1, 200), leaf.claim(2, 900, attempt=2)
    late = leaf.result(1, first, 950)
    assert leaf.counts == late
    assert leaf.task.state == "done"


def test_a_late_result_of_a_lower_attempt_changes_nothing_once_a_higher_attempt_has_one() -> None:
    leaf = Leaf()
    first, second = leaf.claim(1, 200), leaf.claim(2, 900, attempt=2)
    counts = leaf.result(2, second, 1_000, attempt=2)
    leaf.result(1, first, 950)
    assert leaf.counts == counts
    assert len(leaf.plan.book(leaf.id).results) == 2, "the other stays visible"


def test_a_done_result_counts_before_a_failed_one_so_that_a_finished_task_stays_finished() -> None:
    leaf = Leaf()
    first, second = leaf.claim(1, 200), leaf.claim(2, 900, attempt=2)
    counts = leaf.result(1, first, 950)
    leaf.result(2, second, 1_000, attempt=2, done=False)
    assert leaf.counts == counts


def test_of_two_results_for_one_attempt_that_of_the_holder_counts() -> None:
    leaf = Leaf()
    later, first = leaf.claim(1, 205), leaf.claim(2, 203)
    leaf.result(1, later, 210)
    counts = leaf.result(2, first, 500)
    assert leaf.counts == counts


def test_a_result_needs_its_claim_by_the_same_author_for_the_same_attempt() -> None:
    leaf = Leaf()
    claim = leaf.claim(1, 200)
    leaf.result(2, claim, 300)
    leaf.result(1, claim, 300, attempt=2)
    leaf.result(1, EventId("0" * 64), 300)
    assert leaf.counts is None


def test_failed_attempts_end_in_a_failed_leaf_after_as_many_as_the_goal_allows() -> None:
    leaf = Leaf(attempts=2)
    leaf.result(1, leaf.claim(1, 200), 300, done=False)
    assert (leaf.failed, leaf.task.state) == (1, "ready")
    leaf.result(2, leaf.claim(2, 400, attempt=2), 500, attempt=2, done=False)
    assert (leaf.failed, leaf.task.state) == (2, "failed")


def test_a_failed_leaf_blocks_neither_its_siblings_nor_the_goals_end() -> None:
    home = Household()
    goal = home.goal(PEERS[0], PEERS[:1], policy=Policy(attempts=1))
    split = home.accept(goal, goal, PEERS[:1], 100, part("flights"), part("hotels", 0))
    for index, done in enumerate((False, True)):
        leaf = child_task(split, index)
        plan = fold(home.said, SWARM).goals[goal]
        assert not plan.blocked(plan.tasks[leaf])
        home.result(PEERS[1], goal, leaf, home.claim(PEERS[1], goal, leaf, 200), 300, done=done)
    assert fold(home.said, SWARM).goals[goal].tasks[TaskId(goal)].state == "ready"
    home.result(PEERS[1], goal, goal, home.claim(PEERS[1], goal, goal, 400), 500)
    assert fold(home.said, SWARM).goals[goal].status == "done"


def test_with_every_part_failed_the_whole_has_failed() -> None:
    home = Household()
    goal = home.goal(PEERS[0], PEERS[:1], policy=Policy(attempts=1))
    split = home.accept(goal, goal, PEERS[:1], 100, part("flights"), part("hotels"))
    for index in range(2):
        leaf = child_task(split, index)
        home.result(PEERS[1], goal, leaf, home.claim(PEERS[1], goal, leaf, 200), 300, done=False)
    assert fold(home.said, SWARM).goals[goal].status == "failed"


def test_a_task_waits_for_the_siblings_that_it_comes_after() -> None:
    home = Household()
    goal = home.goal(PEERS[0], PEERS[:1])
    split = home.accept(goal, goal, PEERS[:1], 100, part("flights"), part("hotels", 0), part("dinners", 2))
    plan = fold(home.said, SWARM).goals[goal]
    first, second, third = (plan.tasks[child_task(split, index)] for index in range(3))
    assert plan.blocked(second) == [first]
    assert not plan.blocked(first)
    assert not plan.blocked(third), "only earlier siblings can be waited for"
