"""Two replicas under whatever happens in whatever order: they never contradict each other, and a sync makes them
equal."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from swarmd.events.envelope import open_envelope
from swarmd.events.kinds import Claim, Limits, Policy, Promise, Result, Vote
from swarmd.replica.inputs import (
    BackendChanged,
    CancelGoal,
    Chunk,
    Failed,
    Heard,
    SetGoal,
    ShowGoal,
    ShowStatus,
    Stopping,
    SyncClosed,
    SyncHeard,
)
from tests.household import PEERS, SWARM, at, member, unknown
from tests.lan import MODEL, Lan, Station, obliging

sides = st.integers(0, 1)
numbers = st.integers(0, 1_000)


class TwoReplicas(RuleBasedStateMachine):
    """Two stations; every rule is something that a bad evening may bring."""

    def __init__(self) -> None:
        super().__init__()
        self.lan = Lan(2, observers=1, seed=3).start()
        self.accepted: dict[tuple[str, str], str] = {}
        self.goals = 0

    def of(self, side: int) -> Station:
        return self.lan[side]

    # --- people and models -----------------------------------------------------------------------------------------

    @precondition(lambda self: self.goals < 3)
    @rule(side=sides, depth=st.integers(0, 2), strict=st.booleans())
    def give_a_goal(self, side: int, depth: int, strict: bool) -> None:
        self.goals += 1
        policy = Policy(strict=strict, lease_ms=3_000, attempts=2)
        answer = self.of(side).command(SetGoal(text=f"trip {self.goals}", limits=Limits(depth=depth), policy=policy))
        assert isinstance(answer, str)

    @rule(side=sides)
    def cancel_the_newest(self, side: int) -> None:
        if self.goals > 2:
            self.of(side).command(CancelGoal(goal=""))

    @rule(side=sides)
    def look(self, side: int) -> None:
        self.of(side).command(ShowGoal())
        self.of(side).command(ShowStatus())

    @rule(side=sides)
    def the_model_answers(self, side: int) -> None:
        self.of(side).answer(obliging)

    @rule(side=sides)
    def the_model_fails(self, side: int) -> None:
        for job in list(self.of(side).asked)[:1]:
            del self.of(side).asked[job]
            self.of(side).feed(Failed(job, "no idea"))

    @rule(side=sides, text=st.text(max_size=20))
    def the_model_writes(self, side: int, text: str) -> None:
        for job in list(self.of(side).asked)[:1]:
            self.of(side).feed(Chunk(job, text))

    @rule(side=sides, gone=st.booleans())
    def the_model_comes_or_goes(self, side: int, gone: bool) -> None:
        self.of(side).feed(BackendChanged(None if gone else MODEL))

    # --- the network -----------------------------------------------------------------------------------------------

    @precondition(lambda self: self.lan.flying)
    @rule(number=numbers, count=st.integers(1, 12))
    def some_messages_arrive(self, number: int, count: int) -> None:
        """In any order, but a stream's frames in theirs."""
        for _ in range(min(count, len(self.lan.flying))):
            index = number % len(self.lan.flying)
            if isinstance(self.lan.flying[index][1], SyncHeard | SyncClosed):
                index = next(n for n, (_, h) in enumerate(self.lan.flying) if isinstance(h, SyncHeard | SyncClosed))
            station, happened = self.lan.flying.pop(index)
            station.feed(happened)

    @rule()
    def everything_arrives(self) -> None:
        self.lan.deliver_all()

    @precondition(lambda self: self.lan.flying)
    @rule(number=numbers)
    def a_broadcast_is_lost(self, number: int) -> None:
        index = number % len(self.lan.flying)
        if not isinstance(self.lan.flying[index][1], SyncHeard | SyncClosed):
            self.lan.flying.pop(index)

    @precondition(lambda self: self.lan.flying)
    @rule(number=numbers)
    def a_broadcast_comes_twice(self, number: int) -> None:
        station, happened = self.lan.flying[number % len(self.lan.flying)]
        if isinstance(happened, Heard):
            self.lan.flying.append((station, happened))

    @rule()
    def the_link_breaks(self) -> None:
        self.lan.cut(self.lan[0], self.lan[1])

    @rule()
    def the_link_comes_up(self) -> None:
        self.lan.link(self.lan[0], self.lan[1])

    @rule(side=sides, ms=st.integers(0, 200), name=st.sampled_from("ab"))
    def a_third_speaks(self, side: int, ms: int, name: str) -> None:
        self.of(side).hear(member(PEERS[3], at(ms), name).envelope, unknown(PEERS[4], at(ms)).envelope)

    # --- time and death --------------------------------------------------------------------------------------------

    @rule(ms=st.sampled_from((1, 50, 300, 1_000, 5_000)), steps=st.integers(1, 10))
    def time_passes(self, ms: int, steps: int) -> None:
        for _ in range(steps):
            self.lan.tick(ms)

    @rule(side=sides, power_cut=st.booleans())
    def one_restarts(self, side: int, power_cut: bool) -> None:
        self.of(side).restart(power_cut=power_cut)

    @rule(side=sides)
    def one_says_goodbye_and_comes_back(self, side: int) -> None:
        self.of(side).feed(Stopping())
        self.of(side).restart()

    # --- what must hold --------------------------------------------------------------------------------------------

    @invariant()
    def no_two_splits_are_ever_accepted_for_one_task(self) -> None:
        for station in self.lan.stations:
            for goal in station.machine.plan.goals.values():
                for task in goal.walk():
                    if task.accepted is not None:
                        first = self.accepted.setdefault((goal.id, task.id), task.accepted.proposal)
                        assert task.accepted.proposal == first

    @invariant()
    def nobody_breaks_its_word(self) -> None:
        for station in self.lan.stations:
            promised: dict[str, int] = {}
            voted: set[tuple[str, int]] = set()
            for event in station.said(Promise, Vote):
                if isinstance(event, Promise):
                    promised[event.task] = max(event.ballot, promised.get(event.task, 0))
                elif isinstance(event, Vote):
                    assert event.ballot >= promised.get(event.task, 0)
                    assert (event.task, event.ballot) not in voted
                    voted.add((event.task, event.ballot))

    @invariant()
    def results_come_from_own_claims(self) -> None:
        for station in self.lan.stations:
            claims = {e.id for e in station.disk if isinstance(open_envelope(e, SWARM).event, Claim)}
            assert all(r.claim in claims for r in station.said(Result) if isinstance(r, Result))

    def teardown(self) -> None:
        self.lan.cut(self.lan[0], self.lan[1])
        self.lan.link(self.lan[0], self.lan[1])
        assert self.lan.run(60_000, until=self.level), "linked and left alone, they become level"
        one, other = (station.machine.plan.digest() for station in self.lan.stations[:2])
        assert one == other
        for station in self.lan.stations:
            station.feed(BackendChanged(MODEL))
        if (
            all(goal.goal and not goal.goal.policy.strict for goal in self.lan[0].machine.plan.goals.values())
            and self.goals
        ):
            assert self.lan.run(900_000, answering=obliging, until=self.lan.ended), "and every goal ends"

    def level(self) -> bool:
        """The observer may know more: what the others lost with their power it is too mute to give back."""
        one, other, observer = ({event.id for event in s.machine.events} for s in self.lan.stations)
        return one == other <= observer


def test_any_interleaving_of_inputs_leaves_two_replicas_equal_after_a_sync() -> None:
    run_state_machine_as_test(
        TwoReplicas, settings=settings(max_examples=25, stateful_step_count=40, derandomize=True, deadline=None)
    )
