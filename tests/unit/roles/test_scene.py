"""What a chair may put to the vote, when polishing is at its end, and where work lies."""

import pytest

from swarmd.events.kinds import Limits, Policy
from swarmd.plan.plan import fold
from swarmd.roles.scene import children_max, fits, place
from swarmd.vocab.ids import TaskId, child_task
from tests.household import PEERS, SWARM, Household, part
from tests.unit.roles.deliberation import Deliberation


def test_a_place_knows_its_path_its_siblings_and_what_is_around() -> None:
    home = Household()
    goal = home.goal(PEERS[0], PEERS[:1])
    top = home.accept(goal, goal, PEERS[:1], 100, part("travel", leaf=False), part("lodging", leaf=False), part("food"))
    travel, lodging = child_task(top, 0), child_task(top, 1)
    home.accept(goal, lodging, PEERS[:1], 200, part("hotels"), part("tents"))
    below = home.accept(goal, travel, PEERS[:1], 300, part("flights", leaf=False), part("trains"))
    plan = fold(home.said, SWARM).goals[goal]
    here = place(plan, plan.tasks[travel])
    assert (here.path, here.siblings, here.around) == ((), ("lodging", "food"), ("hotels", "tents"))
    deeper = place(plan, plan.tasks[child_task(below, 0)])
    assert (deeper.path, deeper.siblings, deeper.around) == (("travel",), ("trains",), ("lodging", "food"))


def test_nominable_is_the_best_mean_at_or_over_the_threshold() -> None:
    talk = Deliberation()
    talk.mark(talk.propose(0), 0.7, 0.7, 0.7)
    best = talk.propose(1)
    talk.mark(best, 0.8, 0.8, 0.8)
    assert talk.nominable() == best


def test_nothing_below_the_threshold_is_nominable_until_polishing_is_exhausted() -> None:
    talk = Deliberation()
    split = talk.propose(0)
    talk.mark(split, 0.2, 0.2, 0.2)
    assert talk.nominable() is None
    assert not talk.exhausted(2_999)
    assert talk.nominable(3_000) == split, "three windows of deliberation, for two generations"


def test_nothing_below_the_threshold_is_nominable_in_a_strict_goal() -> None:
    talk = Deliberation(Policy(polish=0, strict=True))
    talk.mark(talk.propose(0), 0.2, 0.2, 0.2)
    assert talk.nominable(10_000) is None


def test_marks_of_who_is_not_of_the_electorate_do_not_count() -> None:
    talk = Deliberation()
    split = talk.propose(0)
    for outsider in (4, 5):
        talk.home.score(PEERS[outsider], talk.goal, talk.goal, split, 20, 1.0)
    assert talk.nominable() is None
    talk.mark(split, 0.7)
    assert talk.plan.book(TaskId(talk.goal)).mean(split, PEERS[:3]) == pytest.approx(0.7)


def test_a_split_that_breaks_the_goals_limits_is_not_nominable() -> None:
    talk = Deliberation(limits=Limits(children=3))
    for count, fitting in ((0, True), (1, False), (2, True), (3, True), (4, False)):
        split = talk.propose(0, ms=30 + count, count=count)
        plan = talk.plan
        root = plan.tasks[TaskId(talk.goal)]
        assert fits(plan, root, plan.book(root.id).proposals[split]) == fitting
    assert children_max(talk.plan, root) == 3


# --- places --------------------------------------------------------------------------------------------------------


def test_a_place_says_where_in_the_goal_the_work_lies() -> None:
    home = Household()
    goal = home.goal(PEERS[0], PEERS[:1])
    outer = home.accept(goal, goal, PEERS[:1], 100, part("flights", leaf=False), part("hotels"))
    inner = home.accept(goal, child_task(outer, 0), PEERS[:1], 200, part("out"), part("back"))
    plan = fold(home.said, SWARM).goals[goal]
    assert place(plan, plan.tasks[TaskId(goal)]).is_root
    leaf = place(plan, plan.tasks[child_task(inner, 1)])
    assert (leaf.goal, leaf.path, leaf.title, leaf.siblings) == ("Japan trip", ("flights",), "back", ("out",))
