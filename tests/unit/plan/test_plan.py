"""The fold: early events wait, strangers wait, limits hold, and what ended stays ended."""

import msgspec

from swarmd.events.envelope import Opened
from swarmd.events.kinds import Amend, Cancel, Limits, Policy, Subgoal
from swarmd.plan.plan import GoalPlan, Plan, Shift, fold
from swarmd.roles.scene import children_max
from swarmd.vocab.ids import EventId, GoalId, TaskId, child_task
from tests.household import PEERS, SWARM, Household, at, member, part, unknown

FOUR = PEERS[:4]


def folded(home: Household, goal: GoalId) -> GoalPlan:
    return fold(home.said, SWARM).goals[goal]


def amend(home: Household, goal: GoalId, author: int, ms: int, *members: int, forced: bool = False) -> None:
    home.say(
        Amend(
            author=PEERS[author], hlc=at(ms), goal=goal, electorate=tuple(PEERS[m] for m in members), quorum=1,
            forced=forced,
        )
    )  # fmt: skip


def cancel(home: Household, goal: GoalId, ms: int) -> None:
    home.say(Cancel(author=PEERS[6], hlc=at(ms), goal=goal, reason="we stay at home"))


def finished(home: Household) -> GoalId:
    """A goal that is done whole, its result stamped 500 ms."""
    goal = home.goal(PEERS[0], FOUR)
    home.accept(goal, goal, FOUR, 100)
    home.result(PEERS[1], goal, goal, home.claim(PEERS[1], goal, goal, 200), 500)
    return goal


# --- early and strange events --------------------------------------------------------------------------------------


def test_children_that_arrive_before_their_parents_wait_and_are_never_dropped() -> None:
    home = Household()
    goal = home.goal(PEERS[0], FOUR)
    outer = home.accept(goal, goal, FOUR, 100, part("flights", leaf=False), part("hotels"))
    inner = home.accept(goal, child_task(outer, 0), FOUR, 200, part("out"), part("back"))
    leaf = child_task(inner, 1)
    result = home.result(PEERS[1], goal, leaf, home.claim(PEERS[1], goal, leaf, 300), 400)
    plan = Plan(SWARM)
    for opened in reversed(home.said[len(PEERS) + 1 :]):  # the goal and its members come last
        plan.apply(opened)
    assert GoalId(goal) not in plan.goals
    for opened in home.said[: len(PEERS)]:
        plan.apply(opened)
    assert plan.goals[goal].root is None
    plan.apply(home.said[len(PEERS)])
    assert plan.goals[goal].tasks[leaf].state == "done"
    assert result in plan.goals[goal].book(leaf).results
    assert plan.digest() == fold(home.said, SWARM).digest()


def test_events_wait_for_the_membership_of_their_author_however_many_they_are() -> None:
    home = Household(PEERS[:1])
    goal = home.goal(PEERS[0], FOUR)
    for number in range(1_100):
        home.claim(PEERS[1], goal, goal, number)
    plan = fold(home.said, SWARM)
    assert plan.goals[goal].events == 1
    plan.apply(member(PEERS[1]))
    assert plan.goals[goal].events == 1_101
    assert plan.digest() == fold([member(PEERS[1]), *home.said], SWARM).digest()


def test_a_membership_without_the_swarm_key_admits_nobody() -> None:
    home = Household(())
    forged = member(PEERS[0])
    plan = Plan(SWARM)
    strange = Opened(forged.id, msgspec.structs.replace(forged.event, proof=bytes(32)), forged.envelope)
    assert plan.apply(strange) == []
    home.goal(PEERS[0], FOUR)
    plan.apply(home.said[0])
    assert not plan.goals


def test_the_newest_name_of_a_member_is_shown() -> None:
    for order in (1, -1):
        plan = fold([member(PEERS[0], at(1), "old"), member(PEERS[0], at(2), "new")][::order], SWARM)
        assert plan.members[PEERS[0]].name == "new"


def test_events_of_unknown_kinds_change_nothing() -> None:
    home = Household()
    goal = finished(home)
    before = fold(home.said, SWARM)
    after = fold([*home.said, unknown(PEERS[0], at(3), goal)], SWARM)
    assert after.digest() == before.digest()


# --- tree and limits -----------------------------------------------------------------------------------------------


def test_the_root_has_the_goals_id_and_a_child_is_derived_from_its_split() -> None:
    home = Household()
    goal = home.goal(PEERS[0], FOUR)
    split = home.accept(goal, goal, FOUR, 100, part("flights"), part("hotels"))
    plan = folded(home, goal)
    assert plan.root is not None
    assert plan.root.children == (child_task(split, 0), child_task(split, 1))
    assert [task.title for task in plan.walk()] == ["Japan trip", "flights", "hotels"]


def test_the_same_subgoals_in_two_proposals_are_different_tasks() -> None:
    assert child_task(EventId("a" * 64), 0) != child_task(EventId("b" * 64), 0)


def test_at_the_depth_limit_every_subgoal_is_a_leaf() -> None:
    home = Household()
    goal = home.goal(PEERS[0], FOUR, limits=Limits(depth=1))
    home.accept(goal, goal, FOUR, 100, part("flights", leaf=False), part("hotels", leaf=False))
    assert [task.leaf for task in folded(home, goal).walk()] == [False, True, True]


def test_at_depth_nought_the_goal_itself_is_a_leaf() -> None:
    home = Household()
    goal = home.goal(PEERS[0], FOUR, limits=Limits(depth=0))
    root = folded(home, goal).root
    assert root is not None
    assert (root.leaf, root.state) == (True, "ready")


def test_a_tree_never_outgrows_the_goals_number_of_tasks() -> None:
    home = Household()
    goal = home.goal(PEERS[0], FOUR, limits=Limits(depth=8, tasks=10))
    layer = [TaskId(goal)]
    for depth in range(6):
        below = []
        for task in layer:
            plan = folded(home, goal)
            if not plan.tasks[task].leaf:
                count = min(3, children_max(plan, plan.tasks[task]))
                assert count >= 2, "what may be split at all may be split in two"
                split = home.accept(goal, task, FOUR, 100 * (depth + 1), *(Subgoal(title=f"{n}") for n in range(count)))
                below += [child_task(split, index) for index in range(count)]
        layer = below
    assert len(folded(home, goal).tasks) == 10


def test_an_accepted_split_without_parts_makes_the_task_a_leaf() -> None:
    home = Household()
    goal = home.goal(PEERS[0], FOUR)
    home.accept(goal, goal, FOUR, 100)
    root = folded(home, goal).root
    assert root is not None
    assert (root.leaf, root.state) == (True, "ready")


def test_a_vote_for_a_split_that_has_not_arrived_shows_once_it_has() -> None:
    home = Household()
    goal = home.goal(PEERS[0], FOUR)
    home.accept(goal, goal, FOUR, 100, part("flights"), part("hotels"))
    proposal = next(o for o in home.said if type(o.event).__name__ == "Proposal")
    plan = fold([o for o in home.said if o is not proposal], SWARM)
    assert plan.goals[goal].root is not None
    assert plan.goals[goal].tasks[TaskId(goal)].accepted is None
    assert Shift("accepted", goal, goal) in plan.apply(proposal)


def test_an_equivocators_voided_vote_takes_the_acceptance_back_with_all_that_hung_on_it() -> None:
    home = Household()
    goal = home.goal(PEERS[0], FOUR[:3], quorum=3)
    home.accept(goal, goal, FOUR[:3], 100, part("flights"), part("hotels"))
    assert len(folded(home, goal).tasks) == 3
    home.vote(PEERS[1], goal, goal, EventId("e" * 64), 150)
    plan = folded(home, goal)
    assert len(plan.tasks) == 1
    assert plan.book(TaskId(goal)).ballots.equivocators() == [(0, PEERS[1])]


# --- electorate ----------------------------------------------------------------------------------------------------


def test_the_electorate_is_fixed_when_the_goal_is_given() -> None:
    home = Household()
    goal = home.goal(PEERS[0], FOUR[:3])
    amend(home, goal, 0, 50, 4, 5)
    assert folded(home, goal).electorate.members == tuple(sorted(FOUR[:3]))


def test_where_no_scorer_was_known_the_authors_first_amendment_names_the_electorate() -> None:
    home = Household()
    goal = home.goal(PEERS[0], ())
    assert not folded(home, goal).electorate.members
    amend(home, goal, 0, 60, 3)
    amend(home, goal, 0, 50, 1, 2)
    amend(home, goal, 5, 40, 5)  # not the author: no say
    assert folded(home, goal).electorate.members == (PEERS[1], PEERS[2])
    assert not folded(home, goal).forced


def test_a_forced_amendment_replaces_the_electorate_and_the_view_can_say_so() -> None:
    home = Household()
    goal = home.goal(PEERS[0], FOUR[:3])
    amend(home, goal, 0, 50, 4, forced=True)
    assert folded(home, goal).electorate.members == (PEERS[4],)
    assert folded(home, goal).forced


def test_votes_that_came_before_the_electorate_count_once_it_is_named() -> None:
    home = Household()
    goal = home.goal(PEERS[0], ())
    home.accept(goal, goal, FOUR[:1], 100)
    assert folded(home, goal).tasks[TaskId(goal)].accepted is None
    amend(home, goal, 0, 50, 0)
    assert folded(home, goal).tasks[TaskId(goal)].accepted is not None


# --- the end -------------------------------------------------------------------------------------------------------


def test_a_goal_is_done_with_its_roots_result() -> None:
    home = Household()
    assert folded(home, finished(home)).status == "done"


def test_a_cancelled_goal_is_cancelled_and_one_that_was_done_before_stays_done() -> None:
    home = Household()
    goal = home.goal(PEERS[0], FOUR)
    cancel(home, goal, 50)
    assert folded(home, goal).status == "cancelled"
    home = Household()
    goal = finished(home)
    cancel(home, goal, 600)
    assert folded(home, goal).status == "done"


def test_a_cancel_before_the_end_wins_over_a_result_that_was_under_way() -> None:
    home = Household()
    goal = finished(home)
    cancel(home, goal, 400)
    assert folded(home, goal).status == "cancelled"


def test_a_goal_ends_once() -> None:
    home = Household()
    goal = finished(home)
    cancel(home, goal, 600)
    home.result(PEERS[2], goal, goal, home.claim(PEERS[2], goal, goal, 700, 2), 800, 2)
    plan, shifts = Plan(SWARM), list[Shift]()
    for opened in home.said:
        shifts += plan.apply(opened)
    assert [shift.kind for shift in shifts if shift.kind == "ended"] == ["ended"]
    assert plan.goals[goal].status == "done"


def test_attempts_above_the_limit_of_a_failed_root_end_the_goal() -> None:
    home = Household()
    goal = home.goal(PEERS[0], FOUR, policy=Policy(attempts=1), limits=Limits(depth=0))
    home.result(PEERS[1], goal, goal, home.claim(PEERS[1], goal, goal, 200), 500, done=False)
    assert folded(home, goal).status == "failed"
    assert not fold(home.said, SWARM).open_goals()
