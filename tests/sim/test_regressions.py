"""What storms have found, each as the smallest thing that shows it."""

from swarmd.events.codec import decode
from swarmd.events.envelope import Opened, seal
from swarmd.events.kinds import Goal, Known, Limits, Member, Policy
from swarmd.plan.plan import fold
from swarmd.replica.effects import Ask, Effect, Publish
from swarmd.replica.inputs import Commanded, Failed, Heard, PresenceHeard, SetGoal, Ticked
from swarmd.roles.work import Execute, Propose
from swarmd.vocab.hlc import Hlc, at, wall_ms
from swarmd.vocab.ids import GoalId, TaskId

from tests.sim.clocks import HOUR_MS, TRUE_MS, YEAR_MS
from tests.sim.stage import Stage, presence
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


def stamps(effects: list[Effect]) -> list[int]:
    """Unix time, milliseconds, of what a machine has just said."""
    return [wall_ms(Hlc(decode(e.payload).hlc)) for effect in effects if isinstance(effect, Publish) for e in effect.envelopes]


def test_a_machine_that_boots_in_1970_and_is_then_set_right_does_not_leap_into_the_future() -> None:
    """Storms: the offset learned from peers was added to a clock that NTP had set meanwhile; everyone refused the year 2082."""
    stage = Stage(wall_ms=0)
    for number in (1, 2):
        stage.feed(PresenceHeard(identity(number).peer, presence(TRUE_MS)))
    stage.wall_ms = TRUE_MS
    stage.wait(100)
    assert stamps(stage.feed(Commanded(1, SetGoal(text="Plan a picnic")))) == [TRUE_MS + 100] * 2


def test_a_machine_that_is_cut_off_does_not_begin_to_believe_its_wrong_clock() -> None:
    """Storms: once its peers had fallen silent, a machine ten years ahead spoke in stamps that everyone refused for ever."""
    stage = Stage(wall_ms=TRUE_MS + 10 * YEAR_MS)
    for number in (1, 2):
        stage.feed(PresenceHeard(identity(number).peer, presence(TRUE_MS)))
    stage.wait(60_000)
    assert stamps(stage.feed(Commanded(1, SetGoal(text="Plan a picnic")))) == [TRUE_MS + 60_000] * 2


def test_a_machine_that_spoke_with_a_wrong_clock_is_heard_again_once_it_knows_better() -> None:
    """Storms: its own stamps of another year dragged its hybrid clock, and it was mute for good."""
    stage = Stage(wall_ms=TRUE_MS + 10 * YEAR_MS)
    assert stamps(stage.feed(Commanded(1, SetGoal(text="Plan a picnic")))) == [TRUE_MS + 10 * YEAR_MS] * 2
    for number in (1, 2):
        stage.feed(PresenceHeard(identity(number).peer, presence(TRUE_MS)))
    assert stamps(stage.feed(Commanded(2, SetGoal(text="Plan a dinner")))) == [TRUE_MS]


def test_a_clock_a_few_hours_slow_does_not_refuse_a_swarm_that_a_fast_one_has_drawn_ahead() -> None:
    """Both are within the drift limit of the right time, but not of each other: the slow one was shut out."""
    stage = Stage(wall_ms=TRUE_MS - 5 * HOUR_MS)
    for number in (1, 2, 3):
        stage.feed(PresenceHeard(identity(number).peer, presence(TRUE_MS)))
    ahead = Member(author=ANNA.peer, hlc=at(TRUE_MS + 20 * HOUR_MS), peer=ANNA.peer, name="anna", proof=SWARM.proof(ANNA.peer))
    stage.feed(Heard((opened(ahead).envelope,), ANNA.peer))
    assert len(stage.machine.events) == 1


def test_a_thought_does_not_take_the_slot_of_a_claim_that_is_settling() -> None:
    """Storms: a judgement took the slot that a claim waited for, its lease ran out unbegun, and another did the work as well."""
    stage = Stage(slots=1)
    stage.wait(9_000)
    stage.feed(Commanded(1, SetGoal(text="Plan a picnic", limits=Limits(depth=0))))  # a leaf: it is claimed at once
    busy = stage.feed(Commanded(2, SetGoal(text="Plan a dinner")))  # somebody should split this
    assert not any(isinstance(effect, Ask) for effect in busy)
    stage.wait(400)
    assert [type(e.request) for e in stage.feed(Ticked()) if isinstance(e, Ask)] == [Execute]
