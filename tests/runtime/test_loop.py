"""The loop on virtual time, with in-memory ports: what comes out, in which order; never how tasks were scheduled."""

import errno
import io
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import pytest
import trio
from trio.testing import MockClock

from swarmd.daemon.journal import Pace, Scribe
from swarmd.daemon.loop import Loop
from swarmd.events.envelope import Envelope, Identity, Swarm
from swarmd.events.kinds import Limits, Policy
from swarmd.gossip.frames import Frame, GroupSummary, Live, Presence
from swarmd.plan.views import Change, EventPage, GoalView, TaskPage
from swarmd.ports import Deliver
from swarmd.replica.inputs import (
    Heard,
    ListEvents,
    ListGoals,
    Now,
    PresenceHeard,
    SetGoal,
    ShowGoal,
    ShowStatus,
    ShowTask,
)
from swarmd.replica.machine import Machine
from swarmd.replica.status import StatusView
from swarmd.roles.canned import answer
from swarmd.roles.scene import Timing
from swarmd.roles.work import Answer, Backend, Request
from swarmd.vocab.faults import LocalMistake, RemoteFault, UnknownId
from swarmd.vocab.ids import EventId, PeerId

SWARM = Swarm.of_key(b"k" * 32)
EPOCH_MS = 1_790_000_000_000


class VirtualClock:
    """Both clocks from trio's virtual one."""

    def now(self) -> Now:
        mono = int(trio.current_time() * 1_000)
        return Now(EPOCH_MS + mono, mono)


@dataclass
class MemoryStore:
    kept: list[Envelope] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    full: bool = False
    left: list[GroupSummary] = field(default_factory=list)

    def load(self) -> tuple[Envelope, ...]:
        return tuple(self.kept)

    def append(self, envelopes: Sequence[Envelope], *, sync: bool) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.kept += [envelope for envelope in envelopes if envelope not in self.kept]
        self.log += [f"append {envelope.id}" for envelope in envelopes]

    def forget(self, goals: Sequence[GroupSummary], events: Sequence[EventId]) -> None:
        self.left += goals
        self.kept = [envelope for envelope in self.kept if envelope.id not in events]

    def forgotten(self) -> tuple[GroupSummary, ...]:
        return tuple(self.left)

    def size(self) -> int:
        return sum(envelope.size for envelope in self.kept)

    def close(self) -> None:
        pass


@dataclass
class DeafNet:
    """Nobody else is there; what is published is noted."""

    log: list[str]
    presences: list[Presence] = field(default_factory=list)
    lives: list[Live] = field(default_factory=list)

    async def run(self, deliver: Deliver, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        await trio.sleep_forever()

    def publish(self, envelopes: Sequence[Envelope]) -> None:
        self.log += [f"publish {envelope.id}" for envelope in envelopes]

    def announce(self, presence: Presence) -> None:
        self.presences.append(presence)

    def stream(self, live: Live) -> None:
        self.lives.append(live)

    def sync_open(self, session: int, peer: PeerId) -> None: ...
    def sync_send(self, session: int, frame: Frame) -> None: ...
    def sync_close(self, session: int) -> None: ...

    def addresses(self) -> tuple[str, ...]:
        return ()

    def notices(self) -> tuple[str, ...]:
        return ()

    def counters(self) -> dict[str, int]:
        return {}


@dataclass
class CannedLlm:
    """Answers after *delay_s*; fails the first *faults* requests; notes which were cancelled."""

    delay_s: float = 0.2
    faults: int = 0
    away: bool = False
    cancelled: int = 0

    async def probe(self) -> Backend:
        if self.away:
            raise LocalMistake("no model here; run: ollama pull qwen3:4b")
        return Backend(name="scripted", model="canned", tier="small", slots=2)

    async def measure(self) -> None: ...

    async def run(self, request: Request, on_text: Callable[[str], None]) -> Answer:
        try:
            await trio.sleep(self.delay_s)
        except trio.Cancelled:
            self.cancelled += 1
            raise
        if self.faults:
            self.faults -= 1
            raise RemoteFault("the model stumbled")
        on_text("some text")
        return answer(request)

    async def close(self) -> None: ...


@dataclass
class House:
    loop: Loop
    store: MemoryStore
    net: DeafNet
    llm: CannedLlm

    async def choose(self) -> CannedLlm:
        """What the daemon looks for a model with."""
        return self.llm


def house(roles: tuple[str, ...] = ("decomposer", "scorer", "executor"), **llm: object) -> House:
    store = MemoryStore()
    net = DeafNet(store.log)
    model = CannedLlm(**llm)  # type: ignore[arg-type]
    machine = Machine(
        Identity(b"1" * 32), SWARM, name="alone", roles=roles, timing=Timing(), rng=random.Random(1), version="test"
    )
    home = House(None, store, net, model)  # type: ignore[arg-type]
    home.loop = Loop(machine, store=store, net=net, choose=home.choose, clock=VirtualClock())
    return home


def live_for(home: House, journey: Callable[[House], Awaitable[None]], *, jump_s: float = 0.01) -> None:
    """Run the daemon's loop on virtual time while *journey* runs. *jump_s*: real time after which the clock jumps; what
    the disk needs, if anything is written."""

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(lambda task_status: home.loop.run(task_status=task_status))
            await journey(home)
            home.loop.stop()

    trio.run(main, clock=MockClock(autojump_threshold=jump_s))


async def ended(home: House, goal: str) -> GoalView:
    with trio.fail_after(600):
        while True:
            view = await home.loop.command(ShowGoal(goal=goal))
            assert isinstance(view, GoalView)
            if view.status != "open":
                return view
            await trio.sleep(1)


def test_a_peer_that_is_alone_plans_a_goal_to_its_end() -> None:
    home = house()

    async def journey(home: House) -> None:
        await trio.sleep(20)
        goal = await home.loop.command(SetGoal(text="Plan a trip", limits=Limits(depth=2)))
        view = await ended(home, str(goal))
        assert view.status == "done"
        assert view.done == view.tasks > 4

    live_for(home, journey)


def test_own_events_are_on_disk_before_they_are_published() -> None:
    home = house()

    async def journey(home: House) -> None:
        await trio.sleep(20)
        goal = await home.loop.command(SetGoal(text="Plan a trip", limits=Limits(depth=1)))
        await ended(home, str(goal))

    live_for(home, journey)
    log = home.store.log
    published = [line.split()[1] for line in log if line.startswith("publish")]
    assert published
    for identifier in published:
        assert log.index(f"append {identifier}") < log.index(f"publish {identifier}")


def test_a_goal_is_acknowledged_only_when_it_is_on_disk() -> None:
    home = house()

    async def journey(home: House) -> None:
        goal = await home.loop.command(SetGoal(text="Plan a trip"))
        assert f"append {goal}" in home.store.log

    live_for(home, journey)


def test_a_goal_given_before_anybody_is_known_gets_its_electorate_later() -> None:
    home = house()

    async def journey(home: House) -> None:
        goal = await home.loop.command(SetGoal(text="Plan a trip", limits=Limits(depth=1)))
        view = await home.loop.command(ShowGoal(goal=str(goal)))
        assert isinstance(view, GoalView)
        assert view.electorate == ()
        assert view.root.waits == "no scorer is known yet"
        assert (await ended(home, str(goal))).status == "done"

    live_for(home, journey)


def test_a_model_that_stumbles_only_delays_the_plan() -> None:
    home = house(faults=3)

    async def journey(home: House) -> None:
        goal = await home.loop.command(SetGoal(text="Plan a trip", limits=Limits(depth=2)))
        assert (await ended(home, str(goal))).status == "done"

    live_for(home, journey)


def test_a_model_that_is_away_withdraws_roles_and_its_return_brings_them_back() -> None:
    home = house(away=True)

    async def journey(home: House) -> None:
        await trio.sleep(20)
        status = await home.loop.command(ShowStatus())
        assert isinstance(status, StatusView)
        assert status.roles == ("scorer",)
        assert status.no_model == "no model here; run: ollama pull qwen3:4b"
        home.llm.away = False
        await trio.sleep(10)
        status = await home.loop.command(ShowStatus())
        assert isinstance(status, StatusView)
        assert status.roles == ("decomposer", "scorer", "executor")
        assert status.no_model == ""

    live_for(home, journey)


def test_a_model_that_comes_and_goes_in_the_middle_of_work_only_delays_the_plan() -> None:
    home = house()

    async def journey(home: House) -> None:
        goal = await home.loop.command(SetGoal(text="Plan a trip", limits=Limits(depth=2)))
        for _ in range(8):
            await trio.sleep(7)
            home.llm.away = not home.llm.away
            home.loop.choose_by(home.choose)  # looked for at once
        home.llm.away = False
        assert (await ended(home, str(goal))).status == "done"

    live_for(home, journey)


def test_stopping_says_goodbye_and_cancels_what_the_model_does() -> None:
    home = house(delay_s=30.0)

    async def journey(home: House) -> None:
        await trio.sleep(20)
        await home.loop.command(SetGoal(text="Plan a trip", limits=Limits(depth=1)))
        await trio.sleep(5)

    live_for(home, journey)
    assert home.net.presences[-1].leaving
    assert home.llm.cancelled >= 1


def test_a_restart_from_the_journal_shows_the_same_plan() -> None:
    first = house()
    seen: list[GoalView] = []

    async def journey(home: House) -> None:
        goal = await home.loop.command(SetGoal(text="Plan a trip", limits=Limits(depth=2)))
        seen.append(await ended(home, str(goal)))

    async def look(home: House) -> None:
        view = await home.loop.command(ShowGoal())
        assert isinstance(view, GoalView)
        seen.append(view)

    live_for(first, journey)
    second = house()
    second.store.kept = list(first.store.kept)
    live_for(second, look)
    assert seen[0].digest == seen[1].digest


def test_an_observer_publishes_nothing_and_refuses_goals() -> None:
    home = house(roles=())

    async def journey(home: House) -> None:
        await trio.sleep(60)
        with pytest.raises(LocalMistake, match="only observes"):
            await home.loop.command(SetGoal(text="Plan a trip"))

    live_for(home, journey)
    assert home.net.presences == []
    assert home.store.log == []


def test_an_empty_goal_and_one_over_the_limit_are_refused_in_words() -> None:
    home = house()

    async def journey(home: House) -> None:
        with pytest.raises(LocalMistake, match="empty"):
            await home.loop.command(SetGoal(text=" \x1b[31m\n "))
        with pytest.raises(LocalMistake, match="8192"):
            await home.loop.command(SetGoal(text="x" * 100_000))
        assert await home.loop.command(ListGoals()) == ()

    live_for(home, journey)


def test_a_watcher_hears_the_story_and_a_slow_one_is_told_that_it_lost_some() -> None:
    home = house()
    heard: list[Change] = []

    async def journey(home: House) -> None:
        with home.loop.watch() as changes, home.loop.watch():  # the second never reads
            await home.loop.command(SetGoal(text="Plan a trip", limits=Limits(depth=1), policy=Policy(threshold=0.0)))
            with trio.move_on_after(120):
                async for change in changes:
                    heard.append(change)
                    if change.kind == "ended":
                        break

    live_for(home, journey)
    assert {"goal", "proposal", "score", "vote", "accepted", "claim", "result", "ended"} <= {c.kind for c in heard}


def test_every_task_tells_how_it_was_decided_and_the_story_can_be_searched() -> None:
    home = house()

    async def journey(home: House) -> None:
        goal = str(await home.loop.command(SetGoal(text="Plan a trip", limits=Limits(depth=2))))
        view = await ended(home, goal)
        page = await home.loop.command(ShowTask(task=view.root.children[0].id[:12]))
        assert isinstance(page, TaskPage)
        assert page.task == view.root.children[0]
        assert page.path == ("Plan a trip",)
        root = await home.loop.command(ShowTask())
        assert isinstance(root, TaskPage)
        assert root.ballots[-1].nominated == tuple(p.id for p in root.task.proposals if p.accepted)
        votes = await home.loop.command(ListEvents(goal=goal[:6], peer="ALONE", kinds=("vote", "goal"), count=1_000))
        assert isinstance(votes, EventPage)
        assert (votes.goal, votes.peer) == (goal, home.loop._machine.peer)
        assert {event.kind for event in votes.events} == {"vote", "goal"}
        assert [event.wall_ms for event in votes.events] == sorted(event.wall_ms for event in votes.events)
        last = await home.loop.command(ListEvents(task=goal, count=1))
        assert isinstance(last, EventPage)
        assert [(event.kind, event.task) for event in last.events] == [("result", goal)]
        for wrong in (ShowTask(task="ffff"), ListEvents(peer="nobody"), ListEvents(goal="ffff")):
            with pytest.raises(UnknownId, match=r"no (task|peer|goal)"):
                await home.loop.command(wrong)

    live_for(home, journey)


def test_an_idle_hour_among_flapping_and_hostile_peers_is_told_in_few_lines() -> None:
    """Two peers come and go every minute, one sends rubbish every second, and nobody has a goal."""
    home = house()
    stream = io.StringIO()
    scribe = Scribe(stream, None, to_journal=True)
    log = logging.getLogger("swarmd")
    peers = [Identity(bytes([number]) * 32).peer for number in (7, 8)]

    async def journey(home: House) -> None:
        scribe.addFilter(Pace(trio.current_time))
        log.addHandler(scribe)
        log.setLevel(logging.INFO)
        deliver = home.loop._inbox.deliver
        for second in range(3_600):
            deliver(Heard((Envelope(b"rubbish %d" % second, bytes(64)),), peers[0]))
            if second % 60 < 30 and second % 4 == 0:
                word = Presence(
                    name="flapping",
                    roles=(),
                    wall_ms=VirtualClock().now().wall_ms,
                    hlc=0,
                    fingerprint=bytes(16),
                    run=bytes(16),
                )
                for peer in peers:
                    deliver(PresenceHeard(peer, word))
            await trio.sleep(1)

    try:
        live_for(home, journey, jump_s=0)
    finally:
        log.removeHandler(scribe)
        log.setLevel(logging.NOTSET)
    assert 20 < len(stream.getvalue().splitlines()) <= 200


def test_a_full_disk_makes_an_observer_that_says_why_and_speaks_again_when_there_is_room() -> None:
    home = house()

    async def status(home: House) -> StatusView:
        found = await home.loop.command(ShowStatus())
        assert isinstance(found, StatusView)
        return found

    async def journey(home: House) -> None:
        await trio.sleep(20)
        goal = str(await home.loop.command(SetGoal(text="Plan a trip", limits=Limits(depth=2))))
        await trio.sleep(1)
        home.store.full = True
        with trio.fail_after(120):
            while not (await status(home)).trouble:
                await trio.sleep(1)
        published, announced = len(home.net.log), len(home.net.presences)
        with pytest.raises(LocalMistake, match="No space left on device"):
            await home.loop.command(SetGoal(text="Another trip"))
        view = await home.loop.command(ShowGoal(goal=goal))
        assert isinstance(view, GoalView) and view.text == "Plan a trip"
        await trio.sleep(300)
        assert (len(home.net.log), len(home.net.presences)) == (published, announced)
        assert (await status(home)).roles == ("observer",)
        home.store.full = False
        assert (await ended(home, goal)).status == "done"
        assert (await status(home)).trouble == ""
        assert {opened.id for opened in home.loop._machine.events} == {envelope.id for envelope in home.store.kept}

    live_for(home, journey)


def test_a_disk_that_is_full_from_the_start_does_not_keep_the_daemon_from_starting() -> None:
    home = house()
    home.store.full = True

    async def journey(home: House) -> None:
        with pytest.raises(LocalMistake, match="No space left on device"):
            await home.loop.command(SetGoal(text="Plan a trip"))
        home.store.full = False
        await trio.sleep(10)
        goal = await home.loop.command(SetGoal(text="Plan a trip", limits=Limits(depth=1)))
        assert (await ended(home, str(goal))).status == "done"

    live_for(home, journey)


def test_a_goal_that_the_disk_refuses_is_not_acknowledged() -> None:
    home = house()

    async def journey(home: House) -> None:
        await trio.sleep(20)
        home.store.full = True
        with pytest.raises(LocalMistake, match="not safe"):
            await home.loop.command(SetGoal(text="Plan a trip"))
        assert not [line for line in home.net.log if line.startswith("publish")]

    live_for(home, journey)
