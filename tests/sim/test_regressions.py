"""What storms have found, each as the smallest thing that shows it."""

import random

from swarmd.events.envelope import Opened, Swarm, seal
from swarmd.events.kinds import Goal, Known, Limits, Member, Policy
from swarmd.plan.plan import fold
from swarmd.vocab.hlc import at
from swarmd.vocab.ids import GoalId, TaskId

from tests.sim.clocks import TRUE_MS
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
