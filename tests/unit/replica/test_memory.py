"""Old goals are forgotten alike by all, and stay forgotten."""

import random

import pytest

from swarmd.events.envelope import Envelope, Opened
from swarmd.events.kinds import Limits
from swarmd.gossip.eventset import EventSet
from swarmd.gossip.reconcile import Initiator, respond
from swarmd.plan.plan import fold
from swarmd.replica.effects import Append, Effect, Forget
from swarmd.replica.inputs import Heard, Now, Started, Ticked
from swarmd.replica.machine import Machine
from swarmd.replica.memory import lapsed
from swarmd.roles.scene import Timing
from swarmd.vocab import limits
from swarmd.vocab.hlc import HLC_MAX
from swarmd.vocab.ids import GoalId, TaskId
from tests.household import IDENTITIES, PEERS, SWARM, WALL_MS, Household

DAY_MS = 24 * 3_600_000
ANNA, BOB = PEERS[:2]


def done(home: Household, ms: float, text: str = "Japan trip") -> GoalId:
    """A goal that was set at *ms* and is done two seconds later."""
    goal = home.goal(ANNA, (ANNA, BOB), ms, text=text, limits=Limits(depth=0))
    home.result(BOB, goal, goal, home.claim(BOB, goal, goal, ms + 1_000), ms + 2_000)
    return goal


def lived(days: float) -> tuple[Household, GoalId, GoalId]:
    """An old goal that is done, an open one as old, and what two authors said *days* later."""
    home = Household()
    old = done(home, 0)
    still_open = home.goal(ANNA, (ANNA, BOB), 1, text="Open for ever")
    for author in (ANNA, BOB):
        home.proposal(author, still_open, TaskId(still_open), days * DAY_MS)
    return home, old, still_open


def events(said: list[Opened]) -> EventSet:
    made = EventSet()
    for opened in said:
        made.add(opened)
    return made


def to_forget(said: list[Opened]) -> list[GoalId]:
    return lapsed(fold(said, SWARM), events(said))


def exchanged(asking: EventSet, answering: EventSet) -> tuple[int, int]:
    """How many events each side is brought by a sync session that *asking* opens."""
    initiator = Initiator(asking, HLC_MAX - 1, silent=False)
    frame, brought, given = initiator.start(), 0, 0
    while True:
        answer, gave = respond(answering, frame, HLC_MAX - 1)
        following, got = initiator.step(answer)
        brought, given = brought + len(got), given + len(gave)
        if following is None:
            return brought, given
        frame = following


def machine() -> Machine:
    return Machine(
        IDENTITIES[ANNA], SWARM, name="anna", roles=("scorer",), timing=Timing(), rng=random.Random(1), version="test"
    )


@pytest.mark.parametrize(("days", "gone"), [(80, False), (100, True)])
def test_only_ended_goals_lapse_and_only_after_a_season(days: float, gone: bool) -> None:
    home, old, _ = lived(days)
    assert to_forget(home.said) == ([old] if gone else [])


def test_one_wrong_clock_makes_nobody_forget() -> None:
    home = Household()
    done(home, 0)
    home.goal(ANNA, (ANNA, BOB), 4_000 * DAY_MS, text="From the future")
    assert to_forget(home.said) == []


def test_beyond_the_bound_of_size_the_oldest_lapse(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Household()
    goals = [done(home, number * 10_000, f"goal {number} " + "x" * 2_000) for number in range(6)]
    monkeypatch.setattr(limits, "ENDED_BYTES_MAX", 3 * events(home.said).size(goals[0]) + 100)
    assert to_forget(home.said) == goals[:3]


def test_what_was_forgotten_is_neither_pulled_nor_given_again() -> None:
    home, old, _ = lived(100)
    whole, pruned = events(home.said), events(home.said)
    before = pruned.forget(old)
    assert (before.count, old in pruned.groups) == (3, False)
    assert exchanged(pruned, whole) == (0, 0)
    assert exchanged(whole, pruned) == (0, 0)
    late = Household([])
    late.result(ANNA, old, old, late.claim(ANNA, old, old, 3_000), 4_000)
    for opened in late.said:
        whole.add(opened)
    assert exchanged(pruned, whole) == (0, 0)
    assert exchanged(whole, pruned) == (0, 0)


def test_peers_that_forgot_alike_have_equal_fingerprints() -> None:
    home, old, _ = lived(100)
    one, other = events(home.said), events(home.said[::-1])
    one.forget(old)
    other.forget(old)
    assert one.fingerprint() == other.fingerprint()
    assert one.fingerprint() == events([o for o in home.said if o.id in one]).fingerprint()


def test_a_replica_forgets_deletes_and_refuses_what_comes_back_even_after_a_restart() -> None:
    home, old, still_open = lived(100)
    envelopes = tuple(opened.envelope for opened in home.said)
    now_ms = WALL_MS + 101 * DAY_MS
    anna = machine()
    anna.handle(Started(envelopes), Now(now_ms, 0))
    assert old in anna.plan.goals
    effects = anna.handle(Ticked(), Now(now_ms + 3_600_000, 3_600_000))
    (forget,) = [effect for effect in effects if isinstance(effect, Forget)]
    assert [goal.group for goal in forget.goals] == [old]
    assert set(anna.plan.goals) == {still_open}
    left = tuple(envelope for envelope in envelopes if envelope.id not in forget.events)
    assert len(left) == len(envelopes) - 3

    def hear_it_all_again(replica: Machine, mono_ms: int) -> list[Effect]:
        return replica.handle(Heard(envelopes, BOB), Now(now_ms + mono_ms, mono_ms))

    again = machine()
    again.handle(Started(left, forget.goals), Now(now_ms, 0))
    for replica in (anna, again):
        effects = hear_it_all_again(replica, 3_700_000)
        appended: list[Envelope] = [e for effect in effects if isinstance(effect, Append) for e in effect.envelopes]
        assert not {envelope.id for envelope in appended} & set(forget.events)
        assert set(replica.plan.goals) == {still_open}
