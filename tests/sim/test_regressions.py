"""What storms have found, each as the smallest thing that shows it."""

from swarmd.events.envelope import Opened, seal
from swarmd.events.kinds import Goal, Known, Limits, Member, Policy
from swarmd.plan.plan import fold
from swarmd.replica.effects import Ask
from swarmd.replica.inputs import Commanded, Failed, SetGoal, Ticked
from swarmd.roles.work import Propose
from swarmd.vocab.hlc import at
from swarmd.vocab.ids import GoalId, TaskId

from tests.sim.clocks import TRUE_MS
from tests.sim.stage import Stage
from tests.sim.world import SWARM, identity

STAMP = at(TRUE_MS)
ANNA = identity(0)


def opened(event: Known) -> Opened:
    """An event of Anna's as it arrives."""
    envelope = seal(event, ANNA, SWARM)
    return Opened(envelope.id, event, envelope)


def member() -> Opened:
    """Anna belongs to the swarm."""
    return opened(Member(author=ANNA.peer, hlc=STAMP, peer=ANNA.peer, name="anna", proof=SWARM.proof(ANNA.peer)))


def goal(limits: Limits) -> Opened:
    """Anna wants something."""
    return opened(
        Goal(author=ANNA.peer, hlc=STAMP + 1, text="Plan a picnic", electorate=(ANNA.peer,), quorum=1, limits=limits, policy=Policy())
    )


def test_a_goal_whose_limits_leave_no_room_for_two_parts_is_a_leaf() -> None:
    """Storms: no proposal ever fitted, and the goal stayed open for ever."""
    for limits in (Limits(children=1), Limits(tasks=2), Limits(tasks=1), Limits(depth=0)):
        wanted = goal(limits)
        root = fold([member(), wanted], SWARM).goals[GoalId(wanted.id)].tasks[TaskId(wanted.id)]
        assert (root.leaf, root.state) == (True, "ready"), limits


def test_a_decomposer_whose_model_failed_goes_on_asking_while_the_task_is_open() -> None:
    """Storms: every decomposer gave up after two failures, and with healthy models the goal still stayed open for ever."""
    stage = Stage()
    stage.wait(9_000)
    effects = stage.feed(Commanded(1, SetGoal(text="Plan a picnic")))
    asked = 0
    for _ in range(200):
        for ask in [e for e in effects if isinstance(e, Ask) and isinstance(e.request, Propose)]:
            asked += 1
            effects = stage.feed(Failed(ask.job, "no model"))
        stage.wait(2_000)
        effects = stage.feed(Ticked())
    assert 6 <= asked <= 12, "backs off to two minutes"
