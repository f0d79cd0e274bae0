"""One turn's effects leave in one order: durable, loud, work and timers, told, answered."""

from swarmd.events.kinds import Goal
from swarmd.plan.views import Change
from swarmd.replica.effects import Abort, Append, Arm, Publish, Reply, SyncClose, Tell
from swarmd.replica.inputs import Now
from swarmd.replica.turn import Turn
from tests.household import PEERS, Household, member


def test_effects_leave_in_the_order_durable_loud_work_told_answered() -> None:
    home = Household(PEERS[:1])
    home.goal(PEERS[0], PEERS[:1])
    own = home.said[-1]
    assert isinstance(own.event, Goal)
    turn = Turn(Now(0, 100))
    turn.replies.append(Reply(1, "yes"))
    turn.told.append(Change(kind="goal", text="a goal"))
    turn.work.append(Abort(3))
    turn.syncs.append(SyncClose(4))
    turn.said.append(own.envelope)
    turn.heard.append(member(PEERS[1]).envelope)
    effects = turn.effects()
    assert [type(e) for e in effects] == [Append, Append, Publish, SyncClose, Abort, Arm, Tell, Reply]
    appended = [e for e in effects if isinstance(e, Append)]
    assert [(a.sync, len(a.envelopes)) for a in appended] == [(False, 1), (True, 1)], "own words must be on the platter"


def test_a_turn_in_which_nothing_happened_only_sets_the_next_look() -> None:
    turn = Turn(Now(0, 100))
    (arm,) = turn.effects()
    assert isinstance(arm, Arm)
    assert arm.mono_ms > 100


def test_the_earliest_wish_to_be_woken_counts_and_what_is_past_does_not() -> None:
    turn = Turn(Now(0, 100))
    for wish in (500, None, 300, 100, 7, 400):
        turn.wake_at(wish)
    assert turn.effects() == [Arm(300)]
