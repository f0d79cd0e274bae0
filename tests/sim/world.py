"""The world: a heap of things to come and one `Random`. It feeds inputs to real machines and does as their effects say.

Nothing here reads a clock or iterates over an unordered set of text, so a seed replays to the last effect.
"""

import hashlib
import heapq
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType

from swarmd.events.envelope import Envelope, Identity, Opened, Swarm, open_envelope, seal
from swarmd.events.kinds import (
    Claim,
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
from swarmd.gossip import reconcile
from swarmd.plan.ballot import Forced
from swarmd.replica import record, thought
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
)
from swarmd.replica.inputs import (
    Answered,
    BackendChanged,
    CancelGoal,
    Chunk,
    Commanded,
    Connected,
    Disconnected,
    Failed,
    Heard,
    Input,
    ListGoals,
    ListPeers,
    LiveHeard,
    PresenceHeard,
    SetGoal,
    ShowGoal,
    ShowStatus,
    Started,
    Stopping,
    SyncClosed,
    SyncHeard,
    SyncOpened,
    Ticked,
)
from swarmd.replica.machine import Machine
from swarmd.roles.checks import Findings, check_split
from swarmd.roles.scene import Timing
from swarmd.roles.work import Backend, Place
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.hlc import at
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId
from tests.sim import clocks, models, strangers
from tests.sim.checker import Checker
from tests.sim.checkers import checkers
from tests.sim.clocks import Clocks
from tests.sim.disk import Disk
from tests.sim.models import Mood
from tests.sim.network import Network, Wire
from tests.sim.violation import Violation
from tests.sim.weather import SCENARIOS, Weather

TIMING = Timing(deliberation_ms=4_000, ballot_ms=1_500, settle_ms=300, presence_ms=4_000, sync_ms=1_000)
# within which every goal must end once a quorum is healed: backoffs reach two minutes, and a lone executor whose model
# is silent gives up each attempt at each leaf after two
PATIENCE_MS = 1_800_000
SWARM = Swarm.of_key(b"a swarm of make-believe machines")
_INPUTS_MAX = 40_000  # of one peer in one run; more is a loop

_EFFECTS_MAX = 200  # of one input

End = tuple[int, int, int]  # host, incarnation, session


@cache
def identity(number: int) -> Identity:
    """The key of the *number*-th machine that was ever bought."""
    return Identity(hashlib.sha256(f"simulated machine {number}".encode()).digest())


@dataclass(slots=True)
class Host:
    """One simulated machine. *run* counts its processes, so that what was meant for a dead one is dropped. *doomed*:
    how
    many more effects it carries out before its power fails."""

    index: int
    identity: Identity
    roles: tuple[str, ...]
    mood: Mood
    clocks: Clocks
    slots: int
    rng: random.Random
    disk: Disk = field(default_factory=Disk)
    machine: Machine | None = None
    run: int = 0
    doomed: int | None = None
    wakes_ms: int | None = None
    linked: set[int] = field(default_factory=set)
    equivocates: bool = False
    usurps: bool = False
    forgets: bool = False
    rolled_back: bool = False
    gone: bool = False

    @property
    def peer(self) -> PeerId:
        """Its id."""
        return self.identity.peer


class World:
    """One run of one scenario under one seed."""

    def __init__(
        self,
        seed: int,
        scenario: str,
        trace: Callable[[str], None] | None = None,
        weather: Weather | None = None,
    ) -> None:
        """*weather*: instead of what the scenario draws."""
        self.seed = seed
        self.timing = TIMING
        self.scenario = scenario
        self.rng = random.Random(f"{scenario} {seed}")
        self.weather: Weather = weather or SCENARIOS[scenario](self.rng)
        self.trace = trace
        self.t_ms = 0
        self.healed = False
        self.inputs = 0
        self.met: Counter[str] = Counter()  # what happened, so that a sweep can show that its storms bite
        self._queue: list[tuple[int, int, Callable[..., None], tuple[object, ...]]] = []
        self._sequence = 0
        weather = self.weather
        self.network = Network(
            self.rng, weather.loss, weather.repeat, weather.delay_ms, weather.late_delay, weather.late_ms
        )
        self._opened: dict[Envelope, Opened | None] = {}
        self._findings: dict[tuple[Place, tuple[Subgoal, ...]], Findings] = {}
        self._strange: dict[tuple[int, int], tuple[int, bool]] = {}
        self._wires: dict[End, Wire] = {}
        self._sessions = 1
        self._tokens = 0
        self.commands: dict[int, SetGoal | CancelGoal] = {}
        pool = max(64, len(weather.roles))
        keys = self.rng.sample(range(pool), len(weather.roles))
        self._spare_keys = pool
        peers = len(weather.roles)  # most clocks are about right, or nobody could tell what time it is
        wild = set(self.rng.sample(range(peers), min((peers - 1) // 2, round(weather.wild_clocks * peers))))
        self.hosts = [
            Host(
                index=index,
                identity=identity(key),
                roles=weather.roles[index],
                mood=weather.moods[index % len(weather.moods)],
                clocks=clocks.draw(self.rng, wild=index in wild),
                slots=self.rng.randint(*weather.slots),
                rng=random.Random(self.rng.getrandbits(64)),
            )
            for index, key in enumerate(keys)
        ]
        self.core: set[int] = set(range(len(self.hosts)))  # the peers that heal
        self.known_goals: list[str] = []
        self.afterthoughts: set[tuple[PeerId, str]] = set()  # whose word on which task is worth nothing any more
        self.checkers = checkers(self)
        self._watching: dict[type[Effect], list[Checker]] = {}
        for checker in self.checkers:
            for kind in checker.watches:
                self._watching.setdefault(kind, []).append(checker)
        self._looking = [c for c in self.checkers if type(c).on_step is not Checker.on_step]
        self._restless = [c for c in self._looking if c.restless]
        self._plan_weather()

    # --- running ---------------------------------------------------------------------------------------------------

    def execute(self) -> None:
        """Run to the end. Raises Violation when an invariant does not hold."""
        honest = {module: {name: getattr(module, name) for name in ours} for module, ours in self._once().items()}
        self._install(self._once())
        try:
            self._run_until(self.weather.chaos_ms)
            self._heal()
            deadline = self.t_ms + PATIENCE_MS
            while self.t_ms < deadline:
                self._run_until(min(deadline, self.t_ms + 1_000))
                if all(checker.settled(self) for checker in self.checkers):
                    break
            for checker in self.checkers:
                checker.finish(self)
            self._take_stock()
        except Violation as violation:
            raise Violation(
                f"{violation}\n  replay: python -m tests.sim --seed {self.seed} --scenario {self.scenario} --trace"
            ) from None
        finally:
            self._install(honest)

    def _once(self) -> dict[ModuleType, dict[str, object]]:
        """Pure functions that the world computes once for all its machines, and limits that it sets."""
        once: dict[ModuleType, dict[str, object]] = {
            record: {"open_envelope": self.open},
            thought: {"check_split": self._check},
        }
        if self.weather.frame_bytes:  # a limit, not a rule: so small that a few events fill a frame
            once[reconcile] = {"_GIVE_BYTES_MAX": self.weather.frame_bytes}
        return once

    def _install(self, functions: dict[ModuleType, dict[str, object]]) -> None:
        for module, ours in functions.items():
            for name, function in ours.items():
                setattr(module, name, function)

    def _take_stock(self) -> None:
        """Count what became of the goals, as the peer with most events sees it."""
        machines = [host.machine for host in self.hosts if host.machine is not None]
        best = max(machines, key=lambda machine: len(machine.events), default=None)
        if best is None:
            return
        self.met["events"] += len(best.events)
        for plan in best.plan.goals.values():
            if plan.goal is None:
                continue
            self.met[f"goals {plan.status}"] += 1
            for task in plan.walk():
                book = plan.book(task.id)
                accepted = task.accepted
                if accepted is not None:
                    self.met["splits accepted"] += 1
                    self.met["accepted after ballot 0"] += accepted.ballot > 0
                    mine = book.proposals[accepted.proposal]
                    self.met["accepted after polishing"] += mine.refines is not None
                    forced = [
                        r
                        for ballot in book.ballots.nominations
                        for _, _, r in book.ballots.valid_nominations(ballot, plan.electorate)
                    ]
                    self.met["forced nominations"] += sum(isinstance(r, Forced) for r in forced)
                self.met["equivocations"] += len(book.ballots.equivocators())
                self.met["tasks failed"] += task.state == "failed"
                self.met["races for a task"] += len({c.author for c in book.claims.values()}) > 1
                self.met["takeovers"] += any(c.attempt > 1 for c in book.claims.values())
                self.met["double results"] += sum(r.status == "done" for r in book.results.values()) > 1

    def at(self, after_ms: int, do: Callable[..., None], *arguments: object) -> None:
        """Let something happen *after_ms* from now."""
        self._sequence += 1
        heapq.heappush(self._queue, (self.t_ms + max(0, after_ms), self._sequence, do, arguments))

    def _run_until(self, t_ms: int) -> None:
        queue = self._queue
        while queue and queue[0][0] <= t_ms:
            self.t_ms, _, do, arguments = heapq.heappop(queue)
            do(*arguments)
        self.t_ms = t_ms

    def open(self, envelope: Envelope, swarm: Swarm) -> Opened:
        """`open_envelope`, once for each envelope in the world: a signature does not change on the way."""
        if envelope in self._opened:
            opened = self._opened[envelope]
            if opened is None:
                raise RemoteFault("malformed, as before")
            return opened
        try:
            opened = open_envelope(envelope, swarm)
        except RemoteFault:
            self._opened[envelope] = None
            raise
        self._opened[envelope] = opened
        return opened

    def strange_years(self, host: Host) -> bool:
        """Whether a machine has events from so far in the future that others refuse them."""
        assert host.machine is not None
        key = (host.index, host.run)
        seen, strange = self._strange.get(key, (0, False))
        if not strange and len(host.machine.events) > seen:
            horizon = at(clocks.TRUE_MS + self.t_ms + limits.DRIFT_MS_MAX)
            strange = any(opened.event.hlc > horizon for opened in host.machine.events)
            self._strange[key] = (len(host.machine.events), strange)
        return strange

    def _check(self, place: Place, subgoals: Sequence[Subgoal]) -> Findings:
        """`check_split`, once for each split: the same text has the same flaws for every scorer."""
        key = (place, tuple(subgoals))
        found = self._findings.get(key)
        if found is None:
            found = self._findings[key] = check_split(place, subgoals)
        return found

    def known(self, envelope: Envelope) -> Opened:
        """An envelope that a machine has taken in, perhaps because it sealed it itself."""
        opened = self._opened.get(envelope)
        return opened or self.open(envelope, SWARM)

    def far_end(self, here: End) -> End | None:
        """The other end of a stream, None if it is gone."""
        wire = self._wires.get(here)
        return wire.other(here) if wire is not None else None

    # --- one machine -----------------------------------------------------------------------------------------------

    def feed(self, host: Host, happened: Input) -> None:
        """Let one thing happen to a running machine, and do as it says; it may die at any point of that."""
        machine = host.machine
        if machine is None:
            return
        self.inputs += 1
        if self.inputs > _INPUTS_MAX * len(self.hosts):
            raise Violation("progress: the swarm never comes to rest")
        effects = machine.handle(happened, host.clocks.now(self.t_ms))
        if self.trace is not None:
            self.trace(f"{self.t_ms} {host.index}.{host.run} {brief(happened)}")
        run = host.run
        for effect in effects:
            if host.doomed is not None:
                if host.doomed <= 0:
                    self.crash(host)
                    return
                host.doomed -= 1
            if self.trace is not None:
                self.trace(f"    {brief(effect)}")
            self._do(host, effect)
            for checker in self._watching.get(type(effect), ()):
                checker.on_effect(self, host, effect)
        assert host.run == run
        if len(effects) > _EFFECTS_MAX:
            raise Violation(f"containment: {len(effects)} effects of one input")
        fresh = [self.known(e) for effect in effects if isinstance(effect, Append) for e in effect.envelopes]
        for checker in self._looking if fresh or isinstance(happened, Started) else self._restless:
            checker.on_step(self, host, happened, fresh)

    def hear(self, host: Host, run: int, happened: Input) -> None:
        """Feed an input that was meant for one process of a machine."""
        if host.run == run:
            self.feed(host, happened)

    def _do(self, host: Host, effect: Effect) -> None:
        match effect:
            case Arm():
                self._arm(host, host.clocks.until(effect.mono_ms))
            case Append():
                host.disk.append(effect.envelopes, sync=effect.sync)
            case Publish():
                if self.weather.meddler and not self.healed:
                    self._meddle(effect)
                if self.weather.amnesiac and not self.healed:
                    self._remember_wrongly(host, effect)
                if (
                    self.weather.spite
                    and not self.healed
                    and self._is_grave(effect)
                    and self.rng.random() < self.weather.spite
                ):
                    self._spite(host, effect)
                elif host.equivocates:
                    self._equivocate(host, effect)
                else:
                    self.broadcast(host, Heard(effect.envelopes, host.peer))
            case Announce():
                self.broadcast(host, PresenceHeard(host.peer, effect.presence))
            case Stream():
                self.broadcast(host, LiveHeard(host.peer, effect.live))
            case SyncOpen():
                self._open_wire(host, effect)
            case SyncSend():
                self._send(host, effect)
            case SyncClose():
                self._close_wire((host.index, host.run, effect.session))
            case Ask():
                self._ask(host, effect)
            case Reply():
                self._replied(effect)
            case Abort() | _:
                pass

    def _arm(self, host: Host, due_ms: int) -> None:
        due_ms = max(due_ms, self.t_ms + 1)
        sooner = host.wakes_ms is None or due_ms < host.wakes_ms
        host.wakes_ms = due_ms
        if sooner:
            self.at(due_ms - self.t_ms, self._tick, host, host.run, due_ms)

    def _tick(self, host: Host, run: int, due_ms: int) -> None:
        if host.run != run or host.machine is None or host.wakes_ms is None:
            return
        if host.wakes_ms > due_ms:  # armed again for later
            self.at(host.wakes_ms - self.t_ms, self._tick, host, run, host.wakes_ms)
            return
        if host.wakes_ms == due_ms:
            host.wakes_ms = None
            self.feed(host, Ticked())

    def broadcast(self, source: Host, happened: Input) -> None:
        """To everyone whom it reaches."""
        for target in self.hosts:
            if target is not source and target.machine is not None:
                for delay in self.network.broadcast(source.index, target.index):
                    self.at(delay, self.hear, target, target.run, happened)

    def _equivocate(self, host: Host, publish: Publish) -> None:
        """Tell one half of the swarm one vote, and the other half another one."""
        for envelope in publish.envelopes:
            opened = self.open(envelope, SWARM)
            other = (
                strangers.contradiction(opened.event, host.identity, SWARM)
                if isinstance(opened.event, Vote | Score)
                else None
            )
            if other is not None and self.rng.random() < 0.7:
                for checker in self.checkers:
                    checker.on_equivocation(self, host, opened)
                for target in self.hosts:
                    if (
                        target is not host
                        and target.machine is not None
                        and self.network.passes(host.index, target.index)
                    ):
                        told = other if self.rng.random() < 0.5 else envelope
                        self.at(self.network.delay(), self.hear, target, target.run, Heard((told,), host.peer))
            else:
                self.broadcast(host, Heard((envelope,), host.peer))

    def _is_grave(self, publish: Publish) -> bool:
        """Whether somebody speaks in a ballot or a race."""
        grave = (Vote,) if self.weather.secret_votes else (Vote, Nomination, Promise, Claim, Result)
        return any(isinstance(self.open(envelope, SWARM).event, grave) for envelope in publish.envelopes)

    def _spite(self, host: Host, publish: Publish) -> None:
        """The worst moment: one peer hears it, and then its author, or both, are cut off from the rest, or it dies."""
        self.met["cut off in mid-speech"] += 1
        others = [h.index for h in self.hosts if h is not host and h.machine is not None]
        secret = self.weather.secret_votes or not others
        confidant = None if secret or self.rng.random() < 0.3 else self.rng.choice(others)
        if confidant is not None:
            target = self.hosts[confidant]
            self.at(self.network.delay(), self.hear, target, target.run, Heard(publish.envelopes, host.peer))
        length_ms = self.rng.randint(2_000, 15_000)
        if not secret and self.rng.random() < 0.3:
            self.doom(host, self.rng.randint(0, 2), length_ms)
            return
        inside = {host.index, confidant} if self.rng.random() < 0.5 else {host.index}
        for one in sorted(index for index in inside if index is not None):
            for other in range(len(self.hosts)):
                if other not in inside:
                    self.sever(one, other)
                    self.at(length_ms, self.mend, one, other)

    def _meddle(self, publish: Publish) -> None:
        """A member that is up to no good answers what it hears with early claims, borrowed results, late cancellations;
        and one of the electorate with bogus nominations."""
        author = identity(1_001)
        usurper = next((h for h in self.hosts if h.usurps), None)
        for envelope in publish.envelopes:
            opened = self.open(envelope, SWARM)
            said: list[Envelope] = []
            match opened.event:
                case Proposal():
                    said += strangers.early_claims(opened, author, SWARM)
                    if usurper is not None:
                        for ballot in range(1, 5):
                            said.append(strangers.bogus_nomination(opened, ballot, usurper.identity, SWARM))
                case Claim():
                    said.append(strangers.borrowed_result(opened, author, SWARM, "done"))
                    said.append(strangers.borrowed_result(opened, author, SWARM, "failed", limits.ATTEMPT_MAX))
                case Result(status="done") as result:
                    said += strangers.undone(opened, author, SWARM)
                    if str(result.task) == str(result.goal):
                        said.append(strangers.sour_cancel(opened, author, SWARM))
                case _:
                    pass
            if said and self.rng.random() < 0.5:
                self.met["meddling"] += 1
                self._intrude(author, opened.event.hlc, said, self.hosts)

    def _remember_wrongly(self, host: Host, publish: Publish) -> None:
        """A scorer that has forgotten its promises approves an accepted split in earlier ballots, in which it has not
        voted, when somebody already claims a part."""
        amnesiac = next((h for h in self.hosts if h.forgets), None)
        assert host.machine is not None
        for envelope in publish.envelopes:
            claim = self.open(envelope, SWARM).event
            if not isinstance(claim, Claim) or amnesiac is None or amnesiac.machine is None or amnesiac.rolled_back:
                continue
            plan, own = (h.machine.plan.goals.get(GoalId(EventId(claim.goal))) for h in (host, amnesiac) if h.machine)
            assert plan is not None
            task = plan.tasks.get(TaskId(claim.task))
            above = plan.tasks.get(task.parent) if task is not None and task.parent is not None else None
            if above is None or above.accepted is None or own is None or amnesiac.peer not in plan.electorate.members:
                continue
            voted = [plan.book(above.id).ballots.votes, own.book(above.id).ballots.votes]
            for ballot in range(above.accepted.ballot):
                if not any(amnesiac.peer in votes.get(ballot, {}) for votes in voted):
                    self.met["late approvals"] += 1
                    self.afterthoughts.add((amnesiac.peer, above.id))
                    vote = (above.id, ballot, above.accepted.proposal)
                    said = strangers.late_approval(claim, vote, amnesiac.identity, SWARM)
                    self._intrude(amnesiac.identity, claim.hlc, [said], self.hosts)

    def _intrude(self, author: Identity, stamp: int, said: Sequence[Envelope], targets: Sequence[Host]) -> None:
        """A stranger that holds the swarm's key says something to some machines."""
        member = Member(
            author=author.peer, hlc=stamp, peer=author.peer, name="stranger", proof=SWARM.proof(author.peer)
        )
        told = (*said, seal(member, author, SWARM))
        for target in targets:
            if target.machine is not None:
                self.at(self.network.delay(), self.hear, target, target.run, Heard(told, author.peer))

    # --- streams ---------------------------------------------------------------------------------------------------

    def _open_wire(self, host: Host, effect: SyncOpen) -> None:
        here = (host.index, host.run, effect.session)
        target = next((h for h in self.hosts if h.peer == effect.peer and h.machine is not None), None)
        if target is None or not self.network.both(host.index, target.index):
            if self.rng.random() < 0.7:  # else the attempt hangs, and the machine has to give up by itself
                self.at(self.network.delay() * 2, self.hear, host, host.run, SyncClosed(effect.session))
            return
        self._sessions += 2
        there = (target.index, target.run, self._sessions)
        wire = Wire((here, there))
        self._wires[here] = self._wires[there] = wire
        self._along(wire, here, SyncOpened(self._sessions, host.peer))

    def _send(self, host: Host, effect: SyncSend) -> None:
        here = (host.index, host.run, effect.session)
        wire = self._wires.get(here)
        if wire is not None:
            self._along(wire, here, SyncHeard(wire.other(here)[2], effect.frame))

    def _close_wire(self, here: End) -> None:
        wire = self._wires.pop(here, None)
        if wire is not None and not wire.closed:
            self._along(wire, here, SyncClosed(wire.other(here)[2]))
            wire.closed = True

    def _along(self, wire: Wire, source: End, happened: Input) -> None:
        """Carry something to the far end of a stream, in order, unless the stream is dead."""
        target = wire.other(source)
        if wire.half_open or wire.closed:
            return
        if not self.network.both(source[0], target[0]):
            self._break(wire)
            return
        arrives = max(self.t_ms + self.network.delay(), wire.arrives.get(target[0], 0))
        wire.arrives[target[0]] = arrives
        self.at(arrives - self.t_ms, self._arrive, wire, target, happened)

    def _arrive(self, wire: Wire, target: End, happened: Input) -> None:
        if wire.half_open or target not in self._wires:
            return
        if isinstance(happened, SyncClosed):
            self._wires.pop(target, None)
        host = self.hosts[target[0]]
        self.hear(host, target[1], happened)

    def _break(self, wire: Wire) -> None:
        """The link under a stream is dead: either both sides learn it, or neither does."""
        if self.rng.random() < 0.5:
            wire.half_open = True
            return
        wire.closed = True
        for end in wire.ends:
            if self._wires.pop(end, None) is not None:
                self.at(self.rng.randint(10, 2_000), self.hear, self.hosts[end[0]], end[1], SyncClosed(end[2]))

    def _break_between(self, one: int, other: int) -> None:
        for wire in list(dict.fromkeys(map(id, self._wires.values()))):
            found = next((w for w in self._wires.values() if id(w) == wire), None)
            if found is not None and {found.ends[0][0], found.ends[1][0]} == {one, other} and not found.closed:
                self._break(found)

    # --- models and commands ---------------------------------------------------------------------------------------

    def _ask(self, host: Host, ask: Ask) -> None:
        reply = models.reply(ask.job, ask.request, host.mood, host.rng)
        for number, chunk in enumerate(reply.chunks, start=1):
            after = reply.after_ms * number // (len(reply.chunks) + 1)
            self.at(after, self.hear, host, host.run, Chunk(ask.job, chunk))
        happened = reply.happened
        assert isinstance(happened, Answered | Failed)
        self.at(reply.after_ms, self.hear, host, host.run, happened)

    def _replied(self, reply: Reply) -> None:
        if isinstance(reply.value, str) and isinstance(self.commands.get(reply.token), SetGoal):
            self.known_goals.append(reply.value)

    def command(
        self, host: Host, command: SetGoal | CancelGoal | ListGoals | ShowGoal | ListPeers | ShowStatus
    ) -> None:
        """Somebody types a command on that machine."""
        self._tokens += 1
        if isinstance(command, SetGoal | CancelGoal):
            self.commands[self._tokens] = command
        self.feed(host, Commanded(self._tokens, command))

    # --- life and death --------------------------------------------------------------------------------------------

    def boot(self, host: Host) -> None:
        """Start a process on that machine from its disk."""
        if host.machine is not None or host.gone:
            return
        host.run += 1
        host.doomed = None
        host.wakes_ms = None
        host.linked = set()
        host.machine = Machine(
            host.identity, SWARM, name=f"host {host.index}", roles=host.roles, timing=TIMING,
            rng=random.Random(host.rng.getrandbits(64)), version="1",
        )  # fmt: skip
        self.feed(host, Started(host.disk.load()))
        if host.roles:
            self.at(self.rng.randint(10, 1_500), self._wake_model, host, host.run)
        for other in self.hosts:
            if other is not host and other.machine is not None:
                self.at(self.rng.randint(50, 3_000), self._link, host.index, other.index)

    def _wake_model(self, host: Host, run: int) -> None:
        backend = Backend(name="scripted", model="canned", tier="small", slots=host.slots)
        self.hear(host, run, BackendChanged(backend))

    def _link(self, one: int, other: int) -> None:
        a, b = self.hosts[one], self.hosts[other]
        if a.machine is None or b.machine is None or not self.network.both(one, other):
            return
        for here, there in ((a, b), (b, a)):
            if there.index not in here.linked:
                here.linked.add(there.index)
                self.feed(here, Connected(there.peer))

    def _unlink(self, one: int, other: int) -> None:
        """Ping has noticed that the link is down."""
        a, b = self.hosts[one], self.hosts[other]
        if self.network.both(one, other) and a.machine is not None and b.machine is not None:
            return
        for here, there in ((a, b), (b, a)):
            if there.index in here.linked and here.machine is not None:
                here.linked.discard(there.index)
                self.feed(here, Disconnected(there.peer))

    def crash(self, host: Host) -> None:
        """kill -9, or the plug is pulled."""
        if host.machine is None:
            return
        if self.trace is not None:
            self.trace(f"{self.t_ms} {host.index}.{host.run} CRASH")
        self.met["crashes in mid-effects" if host.doomed is not None else "crashes"] += 1
        host.machine = None
        host.doomed = None
        host.run += 1
        host.disk.crash(self.rng)
        for end in [end for end in self._wires if end[0] == host.index]:
            wire = self._wires.get(end)
            if wire is not None:
                self._break(wire)
                self._wires.pop(end, None)
        for other in self.hosts:
            if other is not host and host.index in other.linked:
                self.at(self.rng.randint(10, 10_000), self._notice, other, other.run, host, host.run)

    def _notice(self, other: Host, run: int, dead: Host, dead_run: int) -> None:
        """A survivor sees that the link to a dead machine is down, unless it is back already."""
        if other.run == run and dead.index in other.linked and (dead.machine is None or dead.run > dead_run):
            other.linked.discard(dead.index)
            self.feed(other, Disconnected(dead.peer))
            if dead.machine is not None:
                self.at(self.rng.randint(100, 2_000), self._link, other.index, dead.index)

    def doom(self, host: Host, effects: int, down_ms: int) -> None:
        """Let a machine die after so many more effects, and come back later."""
        if host.machine is not None:
            host.doomed = effects
            self.at(2_000, self.crash_if_doomed, host)
            self.at(2_000 + down_ms, self.boot, host)

    def crash_if_doomed(self, host: Host) -> None:
        """A machine that had no effect left to die in dies idle."""
        if host.doomed is not None:
            self.crash(host)

    def _stop(self, host: Host, down_ms: int) -> None:
        """A clean stop."""
        if host.machine is None:
            return
        self.feed(host, Stopping())
        host.disk.synced = len(host.disk.records)
        self.crash(host)
        self.at(down_ms, self.boot, host)

    def lose_disk(self, host: Host) -> None:
        """The disk is dead: the machine comes back with an empty one, and so as a new peer."""
        self.met["disks lost"] += 1
        self.crash(host)
        host.disk = Disk()
        host.identity = identity(self._spare_keys)
        self._spare_keys += 1
        self.at(self.rng.randint(500, 4_000), self.boot, host)

    def restore(self, host: Host) -> None:
        """The disk of an earlier day comes back, with the same key. Only while all others are up and within reach, and
        have heard what it will forget: what nobody knows, nobody can give back."""
        others = [other.machine for other in self.hosts if other is not host and other.roles]
        if host.machine is None or self.network.cut or not host.disk.backups:
            return
        kept = set(host.disk.records[: min(host.disk.backups)])
        own = [e for e in host.disk.records if e not in kept and self.open(e, SWARM).event.author == host.peer]
        if any(machine is None or self.open(e, SWARM).id not in machine.events for e in own for machine in others):
            return
        self.crash(host)
        self.met["backups restored"] += 1
        host.disk.restore(self.rng)
        host.rolled_back = True
        if self.trace is not None:
            self.trace(f"{self.t_ms} {host.index} RESTORED {len(host.disk.records)} events")
        self.at(self.rng.randint(500, 2_000), self.boot, host)

    # --- weather ---------------------------------------------------------------------------------------------------

    def _plan_weather(self) -> None:
        rng, weather = self.rng, self.weather
        late = set(rng.sample(range(2, len(self.hosts)), min(weather.late_joiners, max(0, len(self.hosts) - 2))))
        for host in self.hosts:
            start = rng.randint(weather.chaos_ms // 2, weather.chaos_ms) if host.index in late else rng.randint(0, 500)
            self.at(start, self.boot, host)
            for _ in range(2):
                self.at(rng.randint(0, weather.chaos_ms), host.disk.back_up)
        chaos = weather.chaos_ms
        first = rng.choice((500, 8_200, 8_200, 8_200))  # before, or once, it is known who is there
        for number in range(weather.goals):
            due = first + (0 if weather.goals_at_once else number * rng.randint(0, 8_000))
            self.at(due, self._set_goal, number)
        for _ in range(weather.cancels):
            self.at(rng.randint(first, chaos + first), self._cancel)
        for _ in range(3):
            self.at(rng.randint(100, chaos + 9_000), self._look)
        for _ in range(weather.cuts):
            self.at(rng.randint(0, chaos), self._cut, rng.random() < 0.5, rng.randint(500, 12_000))
        for _ in range(weather.partitions):
            self.at(rng.randint(0, chaos), self._partition, rng.randint(500, 15_000))
        for _ in range(weather.crashes):
            self.at(rng.randint(1_000, chaos), self._crash_one)
        for _ in range(weather.lost_disks):
            self.at(rng.randint(1_000, chaos), self._lose_one)
        for _ in range(weather.restores):
            self.at(rng.randint(9_000, chaos + 9_000), self._restore_one)
        for _ in range(weather.clock_steps):
            self.at(rng.randint(0, chaos), self._step_clock)
        for _ in range(weather.mood_swings):
            self.at(rng.randint(0, chaos), self._swing)
        scorers = [h for h in self.hosts if "scorer" in h.roles]
        if weather.equivocator and len(scorers) > 2:
            rng.choice(scorers).equivocates = True
        if weather.meddler and len(scorers) > 2:
            rng.choice(scorers).usurps = True
        if weather.amnesiac and len(scorers) > 2:
            rng.choice(scorers).forgets = True
        if weather.newer_peer:
            for _ in range(3):
                self.at(rng.randint(1_000, chaos), self._novelty)
        if weather.prophet:
            self.at(rng.randint(9_000, chaos), self._prophesy)
        if weather.chorus:
            self.at(rng.randint(9_000, chaos), self._sing)
        if weather.flooder:
            self.at(rng.randint(1_000, chaos), self._flood)

    def _up(self, *, speaking: bool = True) -> list[Host]:
        return [h for h in self.hosts if h.machine is not None and (h.roles or not speaking)]

    def _set_goal(self, number: int) -> None:
        rng, weather = self.rng, self.weather
        up = self._up()
        if not up:
            self.at(1_000, self._set_goal, number)
            return
        scorers = sum("scorer" in h.roles for h in up)
        quorum = scorers if rng.random() < weather.stricter_quorum and scorers else None
        host = rng.choice(up)
        command = SetGoal(
            text=f"Plan event number {number} of season {self.seed % 7}",
            quorum=quorum,
            limits=Limits(
                depth=rng.randint(*weather.depth),
                children=rng.choice((2, 3) if weather.splits_only else (1, 2, 2, 3, 3, 4)),
                tasks=rng.choice((4, 7) if weather.splits_only else (1, 4, 7, 14)),
            ),
            policy=Policy(
                threshold=rng.choice(weather.thresholds),
                polish=rng.randint(*weather.polish),
                strict=rng.random() < weather.strict,
                attempts=rng.randint(1, 3),
                lease_ms=rng.choice((3_000, 6_000, 20_000)),
            ),
        )
        self.command(host, command)
        if weather.chairs_die:
            self.at(rng.randint(1_000, 8_000), self._crash_one)

    def _cancel(self) -> None:
        up = self._up()
        if up and self.known_goals:
            self.command(
                self.rng.choice(up), CancelGoal(goal=self.rng.choice(self.known_goals), reason="changed my mind")
            )

    def _look(self) -> None:
        up = self._up(speaking=False)
        if up:
            host = self.rng.choice(up)
            for command in (ListGoals(), ShowGoal(), ListPeers(), ShowStatus()):
                self.command(host, command)

    def _cut(self, one_way: bool, length_ms: int) -> None:
        if self.healed or len(self.hosts) < 2:
            return
        one, other = self.rng.sample(range(len(self.hosts)), 2)
        self.sever(one, other, one_way=one_way)
        self.at(length_ms, self.mend, one, other)

    def sever(self, one: int, other: int, *, one_way: bool = False) -> None:
        """Cut a link; its ends notice sooner or later."""
        self.network.sever(one, other, one_way=one_way)
        self._break_between(one, other)
        self.at(self.rng.randint(200, 30_000), self._unlink, one, other)

    def mend(self, one: int, other: int) -> None:
        """Mend a link, unless the world has healed without it."""
        if self.healed and not {one, other} <= self.core:
            return
        self.network.mend(one, other)
        self.at(self.rng.randint(200, 5_000), self._link, one, other)

    def _partition(self, length_ms: int) -> None:
        if self.healed:
            return
        side = {h.index for h in self.hosts if self.rng.random() < 0.5}
        for one in sorted(side):
            for other in range(len(self.hosts)):
                if other not in side:
                    self.sever(one, other)
                    self.at(length_ms, self.mend, one, other)

    def _crash_one(self) -> None:
        up = self._up(speaking=False)
        if self.healed or not up:
            return
        host = self.rng.choice(up)
        if self.rng.random() < 0.15:
            self._stop(host, self.rng.randint(200, 8_000))
        else:
            self.doom(host, self.rng.randint(0, 9), self.rng.randint(100, 12_000))

    def _lose_one(self) -> None:
        up = self._up(speaking=False)
        if not self.healed and up:
            self.lose_disk(self.rng.choice(up))

    def _restore_one(self) -> None:
        up = self._up()
        if up:
            self.restore(self.rng.choice(up))

    def _step_clock(self) -> None:
        if self.healed:
            return
        host = self.rng.choice([h for h in self.hosts if h.clocks.wild] or self.hosts[:1])
        if self.rng.random() < 0.5 or not host.clocks.wild:
            host.clocks.mend()
        else:
            host.clocks.step(clocks.bad(self.rng))

    def _swing(self) -> None:
        if not self.healed:
            host = self.rng.choice(self.hosts)
            host.mood = self.rng.choice(models.MOODS)
            if self.rng.random() < 0.3 and host.machine is not None and host.roles:  # the model goes away for a while
                self.feed(host, BackendChanged(None))
                self.at(self.rng.randint(500, 9_000), self._wake_model, host, host.run)

    def _novelty(self) -> None:
        """A peer of a newer version says something that nobody here understands."""
        up = self._up()
        if up:
            host = self.rng.choice(up)
            goal = self.rng.choice(["", *self.known_goals])
            stamp = host.clocks.now(self.t_ms).wall_ms << 16
            envelope = strangers.omen(host.identity, SWARM, stamp, goal)
            for target in self.rng.sample(self.hosts, self.rng.randint(1, len(self.hosts))):
                self.at(self.network.delay(), self.hear, target, target.run, Heard((envelope,), host.peer))

    def _prophesy(self) -> None:
        """A member whose clock is days or years ahead speaks to somebody."""
        up = self._up()
        if up:
            author, ahead_ms = identity(1_002), self.rng.randint(2, 900) * 24 * clocks.HOUR_MS
            stamp = at(clocks.TRUE_MS + self.t_ms + ahead_ms)
            said = [strangers.omen(author, SWARM, stamp, self.rng.choice(["", *self.known_goals]))]
            self._intrude(author, stamp, said, self.rng.sample(up, self.rng.randint(1, len(up))))

    def _sing(self) -> None:
        """A member says much under one stamp, and one machine alone hears it."""
        up = self._up()
        if up:
            author, stamp = identity(1_003), at(clocks.TRUE_MS + self.t_ms)
            said = list(strangers.chorus(author, SWARM, stamp, self.rng.randint(20, 60)))
            self._intrude(author, stamp, said, [self.rng.choice(up)])

    def _flood(self) -> None:
        """A member that has gone mad talks without end to one peer; the others get it by reconciliation."""
        up = self._up(speaking=False)
        if self.healed or not up:
            return
        author = identity(1_000)
        victim = self.rng.choice(up)
        goals = self.known_goals
        for happened in strangers.flood(self.rng, author, SWARM, victim.clocks.now(self.t_ms).wall_ms, goals):
            self.at(self.rng.randint(0, 2_000), self.hear, victim, victim.run, happened)

    # --- the healing -----------------------------------------------------------------------------------------------

    def _heal(self) -> None:
        """From here on a quorum lives, connected and with good models. The rest stays as broken as it is."""
        rng, weather = self.rng, self.weather
        self.healed = True
        scorers = [h.index for h in self.hosts if "scorer" in h.roles]
        spare = [i for i in range(2, len(self.hosts)) if i not in scorers]
        lame = [i for i in scorers if i >= 2]
        left_out: set[int] = set()
        if weather.rest_broken and not weather.faultless:
            most = (len(scorers) - 1) // 2
            left_out |= set(rng.sample(lame, min(len(lame), rng.randint(0, most))))
            left_out |= set(rng.sample(spare, rng.randint(0, len(spare))))
        self.core = set(range(len(self.hosts))) - left_out
        if self.trace is not None:
            self.trace(f"{self.t_ms} HEALED {sorted(self.core)}")
        if weather.faultless:
            return
        wild = [index for index in sorted(self.core) if self.hosts[index].clocks.wild]
        for index in wild[(len(self.core) - 1) // 2 :]:  # NTP reaches some: most of the quorum know what time it is
            self.hosts[index].clocks.mend()
        self.network.loss = min(self.network.loss, 0.05)
        self.network.repeat = self.network.late_delay = 0.0
        for index in sorted(left_out):
            host = self.hosts[index]
            fate = rng.randrange(4)
            if fate == 0:
                self.crash(host)
                host.gone = True
            elif fate == 1:
                for other in range(len(self.hosts)):
                    if other != index:
                        self.sever(index, other)
            elif fate == 2:
                for other in range(len(self.hosts)):
                    if other != index:
                        self.network.sever(other, index, one_way=True)
            else:
                self.network.noisy.add(index)
        for one in sorted(self.core):
            for other in sorted(self.core):
                if one < other:
                    self.network.mend(one, other)
                    self.at(rng.randint(200, 5_000), self._link, one, other)
        for index in sorted(self.core):
            host = self.hosts[index]
            host.doomed = None
            if index < 2:
                host.mood = "able"
            if host.machine is None:
                self.at(rng.randint(100, 3_000), self.boot, host)


def brief(thing: object) -> str:
    """One line that tells two different inputs or effects apart."""
    text = repr(thing)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{text[:160]} #{digest}" if len(text) > 160 else text


def run(seed: int, scenario: str, trace: Callable[[str], None] | None = None) -> World:
    """Run one seed to its end. Raises Violation."""
    world = World(seed, scenario, trace)
    world.execute()
    return world
