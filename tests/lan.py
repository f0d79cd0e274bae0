"""Whole replicas on an invented LAN, where a test decides what arrives, when, and what the models answer.

Every step checks what must hold of any effects: durable before loud, only well-formed events leave, observers
are mute, and no model is asked for more than it has slots.
"""

import random
from collections.abc import Callable, Sequence

from swarmd.events.envelope import Envelope, open_envelope
from swarmd.events.kinds import Event, Subgoal
from swarmd.plan.plan import GoalPlan
from swarmd.plan.views import Change, GoalView
from swarmd.replica.effects import (
    Abort,
    Announce,
    Append,
    Arm,
    Ask,
    Effect,
    Publish,
    Reply,
    Stream,
    SyncClose,
    SyncOpen,
    SyncSend,
    Tell,
)
from swarmd.replica.inputs import (
    Answered,
    BackendChanged,
    Command,
    Commanded,
    Connected,
    Disconnected,
    Heard,
    Input,
    LiveHeard,
    Now,
    PresenceHeard,
    ShowGoal,
    Started,
    SyncClosed,
    SyncHeard,
    SyncOpened,
    Ticked,
)
from swarmd.replica.machine import Machine
from swarmd.roles.scene import Timing
from swarmd.roles.work import Answer, Backend, Compose, Execute, Judge, Judgement, Propose, Request, Split, Text
from swarmd.vocab.ids import GoalId, PeerId
from tests.household import IDENTITIES, PEERS, SWARM, WALL_MS

TIMING = Timing(deliberation_ms=2_000, ballot_ms=1_000, settle_ms=100, presence_ms=1_000, sync_ms=500)
EVERYTHING = ("decomposer", "scorer", "executor")
MODEL = Backend(name="scripted", model="parrot", tier="small", slots=1)
WORDS = [
    "flights",
    "hotels",
    "museums",
    "trains",
    "dinners",
    "gardens",
    "budget",
    "packing",
    "visas",
    "phrases",
    "ferries",
    "markets",
]


def obliging(request: Request) -> Answer:
    """What a model says that does its best. The same request gets the same answer."""
    rng = random.Random(repr(request))
    match request:
        case Propose():
            titles = [" ".join(rng.sample(WORDS, 3)) for _ in range(min(3, request.children_max))]
            leaf = request.leaves_only
            return Split(
                subgoals=tuple(Subgoal(title=t, leaf=leaf or rng.random() < 0.5) for t in titles), model="parrot"
            )
        case Judge():
            return Judgement(specific=0.9, disjoint=0.9, covering=0.9, model="parrot")
        case Execute():
            return Text(text=f"did {request.place.title}", model="parrot")
        case Compose():
            return Text(text=" / ".join(part.text for part in request.parts), model="parrot")


class Station:
    """One machine: the replica, its disk, its model, and everything that it did."""

    def __init__(self, lan: "Lan", peer: PeerId, roles: Sequence[str], timing: Timing) -> None:
        self.lan = lan
        self.peer = peer
        self.roles = roles
        self.timing = timing
        self.disk: list[Envelope] = []
        self.synced = 0  # so many of them survive a power cut
        self.wall_offset_ms = 0
        self.effects: list[Effect] = []
        self.begin()

    def begin(self) -> None:
        """A new process on the old disk; not started yet."""
        self.machine = Machine(
            IDENTITIES[self.peer], SWARM, name=self.peer[-4:], roles=self.roles, timing=self.timing,
            rng=random.Random(self.lan.rng.randrange(1 << 30)), version="0",
        )  # fmt: skip
        self.asked: dict[int, Request] = {}
        self.armed_ms: int | None = None
        self.slots = 0

    # --- in --------------------------------------------------------------------------------------------------------

    def feed(self, happened: Input) -> list[Effect]:
        """Let something happen now; its effects are carried out."""
        now = Now(WALL_MS + self.lan.mono_ms + self.wall_offset_ms, self.lan.mono_ms)
        if isinstance(happened, BackendChanged):
            self.slots = happened.backend.slots if happened.backend else 0
        if isinstance(happened, Answered):
            self.asked.pop(happened.job, None)
        effects = self.machine.handle(happened, now)
        self._check(effects)
        self.effects += effects
        for effect in effects:
            self._carry_out(effect)
        return effects

    def command(self, command: Command) -> object:
        """What the person on this machine is answered."""
        replies = [e for e in self.feed(Commanded(1, command)) if isinstance(e, Reply)]
        assert len(replies) == 1
        return replies[0].value

    def answer(self, answering: Callable[[Request], Answer] = obliging, kind: type[Request] | None = None) -> int:
        """Let the model answer all that it was asked (of one *kind*); how many."""
        jobs = [job for job, request in self.asked.items() if kind is None or isinstance(request, kind)]
        for job in jobs:
            if job in self.asked:
                self.feed(Answered(job, answering(self.asked[job])))
        return len(jobs)

    def hear(self, *events: Envelope, via: PeerId = PEERS[0]) -> list[Effect]:
        """Events from the plan topic."""
        return self.feed(Heard(events, via))

    def die(self) -> None:
        """Kill the process. Its disk stays."""
        self.lan.hang_up(self)
        self.armed_ms = None
        self.asked.clear()

    def restart(self, *, power_cut: bool = False) -> None:
        """Kill the process, and start it again. A power cut takes with it what was not synced."""
        self.die()
        if power_cut:
            del self.disk[self.synced :]
        self.begin()
        self.start()

    def start(self, backend: Backend | None = MODEL) -> None:
        """Start on what the disk holds, find the model, link up."""
        self.feed(Started(tuple(self.disk)))
        self.feed(BackendChanged(backend))
        for other in self.lan.stations:
            if other is not self:
                self.lan.link(self, other)

    # --- what it did -----------------------------------------------------------------------------------------------

    def said(self, *kinds: type[Event]) -> list[Event]:
        """What it published, ever."""
        envelopes = [e for effect in self.effects if isinstance(effect, Publish) for e in effect.envelopes]
        events: list[Event] = [open_envelope(envelope, SWARM).event for envelope in envelopes]
        return [event for event in events if not kinds or isinstance(event, kinds)]

    def told(self) -> list[Change]:
        """What its watchers were told, ever."""
        return [change for effect in self.effects if isinstance(effect, Tell) for change in effect.changes]

    def view(self) -> GoalView:
        """The newest goal as it shows it."""
        shown = self.command(ShowGoal())
        assert isinstance(shown, GoalView)
        return shown

    def plan(self, goal: object = None) -> GoalPlan:
        """One goal's fold."""
        plans = self.machine.plan.goals
        return plans[GoalId(goal)] if goal else next(iter(plans.values()))  # type: ignore[arg-type]

    # --- inside ----------------------------------------------------------------------------------------------------

    def _check(self, effects: list[Effect]) -> None:
        order: list[type[Effect]] = [Append, Publish, Tell, Reply]
        ranks = [order.index(type(e)) for e in effects if type(e) in order]
        assert ranks == sorted(ranks), "durable, then loud, then told, then answered"
        durable = {e.id for effect in effects if isinstance(effect, Append) and effect.sync for e in effect.envelopes}
        for effect in effects:
            match effect:
                case Publish():
                    assert {e.id for e in effect.envelopes} <= durable, "nothing is published that is not on the disk"
                    assert all(open_envelope(e, SWARM).event.author == self.peer for e in effect.envelopes)
                case Arm():
                    assert effect.mono_ms > self.lan.mono_ms
        if not self.roles:
            assert not [e for e in effects if isinstance(e, Publish | Announce | Stream)], "an observer is mute"

    def _carry_out(self, effect: Effect) -> None:
        lan = self.lan
        match effect:
            case Append():
                self.disk += effect.envelopes
                if effect.sync:
                    self.synced = len(self.disk)
            case Publish():
                lan.broadcast(self, Heard(effect.envelopes, self.peer))
            case Announce():
                lan.broadcast(self, PresenceHeard(self.peer, effect.presence))
            case Stream():
                lan.broadcast(self, LiveHeard(self.peer, effect.live))
            case Ask():
                self.asked[effect.job] = effect.request
                assert len(self.asked) <= self.slots
            case Abort():
                self.asked.pop(effect.job, None)
            case Arm():
                self.armed_ms = effect.mono_ms
            case SyncOpen():
                lan.open(self, effect)
            case SyncSend():
                lan.pass_on(self, effect.session, lambda there: SyncHeard(there, effect.frame))
            case SyncClose():
                lan.pass_on(self, effect.session, SyncClosed)


class Lan:
    """Stations and what flies between them."""

    def __init__(
        self,
        count: int = 2,
        *,
        roles: Sequence[str] = EVERYTHING,
        observers: int = 0,
        seed: int = 1,
        timing: Timing = TIMING,
    ) -> None:
        self.rng = random.Random(seed)
        self.mono_ms = 1_000_000
        self.flying: list[tuple[Station, Input]] = []
        self.links: set[frozenset[PeerId]] = set()
        self._sessions: dict[tuple[PeerId, int], tuple[Station, int]] = {}
        self._opened = 1
        self.stations: list[Station] = []
        for number in range(count + observers):
            self.stations.append(Station(self, PEERS[number], roles if number < count else (), timing))

    def __getitem__(self, number: int) -> Station:
        return self.stations[number]

    def start(self, ms: int = 3_000) -> "Lan":
        """Everybody is up, linked and warm."""
        for station in self.stations:
            station.start(MODEL if station.roles else None)
        self.run(ms)
        return self

    # --- time and delivery -----------------------------------------------------------------------------------------

    def deliver_all(self, steps_max: int = 5_000) -> None:
        """Everything under way arrives, and what is said thereupon."""
        for _ in range(steps_max):
            if not self.flying:
                return
            station, happened = self.flying.pop(0)
            station.feed(happened)
        raise AssertionError("the LAN does not come to rest")

    def tick(self, ms_max: int) -> None:
        """Move to the next timer, at most so far."""
        times = [s.armed_ms for s in self.stations if s.armed_ms is not None]
        self.mono_ms = min([self.mono_ms + ms_max, *(max(t, self.mono_ms) for t in times)])
        for station in self.stations:
            if station.armed_ms is not None and station.armed_ms <= self.mono_ms:
                station.armed_ms = None
                station.feed(Ticked())

    def run(
        self,
        ms: int,
        *,
        answering: Callable[[Request], Answer] | None = None,
        until: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Let *ms* pass with a good network; models answer at once, if at all. Whether *until* came true."""
        end = self.mono_ms + ms
        while self.mono_ms < end and not until():
            self.deliver_all()
            if answering is not None:
                for station in self.stations:
                    station.answer(answering)
            self.tick(end - self.mono_ms)
        self.deliver_all()
        return until()

    # --- links -----------------------------------------------------------------------------------------------------

    def link(self, one: Station, other: Station) -> None:
        """Connect two, if both run."""
        pair = frozenset((one.peer, other.peer))
        if pair in self.links or one.armed_ms is None or other.armed_ms is None:
            return
        self.links.add(pair)
        one.feed(Connected(other.peer))
        other.feed(Connected(one.peer))

    def cut(self, one: Station, other: Station) -> None:
        """Break a link, with every sync session over it."""
        self.links.discard(frozenset((one.peer, other.peer)))
        pair = {one.peer, other.peer}
        for (peer, session), (there, _) in list(self._sessions.items()):
            if {peer, there.peer} == pair:
                del self._sessions[peer, session]
                self.flying.append((self.of(peer), SyncClosed(session)))
        one.feed(Disconnected(other.peer))
        other.feed(Disconnected(one.peer))

    def hang_up(self, station: Station) -> None:
        """All links of a station that dies; what was on its way to it is lost."""
        self.flying = [(to, happened) for to, happened in self.flying if to is not station]
        for pair in [p for p in self.links if station.peer in p]:
            (other,) = (self.of(peer) for peer in pair if peer != station.peer)
            self.links.discard(pair)
            for (peer, session), (there, _) in list(self._sessions.items()):
                if {peer, there.peer} == set(pair):
                    del self._sessions[peer, session]
                    if peer == other.peer:
                        self.flying.append((other, SyncClosed(session)))
            other.feed(Disconnected(station.peer))

    def of(self, peer: PeerId) -> Station:
        """The station of that peer."""
        return next(s for s in self.stations if s.peer == peer)

    def broadcast(self, sender: Station, happened: Input) -> None:
        """To all that are linked with the sender, or to be lost by the test."""
        for other in self.stations:
            if other is not sender and frozenset((sender.peer, other.peer)) in self.links:
                self.flying.append((other, happened))

    def open(self, one: Station, effect: SyncOpen) -> None:
        """A sync stream, if there is a link."""
        other = self.of(effect.peer)
        if frozenset((one.peer, other.peer)) not in self.links:
            self.flying.append((one, SyncClosed(effect.session)))
            return
        self._opened += 2
        self._sessions[one.peer, effect.session] = (other, self._opened)
        self._sessions[other.peer, self._opened] = (one, effect.session)
        self.flying.append((other, SyncOpened(self._opened, one.peer)))

    def pass_on(self, sender: Station, session: int, happened: Callable[[int], Input]) -> None:
        """Something on a stream, for the other end."""
        there = self._sessions.get((sender.peer, session))
        if there is not None:
            self.flying.append((there[0], happened(there[1])))

    # --- the swarm -------------------------------------------------------------------------------------------------

    def digests(self) -> set[str]:
        """One, when all are level."""
        return {station.machine.plan.digest() for station in self.stations}

    def ended(self) -> bool:
        """Whether every goal has ended for everybody, and everybody knows the same goals."""
        known = [set(station.machine.plan.goals) for station in self.stations]
        return all(known) and all(k == known[0] for k in known) and all(
            goal.ended for station in self.stations for goal in station.machine.plan.goals.values()
        )  # fmt: skip
