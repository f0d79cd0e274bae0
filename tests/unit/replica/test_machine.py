"""Through the one door: what a replica does about what happens to it."""

import pytest

from swarmd.events.envelope import open_envelope
from swarmd.events.kinds import (
    Amend,
    Claim,
    Goal,
    Limits,
    Member,
    Nomination,
    Policy,
    Promise,
    Proposal,
    Result,
    Score,
    Subgoal,
    Vote,
)
from swarmd.gossip.frames import Live
from swarmd.plan.views import GoalView
from swarmd.replica.effects import Abort, Announce, Append, Ask, Publish, Stream, SyncClose
from swarmd.replica.inputs import (
    Answered,
    BackendChanged,
    CancelGoal,
    Chunk,
    Failed,
    ListGoals,
    ListPeers,
    LiveHeard,
    SetGoal,
    ShowGoal,
    ShowStatus,
    Started,
    Stopping,
    SyncOpened,
    Ticked,
)
from swarmd.replica.status import StatusView
from swarmd.roles import canned
from swarmd.roles.work import CHECKLIST, Answer, Compose, Execute, Judge, Judgement, Propose, Request, Split, Text
from swarmd.vocab import hlc, limits
from swarmd.vocab.faults import LocalMistake, RemoteFault, UnknownId
from swarmd.vocab.ids import EventId, GoalId, TaskId
from swarmd.vocab.text import is_safe
from tests.household import PEERS, SWARM, WALL_MS, Household, at, member, part, sealed, unknown
from tests.lan import MODEL, TIMING, Lan, Station, obliging

FULL = "takes in no more events: they fill the memory that they may have"
WHOLE = Limits(depth=0)  # the goal itself is a leaf
SPRING = SetGoal(text="Japan trip in spring", limits=WHOLE, policy=Policy(lease_ms=10_000))


def leaf_goal(lan: Lan, command: SetGoal = SPRING) -> str:
    """A goal that is one leaf, given at the first station, heard by all."""
    goal = lan[0].command(command)
    assert isinstance(goal, str)
    lan.deliver_all()
    return goal


def racing(lan: Lan) -> tuple[Station, Station]:
    """Lets the executors claim and settle; the one that works, and the other."""
    lan.run(1_000)
    working = [station for station in lan.stations if any(isinstance(r, Execute) for r in station.asked.values())]
    assert len(working) == 1
    return working[0], next(s for s in lan.stations if s is not working[0])


# --- commands ------------------------------------------------------------------------------------------------------


def test_a_goal_is_on_the_disk_then_out_then_answered() -> None:
    lan = Lan().start()
    goal = lan[0].command(SetGoal(text="Japan trip"))
    effects = lan[0].effects
    append = max(n for n, e in enumerate(effects) if isinstance(e, Append) and e.sync)
    publish = max(n for n, e in enumerate(effects) if isinstance(e, Publish))
    assert append < publish
    assert goal in {e.id for e in lan[0].disk}
    lan.deliver_all()
    assert goal in lan[1].machine.plan.goals


def test_an_acknowledged_goal_survives_a_power_cut() -> None:
    lan = Lan(1).start()
    goal = lan[0].command(SetGoal(text="Japan trip"))
    lan[0].restart(power_cut=True)
    assert goal in lan[0].machine.plan.goals


def test_an_empty_goal_is_refused() -> None:
    mistake = Lan(1).start()[0].command(SetGoal(text=" \n\x1b[0m "))
    assert isinstance(mistake, LocalMistake)
    assert "empty" in str(mistake)


def test_a_goal_over_the_limit_is_refused_with_the_limit() -> None:
    station = Lan(1).start()[0]
    mistake = station.command(SetGoal(text="ü" * limits.GOAL_BYTES_MAX))
    assert isinstance(mistake, LocalMistake)
    assert str(limits.GOAL_BYTES_MAX) in str(mistake)
    assert isinstance(station.command(SetGoal(text="x" * limits.GOAL_BYTES_MAX)), str)


@pytest.mark.parametrize("quorum", [0, 1, 3, 1_000, -1])
def test_a_quorum_that_does_not_fit_the_scorers_is_refused_with_its_range(quorum: int) -> None:
    mistake = Lan(2).start()[0].command(SetGoal(text="Japan trip", quorum=quorum))
    assert isinstance(mistake, LocalMistake)
    assert "from 2 to 2" in str(mistake)


@pytest.mark.parametrize("quorum", [-1, 65, 10**9])
def test_a_quorum_that_no_electorate_could_have_is_refused_though_no_scorer_is_known_yet(quorum: int) -> None:
    station = Lan(1, roles=("executor",)).start()[0]
    assert isinstance(station.command(SetGoal(text="Japan trip", quorum=quorum)), LocalMistake)
    assert not station.said(Goal)


def test_a_goal_on_an_observer_is_refused_and_says_what_to_do() -> None:
    lan = Lan(1, observers=1).start()
    for command in (SetGoal(text="Japan trip"), CancelGoal(goal="")):
        lan[0].command(SetGoal(text="Japan trip"))
        lan.deliver_all()
        mistake = lan[1].command(command)
        assert isinstance(mistake, LocalMistake)
        assert "only observes" in str(mistake)


def test_an_observer_authors_nothing_answers_nothing_and_still_has_it_all() -> None:
    lan = Lan(2, observers=1).start()
    lan[0].command(SetGoal(text="Japan trip", limits=Limits(depth=1)))
    assert lan.run(60_000, answering=obliging, until=lan.ended)
    observer = lan[2]
    assert not [e for e in observer.effects if isinstance(e, Publish | Announce | Stream | Ask)]
    assert observer.view().root.results
    assert len(lan.digests()) == 1
    observer.feed(SyncOpened(77, PEERS[0]))
    assert SyncClose(77) in observer.effects


def test_what_does_not_exist_is_said_to_be_unknown() -> None:
    station = Lan(1).start()[0]
    assert isinstance(station.command(ShowGoal()), UnknownId)
    station.command(SetGoal(text="Japan trip"))
    assert isinstance(station.command(ShowGoal(goal="zz")), UnknownId)
    assert isinstance(station.command(CancelGoal(goal="zz")), UnknownId)


def test_an_id_may_be_cut_short_unless_two_goals_share_the_beginning() -> None:
    station = Lan(1).start()[0]
    goals = [str(station.command(SetGoal(text=f"trip {number}"))) for number in range(17)]
    shown = station.command(ShowGoal(goal=goals[3][:12].upper()))
    assert isinstance(shown, GoalView)
    assert shown.id == goals[3]
    shared = next(g[0] for g in goals if sum(o[0] == g[0] for o in goals) > 1)
    assert isinstance(station.command(ShowGoal(goal=shared)), UnknownId)
    lines = station.command(ListGoals())
    assert isinstance(lines, tuple)
    assert {line.id for line in lines} == set(goals)


def test_a_cancelled_goal_stops_the_model_and_cannot_be_cancelled_again() -> None:
    lan = Lan().start()
    leaf_goal(lan)
    working, _ = racing(lan)
    lan[0].command(CancelGoal(goal="", reason="we stay \x1b[31mat home"))
    lan.deliver_all()
    assert not working.asked
    assert lan[1].view().status == "cancelled"
    assert lan[1].view().cancel_reason == "we stay at home"
    assert isinstance(lan[0].command(CancelGoal(goal="")), LocalMistake)


def test_status_and_peers_tell_how_things_stand() -> None:
    lan = Lan(2, observers=1).start()
    status = lan[0].command(ShowStatus())
    assert isinstance(status, StatusView)
    assert (status.peers_connected, status.peers_alive, status.caught_up) == (2, 1, True)
    peers = lan[2].command(ListPeers())
    assert isinstance(peers, tuple)
    assert [p.id for p in peers] == [PEERS[0], PEERS[1]]


# --- events from outside -------------------------------------------------------------------------------------------


def test_a_known_event_is_not_written_again() -> None:
    lan = Lan(1).start()
    event = member(PEERS[3]).envelope
    assert any(isinstance(e, Append) for e in lan[0].hear(event, event))
    assert lan[0].disk.count(event) == 1
    assert not any(isinstance(e, Append) for e in lan[0].hear(event))


def test_a_forged_event_is_refused_and_counted() -> None:
    lan = Lan(1).start()
    good = member(PEERS[3]).envelope
    lan[0].hear(type(good)(good.payload, bytes(64)), type(good)(b"\xc1", bytes(64)))
    status = lan[0].command(ShowStatus())
    assert isinstance(status, StatusView)
    assert status.refused == {"malformed event": 2}
    assert "refused" in [change.kind for change in lan[0].told()]


def test_a_peer_whose_memory_is_full_takes_nothing_in_and_says_so_and_catches_up_when_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lan = Lan(2).start()
    with monkeypatch.context() as crowded:
        crowded.setattr(limits, "EVENTS_BYTES_MAX", lan[0].machine.events.bytes + 1)
        lan[1].command(SPRING)
        lan.deliver_all()
        lan.link(lan[0], lan[1])
        lan.run(5_000)
        status = lan[0].command(ShowStatus())
        assert isinstance(status, StatusView)
        assert status.events == 1
        assert status.refused["no room"]
        assert [change.text for change in lan[0].told()].count(FULL) == 1
    lan.link(lan[0], lan[1])
    assert lan.run(60_000, answering=obliging, until=lambda: lan.ended() and len(lan.digests()) == 1)


def test_hundreds_of_forged_events_are_one_line_of_the_story() -> None:
    lan = Lan(1).start()
    lan[0].hear(*(type(member(PEERS[3]).envelope)(b"\xc1" + bytes([n]), bytes(64)) for n in range(200)))
    assert [change.kind for change in lan[0].told()].count("refused") == 1


def test_an_event_from_the_far_future_is_refused_and_does_not_drag_the_clock() -> None:
    lan = Lan(1).start()
    far = member(PEERS[3], at(limits.DRIFT_MS_MAX + 2_000_000))
    near = member(PEERS[4], at(limits.DRIFT_MS_MAX - 10_000))
    lan[0].hear(far.envelope)
    assert far.id not in lan[0].machine.events
    before = lan[0].command(SetGoal(text="Japan trip"))
    assert hlc.wall_ms(hlc.Hlc(lan[0].plan(before).goal.hlc)) < WALL_MS + 2_000_000  # type: ignore[union-attr]
    lan[0].hear(near.envelope)
    assert near.id in lan[0].machine.events


@pytest.mark.parametrize("years", [-56, 73])  # 1970, where a dead clock's battery ends up; and 2099
def test_a_machine_with_a_clock_beyond_belief_learns_the_time_and_is_not_shut_out(years: int) -> None:
    lan = Lan(3)
    lan[1].wall_offset_ms = -WALL_MS if years < 0 else years * 365 * 86_400_000
    lan.start()
    lan[1].command(SetGoal(text="Japan trip", limits=Limits(depth=1)))
    assert lan.run(60_000, answering=obliging, until=lan.ended)
    assert len(lan.digests()) == 1
    stamps = [hlc.wall_ms(hlc.Hlc(event.hlc)) for event in lan[1].said()]
    assert stamps
    assert WALL_MS <= min(stamps) <= max(stamps) < WALL_MS + 3_600_000


def test_events_of_unknown_kinds_are_kept_and_passed_on() -> None:
    lan = Lan(2)
    lan[0].start()
    strange = unknown(PEERS[5], at(3), "0f" * 32)
    lan[0].hear(strange.envelope)
    lan[1].start()
    lan.run(5_000)
    assert strange.id in lan[1].machine.events
    assert strange.envelope in lan[1].disk
    assert len(lan.digests()) == 1


def test_events_of_who_is_not_a_member_wait() -> None:
    lan = Lan(1).start()
    home = Household(())
    goal = home.goal(PEERS[3], PEERS[3:4])
    lan[0].hear(home.said[0].envelope)
    assert goal not in lan[0].machine.plan.goals
    lan[0].hear(member(PEERS[3]).envelope)
    assert goal in lan[0].machine.plan.goals


def test_damaged_events_in_the_journal_are_left_out_and_counted() -> None:
    lan = Lan(1)
    good = member(PEERS[3]).envelope
    lan[0].feed(Started((good, type(good)(good.payload + b"x", bytes(64)))))
    status = lan[0].command(ShowStatus())
    assert isinstance(status, StatusView)
    assert (status.events, status.refused) == (1, {"journal": 1})


# --- electorate ----------------------------------------------------------------------------------------------------


def test_the_electorate_is_the_scorers_known_by_presence_when_the_goal_is_given() -> None:
    lan = Lan(3, observers=1).start()
    lan[0].command(SetGoal(text="Japan trip"))
    assert set(lan[0].view().electorate) == set(PEERS[:3])
    assert lan[0].view().quorum == 2


def test_where_no_scorer_is_known_the_author_names_the_first_electorate_by_amend() -> None:
    lan = Lan(2)
    lan[0].roles = ("executor",)
    lan[0].begin()
    lan[0].start()
    lan.run(5_000)
    lan[0].command(SetGoal(text="Japan trip"))
    assert lan[0].view().electorate == ()
    assert lan[0].view().root.waits == "no scorer is known yet"
    lan[1].start()
    lan.run(10_000)
    assert [type(e) for e in lan[0].said(Amend)] == [Amend]
    assert lan[1].view().electorate == (PEERS[1],)


def test_a_peer_that_may_have_forgotten_its_amend_catches_up_before_it_names_an_electorate_again() -> None:
    lan = Lan(2)
    lan[0].roles = ("executor",)
    lan[0].begin()
    lan[0].start()
    lan[0].command(SetGoal(text="Japan trip"))
    backup = list(lan[0].disk)
    lan[1].start()
    lan.run(10_000)
    assert len(lan[0].said(Amend)) == 1
    lan.run(5_000)
    lan[0].die()
    lan[0].disk = backup  # restored from before the Amend
    lan[0].synced = len(backup)
    lan[0].begin()
    lan[0].start()
    for _ in range(200):  # presence arrives, sync does not
        lan.flying = [(to, h) for to, h in lan.flying if type(h).__name__ in ("PresenceHeard", "SyncClosed")]
        lan.deliver_all()
        lan.tick(100)
        if lan.mono_ms > 1_000_000 + 30_000:
            break
    assert len(lan[0].said(Amend)) == 1


# --- drafts, marks and votes ---------------------------------------------------------------------------------------


def test_a_model_that_cannot_split_at_all_does_not_hold_up_the_goal() -> None:
    def useless(request: Request) -> Answer:
        if isinstance(request, Propose):
            return Split(subgoals=(Subgoal(title="[tbd]"), Subgoal(title="...")), model="parrot")
        return obliging(request)

    lan = Lan(1).start()
    lan[0].command(SetGoal(text="Japan trip in spring"))
    assert lan.run(600_000, answering=useless, until=lan.ended)
    assert lan[0].view().status == "done"
    assert lan[0].view().root.leaf, "done whole, since no split was to be had"


@pytest.mark.parametrize("threshold", [0.35, 0.6, 0.7, 0.95, 1.0])
def test_to_do_a_task_whole_is_just_good_enough_for_any_threshold(threshold: float) -> None:
    def terse(request: Request) -> Answer:
        return Split(subgoals=(), model="parrot") if isinstance(request, Propose) else obliging(request)

    lan = Lan(1).start()
    lan[0].command(SetGoal(text="Japan trip in spring", policy=Policy(threshold=threshold, strict=True)))
    assert lan.run(60_000, answering=terse, until=lan.ended)
    assert not lan[0].view().root.below_threshold


def test_a_model_that_is_busy_for_a_while_is_asked_again_until_it_splits() -> None:
    lan = Lan(1).start()
    lan[0].command(SetGoal(text="Japan trip in spring", limits=Limits(depth=1)))
    for _ in range(5):
        assert lan.run(200_000, until=lambda: bool(lan[0].asked))
        (job,) = lan[0].asked
        lan[0].asked.pop(job)
        lan[0].feed(Failed(job, "503 server busy"))
    assert lan.run(600_000, answering=obliging, until=lan.ended)
    assert len(lan[0].view().root.children) > 1


def test_text_with_escapes_from_a_model_is_cleaned() -> None:
    def rude(request: Request) -> Answer:
        evil = "\x1b]0;owned\x07\x1b[31m\u202e\ud800\x00"
        match request:
            case Propose():
                titles = (f"Book{evil} flights early", f"Find{evil} quiet hotels", f"Plan{evil} museum days")
                parts = tuple(Subgoal(title=t, detail=evil + "ok", leaf=True) for t in titles)
                return Split(subgoals=parts, model="m" + evil)
            case Judge():
                return Judgement(specific=0.9, disjoint=0.9, covering=0.9, critique="nice" + evil, model="m" + evil)
            case _:
                return Text(text=f"line one{evil}\nline two", model="m" + evil)

    lan = Lan(2).start()
    lan[0].command(SetGoal(text="Japan\x1b[2J trip", limits=Limits(depth=1)))
    assert lan.run(60_000, answering=rude, until=lan.ended)
    assert lan[1].view().status == "done"
    assert lan[1].view().text == "Japan trip"
    leaf = lan[1].view().root.children[0]
    assert "\n" in leaf.results[0].text
    assert is_safe(leaf.results[0].text, lines=True)
    assert all(is_safe(change.text) for change in lan[1].told())


def test_without_a_model_a_scorer_judges_by_the_text() -> None:
    lan = Lan(2)
    lan[0].start(None)
    lan[1].start()
    lan.run(3_000)
    lan[1].command(SetGoal(text="Japan trip", limits=Limits(depth=1)))
    lan.run(60_000, answering=obliging, until=lan.ended)
    scores = lan[0].said(Score)
    assert scores
    assert {score.model for score in scores if isinstance(score, Score)} == {"text checks"}


def test_a_judge_that_fails_twice_is_replaced_by_the_text_checks() -> None:
    lan = Lan(1).start()
    lan[0].command(SetGoal(text="Japan trip", limits=Limits(depth=1)))
    lan[0].answer(kind=Propose)
    for _ in range(2):
        lan.run(60_000, until=lambda: any(isinstance(r, Judge) for r in lan[0].asked.values()))
        job = next(job for job, r in lan[0].asked.items() if isinstance(r, Judge))
        lan[0].asked.pop(job)
        lan[0].feed(Failed(job, "nonsense"))
    assert {score.model for score in lan[0].said(Score) if isinstance(score, Score)} == {"text checks"}


def test_a_judge_that_marks_everything_alike_is_flagged_and_counts_by_the_text_alone() -> None:
    lan = Lan(1).start()
    for number in range(3):
        lan[0].command(SetGoal(text=f"{('Japan', 'Norway', 'Kenya')[number]} trip", limits=Limits(depth=2)))
        lan.run(120_000, answering=obliging, until=lan.ended)
    scores = [score for score in lan[0].said(Score) if isinstance(score, Score) and score.model == "parrot"]
    assert [score.basis for score in scores[:4]] == ["small"] * 4
    assert {score.basis for score in scores[4:]} == {"constant"}
    assert scores[4].mark != pytest.approx(scores[3].mark)


@pytest.mark.parametrize("mark", [98_989.0, -1.0, float("nan"), None])
def test_marks_out_of_range_are_void_and_the_text_counts_alone(mark: float | None) -> None:
    def mad(request: Request) -> Answer:
        if isinstance(request, Judge):
            return Judgement(specific=mark, disjoint=mark, covering=mark, model="parrot")
        return obliging(request)

    lan = Lan(1).start()
    lan[0].command(SetGoal(text="Japan trip", limits=Limits(depth=1)))
    assert lan.run(60_000, answering=mad, until=lan.ended)
    assert {score.basis for score in lan[0].said(Score) if isinstance(score, Score)} == {"text"}


def test_a_general_checklist_is_just_good_enough_so_that_any_better_split_wins() -> None:
    def split(request: Request) -> Answer:
        if isinstance(request, Propose) and request.strategy == "by activity":
            titles = ("Write down the aim", "List the needs", "Set the dates")
            return Split(subgoals=tuple(Subgoal(title=title, leaf=True) for title in titles), model=CHECKLIST)
        return obliging(request)

    lan = Lan(2).start()
    lan[0].command(SetGoal(text="Japan trip", limits=Limits(depth=1)))
    assert lan.run(60_000, answering=split, until=lan.ended)
    proposals = {proposal.model: proposal for proposal in lan[0].view().root.proposals}
    assert proposals[CHECKLIST].mean == pytest.approx(Policy().threshold, abs=1e-3)
    assert proposals["parrot"].accepted


def test_an_executor_that_cannot_read_the_goal_leaves_it_to_the_one_that_split_it() -> None:
    def answering(request: Request) -> Answer:
        titles = ("ホテルを予約する", "電車の切符を買う", "荷物をまとめる")
        if isinstance(request, Propose):
            return Split(subgoals=tuple(Subgoal(title=title, leaf=True) for title in titles), model="able")
        if isinstance(request, Execute):
            return Text(text=f"{request.place.title}ことができました。", model="able")
        return obliging(request)

    lan = Lan(2)
    lan[0].start(type(MODEL)(name="embedded", model="tiny", tier="tiny"))
    lan[1].start()
    lan.run(3_000)
    lan[0].command(SetGoal(text="家族で京都へ旅行する", limits=Limits(depth=1)))
    while not lan[1].said(Proposal):
        lan.deliver_all()
        lan[1].answer(answering)
        lan.tick(500)
    for job in list(lan[0].asked):  # its model has only a checklist to offer
        lan[0].asked.pop(job)
        lan[0].feed(Answered(job, Split(subgoals=(), model=CHECKLIST)))
    assert lan.run(60_000, answering=answering, until=lan.ended)
    assert not lan[0].said(Claim)
    assert {claim.author for claim in lan[1].said(Claim)} == {lan[1].peer}
    assert lan[0].view().status == "done"


def test_a_text_in_another_language_is_refused_and_another_one_asked_for() -> None:
    asked: list[int] = []

    def forgetful(request: Request) -> Answer:
        assert isinstance(request, Execute)
        asked.append(request.attempt)
        english = "Book the flights first and then look for a hotel that is near the station."
        return Text(text=english if request.attempt < 2 else "東京のホテルを予約しました。", model="parrot")

    lan = Lan(1).start()
    lan[0].command(SetGoal(text="家族で京都へ旅行する", limits=WHOLE))
    assert lan.run(60_000, answering=forgetful, until=lan.ended)
    assert asked == [1, 2]
    refused, taken = lan[0].view().root.results
    assert refused.text == "the model wrote in another language than the goal's"
    assert taken.text == "東京のホテルを予約しました。"


def test_a_text_in_another_language_is_better_than_none_and_is_right_where_the_goal_asks_for_it() -> None:
    for goal, attempts in (("家族で京都へ旅行する", 3), ("Write a letter to our landlord in German", 1)):
        lan = Lan(1).start()
        lan[0].command(SetGoal(text=goal, limits=WHOLE))
        text = "Sehr geehrte Frau Meier, hiermit kündige ich die Wohnung zum Ende des Monats."
        assert lan.run(90_000, answering=lambda _, text=text: Text(text=text, model="m"), until=lan.ended)  # type: ignore[misc]
        assert lan[0].view().root.results[-1].attempt == attempts
        assert lan[0].view().status == "done"


@pytest.mark.parametrize("goal", ["do nothing", "🎉🎂🎈"])
def test_a_goal_in_which_there_is_nothing_to_do_ends_as_one_leaf(goal: str) -> None:
    lan = Lan(2).start()
    assert isinstance(lan[0].command(SetGoal(text=goal)), str)
    assert lan.run(60_000, answering=canned.answer, until=lan.ended)
    assert (lan[1].view().status, lan[1].view().tasks) == ("done", 1)


def test_a_split_below_the_threshold_is_accepted_in_the_end_and_marked() -> None:
    def critical(request: Request) -> Answer:
        if isinstance(request, Judge):
            return Judgement(specific=0.1, disjoint=0.1, covering=0.1, model="parrot")
        return obliging(request)

    lan = Lan(2).start()
    lan[0].command(SetGoal(text="Japan trip", limits=Limits(depth=1), policy=Policy(threshold=0.95)))
    assert lan.run(120_000, answering=critical, until=lan.ended)
    root = lan[1].view().root
    assert root.below_threshold
    assert any(proposal.generation for proposal in root.proposals), "it was polished before"
    assert any("below the threshold" in change.text for change in lan[1].told())


def test_a_strict_goal_stays_in_limbo_and_says_why() -> None:
    def critical(request: Request) -> Answer:
        if isinstance(request, Judge):
            return Judgement(specific=0.1, disjoint=0.1, covering=0.1, model="parrot")
        return obliging(request)

    lan = Lan(2).start()
    lan[0].command(
        SetGoal(text="Japan trip", limits=Limits(depth=1), policy=Policy(threshold=0.95, strict=True, polish=1))
    )
    assert not lan.run(120_000, answering=critical, until=lan.ended)
    root = lan[1].view().root
    assert root.status == "deliberating"
    assert root.waits.startswith("no split reaches the threshold of 0.95; the best has 0.")
    assert not lan[0].said(Nomination)


def test_with_too_few_scorers_nothing_is_accepted_and_everyone_sees_why_until_a_quorum_is_back() -> None:
    lan = Lan(3, observers=1).start()
    onlooker = lan[3]
    lan[0].command(SetGoal(text="Japan trip", limits=Limits(depth=1)))
    lan.deliver_all()
    lan[1].die()
    lan[2].die()
    lan.run(20_000, answering=obliging)
    for station in (lan[0], onlooker):
        assert station.view().root.waits == "1 of 3 scorers are here, 2 must agree"
    lan[0].die()
    lan.run(20_000, answering=obliging)
    root = onlooker.view().root
    assert root.waits == "0 of 3 scorers are here, 2 must agree"
    assert root.status == "deliberating"
    assert not root.children
    assert not any(proposal.accepted for proposal in root.proposals)
    lan[0].restart()
    lan.run(20_000, answering=obliging)
    assert onlooker.view().root.status == "deliberating"
    lan[2].restart()
    assert lan.run(20_000, answering=obliging, until=lambda: bool(onlooker.view().root.children))
    assert lan.run(60_000, answering=obliging, until=lambda: onlooker.view().status == "done")


def test_votes_and_promises_are_remembered_over_a_power_cut() -> None:
    lan = Lan(3).start()
    lan[0].command(SetGoal(text="Japan trip", limits=Limits(depth=1)))
    lan.run(30_000, answering=obliging, until=lambda: bool(lan[0].said(Vote)))
    lan[0].restart(power_cut=True)
    lan.run(60_000, answering=obliging, until=lan.ended)
    votes = [(vote.task, vote.ballot) for vote in lan[0].said(Vote) if isinstance(vote, Vote)]
    assert len(votes) == len(set(votes))


def test_a_promise_holds_over_a_power_cut_though_nobody_reminds_of_it() -> None:
    lan = Lan(2).start()
    goal = GoalId(EventId(str(lan[0].command(SetGoal(text="Japan trip", limits=Limits(depth=1))))))
    lan.run(30_000, answering=obliging, until=lambda: len(lan[0].plan().book(TaskId(goal)).proposals) > 0)
    chair = lan[0].plan().electorate.chair(TaskId(goal), 0)
    voter = next(station for station in lan.stations if station.peer != chair)
    split = next(iter(voter.plan().book(TaskId(goal)).proposals))
    lan.of(chair).die()
    lan.run(60_000, answering=obliging, until=lambda: bool(voter.said(Promise)))
    assert [(promise.ballot, promise.approvals) for promise in voter.said(Promise) if isinstance(promise, Promise)] == [
        (1, ())
    ]
    voter.restart(power_cut=True)
    nomination = sealed(
        Nomination(author=chair, hlc=at(1_090_000), goal=goal, task=TaskId(goal), ballot=0, proposal=split)
    )
    voter.hear(member(chair).envelope, nomination.envelope)
    lan.run(60_000, answering=obliging)
    assert not voter.said(Vote), "it has promised not to vote in ballot 0 any more"


# --- the race ------------------------------------------------------------------------------------------------------


def test_with_no_fault_no_leaf_is_executed_twice() -> None:
    lan = Lan(4).start()
    lan[0].command(SetGoal(text="Japan trip", limits=Limits(depth=2)))
    assert lan.run(120_000, answering=obliging, until=lan.ended)
    results = [r for station in lan.stations for r in station.said(Result)]
    assert len({r.task for r in results if isinstance(r, Result)}) == len(results)


def test_of_two_that_claim_at_once_one_gives_way_stops_its_model_and_publishes_nothing() -> None:
    lan = Lan(2).start()
    lan[0].command(SPRING)
    goal = [e for e in lan[0].disk if type(open_envelope(e, SWARM).event) in (Member, Goal)]
    held, lan.flying = lan.flying, []
    lan[1].hear(*goal)  # the goal comes through, the claim does not yet
    assert all(station.said(Claim) for station in lan.stations)
    lan.mono_ms += 2 * TIMING.settle_ms
    for station in lan.stations:
        station.feed(Ticked())
        assert station.asked
    lan.flying = held + lan.flying
    lan.deliver_all()
    (working,) = (station for station in lan.stations if station.asked)
    (loser,) = (station for station in lan.stations if not station.asked)
    assert any(isinstance(e, Abort) for e in loser.effects)
    lan.run(60_000, answering=obliging, until=lan.ended)
    assert not loser.said(Result)
    assert [r.executor for r in lan[0].view().root.results] == [working.peer]


def test_a_holder_that_hears_of_an_earlier_claim_aborts_and_its_answer_is_dropped() -> None:
    lan = Lan(2)
    lan[1].start()
    lan.run(3_000)
    goal = GoalId(EventId(str(lan[1].command(SPRING))))
    lan.run(1_000)
    (job,) = lan[1].asked
    (mine,) = lan[1].said(Claim)
    earlier = Claim(author=PEERS[0], hlc=mine.hlc, goal=goal, task=TaskId(goal), attempt=1, lease_ms=60_000)
    effects = lan[1].hear(member(PEERS[0]).envelope, sealed(earlier).envelope)  # same stamp, lower peer id
    assert Abort(job) in effects
    lan[1].feed(Answered(job, Text(text="too late", model="parrot")))
    assert not lan[1].said(Result)


def test_a_claim_waits_a_settle_time_before_tokens_are_spent() -> None:
    lan = Lan(1).start()
    leaf_goal(lan)
    while not lan[0].said(Claim):
        lan.tick(50)
    assert not lan[0].asked
    lan.run(200)
    assert [type(r) for r in lan[0].asked.values()] == [Execute]


def test_an_executor_holds_no_more_claims_than_it_has_free_slots() -> None:
    lan = Lan(1).start()
    for number in range(3):
        lan[0].command(SetGoal(text=f"trip {number}", limits=WHOLE))
    lan.run(5_000)
    assert len(lan[0].said(Claim)) == 1
    lan.run(30_000, answering=obliging, until=lan.ended)
    assert len(lan[0].said(Claim)) == 3


def test_a_lease_is_kept_alive_by_live_chunks_and_runs_out_in_silence() -> None:
    lan = Lan(2).start()
    leaf_goal(lan)
    working, other = racing(lan)
    lan.run(25_000)  # two and a half leases: the worker renews
    assert [e for e in working.effects if isinstance(e, Stream)]
    assert not other.said(Claim)
    lan.cut(working, other)
    assert lan.run(12_000, until=lambda: bool(other.said(Claim)))
    assert [c.attempt for c in other.said(Claim) if isinstance(c, Claim)] == [2]


def test_what_a_silent_holder_had_written_is_shown_as_superseded_until_the_goal_ends() -> None:
    lan = Lan(2).start()
    goal = leaf_goal(lan)
    working, other = racing(lan)
    working.feed(Chunk(next(iter(working.asked)), "Take the night train"))
    lan.run(1_000)
    lan.cut(working, other)
    assert lan.run(12_000, until=lambda: bool(other.said(Claim)))
    (shown,) = other.view().root.superseded
    assert (shown.executor, shown.attempt, shown.text) == (working.peer, 1, "Take the night train")
    assert other.view().root.stream == ""
    other.command(CancelGoal(goal=goal))
    (shown,) = other.view().root.superseded
    assert (shown.attempt, shown.text) == (1, "")


def test_a_wall_clock_that_jumps_ends_no_lease_and_lengthens_none() -> None:
    lan = Lan(2).start()
    leaf_goal(lan)
    working, other = racing(lan)
    for hours in (3, -5, 0):
        other.wall_offset_ms = hours * 3_600_000
        lan.run(4_000)
    assert not other.said(Claim)
    other.wall_offset_ms = -3_600_000
    lan.cut(working, other)
    assert lan.run(12_000, until=lambda: bool(other.said(Claim)))


def test_a_strangers_live_chunk_does_not_keep_a_lease() -> None:
    lan = Lan(2).start()
    goal = leaf_goal(lan)
    working, other = racing(lan)
    lan.cut(working, other)
    claim = next(iter(other.plan(goal).book(goal).claims))  # type: ignore[arg-type]
    live = Live(goal=goal, task=goal, claim=claim, offset=0, text="I do")
    for _ in range(12):
        lan.run(1_000)
        other.feed(LiveHeard(PEERS[5], live))
    assert [c.attempt for c in other.said(Claim) if isinstance(c, Claim)] == [2]


def test_what_a_leaving_peer_held_is_retaken_at_once() -> None:
    lan = Lan(2).start()
    leaf_goal(lan)
    working, other = racing(lan)
    working.feed(Stopping())
    working.armed_ms = None
    assert lan.run(2_000, until=lambda: bool(other.said(Claim)))
    lan.run(2_000, answering=obliging)
    assert other.view().status == "done"


def test_the_last_word_of_a_leaving_peer_is_goodbye() -> None:
    lan = Lan(2).start()
    effects = lan[0].feed(Stopping())
    assert [e.presence.leaving for e in effects if isinstance(e, Announce)] == [True]
    lan.deliver_all()
    assert "left" in [change.kind for change in lan[1].told()]


def test_failed_attempts_move_to_another_executor_and_end_in_a_failed_leaf() -> None:
    lan = Lan(2).start()
    leaf_goal(lan, SetGoal(text="Japan trip in spring", limits=WHOLE, policy=Policy(attempts=3)))
    executors = []
    for _ in range(3):
        assert lan.run(60_000, until=lambda: any(s.asked for s in lan.stations))
        working = next(s for s in lan.stations if s.asked)
        executors.append(working.peer)
        (job,) = working.asked
        working.asked.pop(job)
        working.feed(Failed(job, "no idea \x1b[31m"))
    lan.run(5_000)
    assert executors[0] != executors[1]
    view = lan[0].view()
    assert (view.status, view.root.status) == ("failed", "failed")
    assert [r.text for r in view.root.results] == ["no idea"] * 3
    assert len(lan.digests()) == 1


def test_an_empty_answer_is_a_failed_attempt() -> None:
    lan = Lan(1).start()
    leaf_goal(lan)
    lan.run(1_000)
    lan[0].answer(lambda request: Text(text=" \x1b[0m\n", model="parrot"))
    assert [r.status for r in lan[0].view().root.results] == ["failed"]


def test_a_model_that_goes_away_gives_its_work_back() -> None:
    lan = Lan(2).start()
    leaf_goal(lan)
    working, other = racing(lan)
    working.feed(BackendChanged(None))
    assert not working.asked
    assert lan.run(10_000, answering=obliging, until=lan.ended)
    assert [r.executor for r in lan[0].view().root.results if r.counts] == [other.peer]


def test_a_result_over_128_kib_is_cut_and_says_so() -> None:
    lan = Lan(1).start()
    leaf_goal(lan)
    lan.run(1_000)
    lan[0].answer(lambda request: Text(text="🎌" * 600_000, model="parrot"))
    (result,) = lan[0].view().root.results
    assert len(result.text.encode()) <= limits.RESULT_BYTES_MAX
    assert len(result.text.encode()) > limits.RESULT_BYTES_MAX - 100
    assert result.text.startswith("🎌🎌")
    assert result.text.endswith("[cut: the text was longer than a result may be]")


def test_running_text_reaches_viewers_and_a_lost_chunk_shows_as_a_gap_only_once() -> None:
    lan = Lan(2).start()
    leaf_goal(lan)
    working, other = racing(lan)
    (job,) = working.asked
    for number, word in enumerate(("one ", "two ", "three ", "four ")):
        working.feed(Chunk(job, word))
        lan.mono_ms += 600
        working.feed(Chunk(job, ""))
        if number == 1:
            lan.flying.clear()
        lan.deliver_all()
    assert working.view().root.stream == "one two three four "
    assert other.view().root.stream.count("…") == 1
    assert other.view().root.stream.endswith("three four ")


def test_a_restarted_executor_catches_up_before_it_works_on_an_old_claim() -> None:
    lan = Lan(2).start()
    leaf_goal(lan)
    working, other = racing(lan)
    working.die()
    assert lan.run(30_000, answering=obliging, until=lambda: other.view().status == "done")
    working.begin()
    working.start()
    for _ in range(40):  # the link is up, but nothing comes through it yet
        lan.flying.clear()
        lan.tick(100)
    assert not working.asked
    lan.run(40_000, answering=obliging)
    assert len(lan.digests()) == 1
    assert not working.said(Result)


# --- ends ----------------------------------------------------------------------------------------------------------


def test_a_tree_of_two_levels_is_split_executed_and_composed() -> None:
    lan = Lan(3).start()
    lan[1].command(SetGoal(text="Japan trip", limits=Limits(depth=2)))
    composed = []

    def answering(request: Request) -> Answer:
        if isinstance(request, Compose):
            composed.append(request.place.title)
        return obliging(request)

    assert lan.run(120_000, answering=answering, until=lan.ended)
    view = lan[0].view()
    assert view.status == "done"
    assert view.tasks == view.done
    assert composed[-1] == "Japan trip"
    assert len(lan.digests()) == 1


def test_peers_with_nothing_to_do_fall_quiet() -> None:
    lan = Lan(2).start()
    lan[0].command(SetGoal(text="Japan trip", limits=WHOLE))
    assert lan.run(60_000, answering=obliging, until=lan.ended)
    lan.run(10_000)
    before = len(lan[0].effects)
    lan.run(10_000)
    kinds = {type(e) for e in lan[0].effects[before:]}
    assert not kinds & {Publish, Append, Ask}


def test_a_late_joiner_learns_everything_though_the_author_is_gone() -> None:
    lan = Lan(3)
    lan[0].start()
    lan[1].start()
    lan.run(3_000)
    lan[0].command(SetGoal(text="Japan trip", limits=Limits(depth=1)))
    assert lan.run(60_000, answering=obliging, until=lambda: bool(lan[1].machine.plan.goals) and lan[1].plan().ended)
    lan[0].die()
    lan[2].start()
    lan.run(5_000)
    assert lan[2].machine.plan.digest() == lan[1].machine.plan.digest()


def test_a_split_proposed_by_a_model_may_not_hold_more_than_the_goal_allows() -> None:
    lan = Lan(1).start()
    lan[0].command(SetGoal(text="Japan trip", limits=Limits(depth=1, children=2)))
    parts = tuple(part(t) for t in ("Book cheap flights", "Find quiet hotels", "Plan museum days", "Buy rail passes"))
    lan[0].answer(lambda request: Split(subgoals=parts, model="parrot"), Propose)
    (proposal,) = lan[0].said(Proposal)
    assert isinstance(proposal, Proposal)
    assert len(proposal.subgoals) == 2


def test_an_answer_that_nobody_asked_for_is_ignored() -> None:
    lan = Lan(1).start()
    lan[0].feed(Answered(99, Text(text="hello", model="parrot")))
    lan[0].feed(Failed(98, "sorry"))
    lan[0].feed(Chunk(97, "la"))
    assert not lan[0].said(Result)


def test_the_first_thing_a_peer_says_is_that_it_is_a_member() -> None:
    lan = Lan(1).start()
    assert not lan[0].said()
    lan[0].command(SetGoal(text="Japan trip"))
    assert [type(e) for e in lan[0].said()][:2] == [Member, Goal]


def test_a_backend_with_more_slots_works_on_more_at_once() -> None:
    lan = Lan(1).start()
    lan[0].feed(BackendChanged(type(MODEL)(name="scripted", model="parrots", tier="good", slots=3)))
    for number in range(3):
        lan[0].command(SetGoal(text=f"trip {number}", limits=WHOLE))
    lan.run(1_000)
    assert len(lan[0].asked) == 3


def test_their_fault_is_never_ours() -> None:
    assert not issubclass(RemoteFault, LocalMistake)
    assert issubclass(UnknownId, LocalMistake)
