"""What people see is built from the fold and says what is the matter."""

import pytest

from swarmd.events.kinds import Cancel, Policy
from swarmd.plan.plan import fold
from swarmd.plan.show import goal_line, goal_view
from swarmd.plan.views import GoalView, TaskView
from swarmd.vocab.ids import EventId, GoalId, child_task
from tests.household import PEERS, POLICY, SWARM, WALL_MS, Household, at, part

ONE = PEERS[:1]


def view(home: Household, goal: GoalId, streams: dict[EventId, str] | None = None) -> GoalView:
    plan = fold(home.said, SWARM).goals[goal]
    return goal_view(plan, lambda peer: f"name of {peer[-4:]}", streams or {}, lambda task: "")


def split(home: Household, policy: Policy = POLICY) -> tuple[GoalId, EventId]:
    goal = home.goal(PEERS[0], ONE, policy=policy)
    return goal, home.accept(goal, goal, ONE, 100, part("flights"), part("hotels", 0))


def leaf(home: Household, goal: GoalId, index: int) -> TaskView:
    return view(home, goal).root.children[index]


def test_a_task_is_open_then_deliberating_then_split() -> None:
    home = Household()
    goal = home.goal(PEERS[0], ONE)
    assert view(home, goal).root.status == "open"
    home.proposal(PEERS[0], goal, goal, 50, part("a"), part("b"))
    assert view(home, goal).root.status == "deliberating"
    home.accept(goal, goal, ONE, 100, part("flights"), part("hotels"))
    assert view(home, goal).root.status == "split"


def test_a_leaf_is_ready_or_waiting_then_claimed_then_done() -> None:
    home = Household()
    goal, proposal = split(home)
    assert [leaf(home, goal, index).status for index in (0, 1)] == ["ready", "waiting"]
    task = child_task(proposal, 0)
    claim = home.claim(PEERS[2], goal, task, 200)
    shown = leaf(home, goal, 0)
    assert shown.status == "claimed"
    assert shown.claim is not None
    assert (shown.claim.executor, shown.claim.attempt, shown.claim.since_ms) == (PEERS[2], 1, WALL_MS + 200)
    home.result(PEERS[2], goal, task, claim, 300)
    assert [leaf(home, goal, index).status for index in (0, 1)] == ["done", "ready"]


def test_what_a_silent_peer_wrote_is_superseded_by_the_next_attempt_and_a_result_of_it_is_not() -> None:
    home = Household()
    goal, proposal = split(home)
    task = child_task(proposal, 0)
    first = home.claim(PEERS[2], goal, task, 200)
    home.claim(PEERS[1], goal, task, 300)  # lost the race
    home.claim(PEERS[1], goal, task, 50)  # older than the task: it never was one
    texts = {first: "Fly on a Tuesday"}
    assert view(home, goal, texts).root.children[0].superseded == ()
    second = home.claim(PEERS[1], goal, task, 900, attempt=2)
    (shown,) = view(home, goal, texts).root.children[0].superseded
    assert (shown.id, shown.executor, shown.attempt, shown.text) == (first, PEERS[2], 1, "Fly on a Tuesday")
    home.result(PEERS[1], goal, task, second, 1_000, attempt=2)
    assert len(leaf(home, goal, 0).superseded) == 1  # the end changes nothing of it
    home.result(PEERS[2], goal, task, first, 1_100)  # late: an alternative now
    assert leaf(home, goal, 0).superseded == ()


def test_after_a_failed_attempt_a_leaf_is_ready_again() -> None:
    home = Household()
    goal, proposal = split(home)
    task = child_task(proposal, 0)
    home.result(PEERS[2], goal, task, home.claim(PEERS[2], goal, task, 200), 300, done=False)
    assert leaf(home, goal, 0).status == "ready"


def test_running_text_is_shown_with_the_claim_that_writes_it() -> None:
    home = Household()
    goal, proposal = split(home)
    claim = home.claim(PEERS[2], goal, child_task(proposal, 0), 200)
    assert view(home, goal, {claim: "so far"}).root.children[0].stream == "so far"


def test_the_result_that_counts_is_marked_and_alternatives_stay_visible() -> None:
    home = Household()
    goal, proposal = split(home)
    task = child_task(proposal, 0)
    for peer, ms in ((3, 205), (2, 203)):
        home.result(PEERS[peer], goal, task, home.claim(PEERS[peer], goal, task, ms), 300)
    assert {r.executor: r.counts for r in leaf(home, goal, 0).results} == {PEERS[3]: False, PEERS[2]: True}


@pytest.mark.parametrize(("mark", "below"), [(0.59, True), (0.61, False)])
def test_a_split_taken_for_want_of_a_better_one_is_marked(mark: float, below: bool) -> None:
    home = Household()
    goal, proposal = split(home)
    home.score(PEERS[0], goal, goal, proposal, 90, mark)
    assert view(home, goal).root.below_threshold == below


def test_void_votes_are_shown_as_void() -> None:
    home = Household()
    goal, _ = split(home)
    home.vote(PEERS[0], goal, goal, EventId("e" * 64), 150)
    assert [vote.void for vote in view(home, goal).root.votes] == [True, True]


def test_a_cancelled_goal_says_why_and_since_when() -> None:
    home = Household()
    goal, _ = split(home)
    home.say(Cancel(author=PEERS[1], hlc=at(400), goal=goal, reason="too expensive"))
    shown = view(home, goal)
    assert (shown.status, shown.cancel_reason, shown.ended_ms) == ("cancelled", "too expensive", WALL_MS + 400)
    assert {shown.root.status, *(child.status for child in shown.root.children)} == {"cancelled"}


def test_every_peer_that_is_named_has_a_name() -> None:
    home = Household()
    goal, proposal = split(home)
    home.score(PEERS[3], goal, goal, proposal, 90, 0.5)
    claim = home.claim(PEERS[2], goal, child_task(proposal, 0), 200)
    home.result(PEERS[2], goal, child_task(proposal, 0), claim, 300)
    assert set(view(home, goal).names) == {PEERS[0], PEERS[2], PEERS[3]}


def test_generations_are_counted_from_the_first_ancestor() -> None:
    home = Household()
    goal = home.goal(PEERS[0], ONE)
    first = home.proposal(PEERS[0], goal, goal, 50, part("a"), part("b"))
    second = home.proposal(PEERS[1], goal, goal, 51, part("c"), part("d"), refines=first)
    home.proposal(PEERS[0], goal, goal, 52, part("e"), part("f"), refines=second)
    home.proposal(PEERS[0], goal, goal, 53, part("g"), part("h"), refines=EventId("0" * 64))
    assert [p.generation for p in view(home, goal).root.proposals] == [0, 1, 2, 0]


def test_a_line_counts_finished_tasks() -> None:
    home = Household()
    goal, proposal = split(home, Policy(attempts=1))
    task = child_task(proposal, 0)
    home.result(PEERS[2], goal, task, home.claim(PEERS[2], goal, task, 200), 300, done=False)
    line = goal_line(fold(home.said, SWARM).goals[goal])
    assert (line.done, line.tasks, line.status, line.created_ms) == (1, 3, "open", WALL_MS)
