"""What storms have found, each as the smallest thing that shows it."""

from types import UnionType

from swarmd.events.codec import decode
from swarmd.events.envelope import Identity, Opened, seal
from swarmd.events.kinds import (
    Claim,
    Event,
    Goal,
    Known,
    Limits,
    Member,
    Nomination,
    Policy,
    Promise,
    Proposal,
    Score,
    Subgoal,
    Vote,
)
from swarmd.plan.ballot import Electorate
from swarmd.plan.plan import fold
from swarmd.replica.effects import Ask, Effect, Publish
from swarmd.replica.inputs import Commanded, Failed, Heard, PresenceHeard, SetGoal, Ticked
from swarmd.roles.work import Execute, Propose
from swarmd.vocab.hlc import Hlc, at, wall_ms
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId
from swarmd.vocab.limits import ATTEMPT_MAX, BALLOT_MAX
from tests.sim import strangers
from tests.sim.clocks import HOUR_MS, TRUE_MS, YEAR_MS
from tests.sim.stage import Stage, presence
from tests.sim.world import SWARM, identity

STAMP = at(TRUE_MS)
ANNA = identity(0)


BOB = identity(1)
CARL = identity(2)


def opened(event: Known, author: Identity = ANNA) -> Opened:
    """An event of Anna's, or of *author*, as it arrives."""
    envelope = seal(event, author, SWARM)
    return Opened(envelope.id, event, envelope)


def membership(who: Identity) -> Opened:
    """Somebody belongs to the swarm."""
    return opened(Member(author=who.peer, hlc=STAMP, peer=who.peer, name="x", proof=SWARM.proof(who.peer)), who)


def bobs_goal(electorate: tuple[PeerId, ...]) -> tuple[list[Opened], GoalId, EventId]:
    """Bob is a member and wants something, has proposed a split of it and thinks it good: events, goal and proposal."""
    me = BOB.peer
    known = opened(Member(author=me, hlc=STAMP, peer=me, name="bob", proof=SWARM.proof(me)), BOB)
    wanted = opened(
        Goal(
            author=me, hlc=STAMP + 1, text="Plan a picnic", electorate=electorate, quorum=len(electorate) // 2 + 1,
            limits=Limits(), policy=Policy(threshold=0.6),
        ),
        BOB,
    )  # fmt: skip
    goal = GoalId(wanted.id)
    parts = (Subgoal(title="Choose the meadow", leaf=True), Subgoal(title="Bake something sweet", leaf=True))
    split = opened(
        Proposal(author=me, hlc=STAMP + 2, goal=goal, task=TaskId(goal), strategy="by time", subgoals=parts), BOB
    )
    score = Score(
        author=me,
        hlc=STAMP + 3,
        goal=goal,
        task=TaskId(goal),
        proposal=split.id,
        specific=0.9,
        disjoint=0.9,
        covering=0.9,
    )
    return [known, wanted, split, opened(score, BOB)], goal, split.id


def said(stage: Stage, kind: type[Event] | UnionType) -> list[Event]:
    """What that machine has said of one kind."""
    return [o.event for o in stage.machine.events if isinstance(o.event, kind) and o.event.author == stage.machine.peer]


def member() -> Opened:
    """Anna belongs to the swarm."""
    return opened(Member(author=ANNA.peer, hlc=STAMP, peer=ANNA.peer, name="anna", proof=SWARM.proof(ANNA.peer)))


def goal(limits: Limits) -> Opened:
    """Anna wants something."""
    return opened(
        Goal(
            author=ANNA.peer,
            hlc=STAMP + 1,
            text="Plan a picnic",
            electorate=(ANNA.peer,),
            quorum=1,
            limits=limits,
            policy=Policy(),
        )
    )


def test_a_goal_whose_limits_leave_no_room_for_two_parts_is_a_leaf() -> None:
    """Storms: no proposal ever fitted, and the goal stayed open for ever."""
    for limits in (Limits(children=1), Limits(tasks=2), Limits(tasks=1), Limits(depth=0)):
        wanted = goal(limits)
        root = fold([member(), wanted], SWARM).goals[GoalId(wanted.id)].tasks[TaskId(wanted.id)]
        assert (root.leaf, root.state) == (True, "ready"), limits


def test_a_decomposer_whose_model_failed_goes_on_asking_while_the_task_is_open() -> None:
    """Storms: every decomposer gave up after two failures, and with healthy models the goal still stayed open for
    ever."""
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
    return [
        wall_ms(Hlc(decode(e.payload).hlc))
        for effect in effects
        if isinstance(effect, Publish)
        for e in effect.envelopes
    ]


def test_a_machine_that_boots_in_1970_and_is_then_set_right_does_not_leap_into_the_future() -> None:
    """Storms: the offset learned from peers was added to a clock that NTP had set meanwhile; everyone refused the
    year 2082."""
    stage = Stage(wall_ms=0)
    for number in (1, 2):
        stage.feed(PresenceHeard(identity(number).peer, presence(TRUE_MS)))
    stage.wall_ms = TRUE_MS
    stage.wait(100)
    assert stamps(stage.feed(Commanded(1, SetGoal(text="Plan a picnic")))) == [TRUE_MS + 100] * 2


def test_a_machine_that_is_cut_off_does_not_begin_to_believe_its_wrong_clock() -> None:
    """Storms: once its peers had fallen silent, a machine ten years ahead spoke in stamps that everyone refused for
    ever."""
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
    ahead = Member(
        author=ANNA.peer, hlc=at(TRUE_MS + 20 * HOUR_MS), peer=ANNA.peer, name="anna", proof=SWARM.proof(ANNA.peer)
    )
    stage.feed(Heard((opened(ahead).envelope,), ANNA.peer))
    assert len(stage.machine.events) == 1


def test_a_thought_does_not_take_the_slot_of_a_claim_that_is_settling() -> None:
    """Storms: a judgement took the slot that a claim waited for, its lease ran out unbegun, and another did the work
    as well."""
    stage = Stage(slots=1)
    stage.wait(9_000)
    stage.feed(Commanded(1, SetGoal(text="Plan a picnic", limits=Limits(depth=0))))  # a leaf: it is claimed at once
    busy = stage.feed(Commanded(2, SetGoal(text="Plan a dinner")))  # somebody should split this
    assert not any(isinstance(effect, Ask) for effect in busy)
    stage.wait(400)
    assert [type(e.request) for e in stage.feed(Ticked()) if isinstance(e, Ask)] == [Execute]


def test_a_scorer_whose_model_is_silent_marks_by_the_text_when_a_ballot_waits_for_it() -> None:
    """Storms: a quorum that needed a scorer with a hanging model ran through dozens of ballots for a quarter of an
    hour."""
    stage = Stage()
    pair = (ANNA.peer, BOB.peer)
    events, goal, split = bobs_goal(pair)
    if Electorate.of(pair, 2).chair(TaskId(goal), 0) == BOB.peer:
        events.append(
            opened(
                Nomination(author=BOB.peer, hlc=STAMP + 4, goal=goal, task=TaskId(goal), ballot=0, proposal=split), BOB
            )
        )
    stage.wait(9_000)
    stage.feed(Heard(tuple(event.envelope for event in events), BOB.peer))
    for _ in range(15):
        stage.wait(1_000)
        stage.feed(Ticked())
    assert len(said(stage, Vote)) == 1


def test_a_scorer_without_company_does_not_run_ahead_through_the_ballots() -> None:
    """Storms: with two of three machines off, the third published a promise for ballot after ballot, all night long."""
    stage = Stage()
    events, _, _ = bobs_goal((ANNA.peer, BOB.peer, CARL.peer))
    stage.wait(9_000)
    stage.feed(Heard(tuple(event.envelope for event in events), BOB.peer))
    for _ in range(1_000):
        stage.wait(2_000)
        stage.feed(Ticked())
    assert len(said(stage, Promise)) <= 1


def test_a_task_that_was_made_by_a_wrong_clock_is_not_claimed_without_end() -> None:
    """Storms: after its clock had been set right, no claim of a machine came after its own goal, so it claimed at
    every step."""
    stage = Stage(wall_ms=TRUE_MS + 10 * YEAR_MS)
    stage.feed(Commanded(1, SetGoal(text="Plan a picnic", limits=Limits(depth=0))))
    for number in (1, 2):
        stage.feed(PresenceHeard(identity(number).peer, presence(TRUE_MS)))
    for _ in range(40):
        stage.wait(1_000)
        stage.feed(Ticked())
    assert len(said(stage, Claim)) <= 1


def test_votes_that_come_at_once_and_void_each_other_do_not_end_the_process() -> None:
    """Storms: the line about an acceptance that the very next event took back was an assertion, and a peer could trip
    it."""
    stage = Stage()
    events, goal, split = bobs_goal((BOB.peer,))
    for stamp, approve in ((STAMP + 5, True), (STAMP + 6, False)):
        vote = Vote(author=BOB.peer, hlc=stamp, goal=goal, task=TaskId(goal), ballot=0, proposal=split, approve=approve)
        events.append(opened(vote, BOB))
    member_last = [*events[1:], events[0]]
    stage.feed(Heard(tuple(event.envelope for event in member_last), BOB.peer))
    assert stage.machine.plan.goals[goal].tasks[TaskId(goal)].accepted is None


def test_a_scorer_with_a_silent_model_votes_before_it_follows_others_into_the_next_ballot() -> None:
    """Storms: the others always left the ballot before its own timer ran out, so a quorum that needed it never met."""
    stage = Stage()
    members = (ANNA.peer, BOB.peer, CARL.peer)
    events, goal, split = bobs_goal(members)
    task = TaskId(goal)
    chair = next(i for i in (ANNA, BOB, CARL) if i.peer == Electorate.of(members, 2).chair(task, 0))
    if chair is not ANNA:
        nomination = Nomination(author=chair.peer, hlc=STAMP + 4, goal=goal, task=task, ballot=0, proposal=split)
        events += [membership(chair), opened(nomination, chair)]
    stage.wait(9_000)
    stage.feed(Heard(tuple(event.envelope for event in events), BOB.peer))
    for _ in range(4 if chair is ANNA else 0):
        stage.wait(1_100)
        stage.feed(Ticked())
    promise = Promise(author=BOB.peer, hlc=STAMP + 9, goal=goal, task=task, ballot=1, approvals=())
    stage.feed(Heard((opened(promise, BOB).envelope,), BOB.peer))
    assert [(type(event), getattr(event, "ballot", None)) for event in said(stage, Vote | Promise)] == [
        (Vote, 0),
        (Promise, 1),
    ]


def test_a_result_for_somebody_elses_claim_does_not_keep_a_task_from_being_worked_on() -> None:
    """Storms: one event of a meddler made a claim look ended, so its holder stopped and nobody else ever began."""
    stage = Stage()
    stage.wait(9_000)
    stage.feed(Commanded(1, SetGoal(text="Plan a picnic", limits=Limits(depth=0))))
    (claim,) = [o for o in stage.machine.events if isinstance(o.event, Claim)]
    meddling = strangers.borrowed_result(claim, CARL, SWARM, "done")
    stage.feed(Heard((membership(CARL).envelope, meddling), CARL.peer))
    stage.wait(400)
    assert [type(e.request) for e in stage.feed(Ticked()) if isinstance(e, Ask)] == [Execute]


def test_a_strangers_word_on_a_claim_neither_makes_its_lease_last_for_ever_nor_the_task_rest() -> None:
    """Storms: whoever heard any result for a claim forgot when its lease began, and a failure of attempt 1,000 that
    nobody had claimed kept all executors off the task for half an hour."""
    stage = Stage()
    wanted = opened(
        Goal(
            author=BOB.peer, hlc=STAMP + 1, text="Plan a picnic", electorate=(BOB.peer,), quorum=1,
            limits=Limits(depth=0), policy=Policy(),
        ),
        BOB,
    )  # fmt: skip
    goal = GoalId(wanted.id)
    claim = opened(Claim(author=BOB.peer, hlc=STAMP + 2, goal=goal, task=TaskId(goal), attempt=1, lease_ms=3_000), BOB)
    meddling = strangers.borrowed_result(claim, CARL, SWARM, "failed", 1_000)
    stage.wait(9_000)
    told = (membership(BOB), membership(CARL), wanted, claim)
    stage.feed(Heard((*(event.envelope for event in told), meddling), CARL.peer))
    stage.wait(2_900)
    stage.feed(Ticked())
    assert said(stage, Claim) == []
    stage.wait(100)
    stage.feed(Ticked())
    assert [event.attempt for event in said(stage, Claim) if isinstance(event, Claim)] == [2]


def test_a_claim_of_the_highest_attempt_does_not_make_others_say_what_nobody_takes_in() -> None:
    """Found beside a storm: when the lease of attempt 1,000 ran out, executors claimed attempt 1,001, which is
    malformed, and their event sets could never be level again."""
    stage = Stage()
    wanted = opened(
        Goal(
            author=BOB.peer, hlc=STAMP + 1, text="Plan a picnic", electorate=(BOB.peer,), quorum=1,
            limits=Limits(depth=0), policy=Policy(),
        ),
        BOB,
    )  # fmt: skip
    goal = GoalId(wanted.id)
    claim = opened(
        Claim(author=BOB.peer, hlc=STAMP + 2, goal=goal, task=TaskId(goal), attempt=ATTEMPT_MAX, lease_ms=3_000), BOB
    )
    stage.wait(9_000)
    stage.feed(Heard(tuple(event.envelope for event in (membership(BOB), wanted, claim)), BOB.peer))
    stage.wait(3_000)
    stage.feed(Ticked())
    assert said(stage, Claim) == []


def test_who_has_followed_others_into_the_last_ballot_promises_none_beyond_it() -> None:
    """Found beside a storm, like the claim over the limit: a promise beyond the last ballot is malformed."""
    stage = Stage()
    events, goal, split = bobs_goal((ANNA.peer, BOB.peer, CARL.peer))
    task = TaskId(goal)
    vote = Vote(author=BOB.peer, hlc=STAMP + 5, goal=goal, task=task, ballot=0, proposal=split, approve=True)
    events += [membership(CARL), opened(vote, BOB)]
    for who in (BOB, CARL):
        last = Promise(author=who.peer, hlc=STAMP + 9, goal=goal, task=task, ballot=BALLOT_MAX, approvals=())
        events.append(opened(last, who))
    stage.wait(9_000)
    stage.feed(Heard(tuple(event.envelope for event in events), BOB.peer))
    for _ in range(40):
        stage.wait(5_000)
        stage.feed(Ticked())
    assert [event.ballot for event in said(stage, Promise) if isinstance(event, Promise)] == [BALLOT_MAX]
