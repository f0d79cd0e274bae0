"""One door in, one list out: `handle(input, now) -> effects`. No I/O, no clock, no chance but the generator it was
given.

What leaves is in order: durable, then loud, then work for the model and timers, then told, then answered.
"""

import random
from collections.abc import Iterable

from swarmd.events.envelope import Signer, Swarm
from swarmd.gossip.eventset import EventSet
from swarmd.gossip.roster import Roster
from swarmd.plan.plan import Plan
from swarmd.replica.company import Company
from swarmd.replica.desk import Desk
from swarmd.replica.effects import Effect, Reply
from swarmd.replica.inputs import (
    Answered,
    BackendChanged,
    Chunk,
    Commanded,
    Connected,
    Disconnected,
    DiskChanged,
    Failed,
    Heard,
    Input,
    LiveHeard,
    Now,
    PresenceHeard,
    Started,
    Stopping,
    SyncClosed,
    SyncHeard,
    SyncOpened,
    Ticked,
)
from swarmd.replica.jobs import Jobs, Subject
from swarmd.replica.labour import Labour
from swarmd.replica.me import ROLES, Me
from swarmd.replica.record import Record
from swarmd.replica.thought import Thought
from swarmd.replica.turn import Turn
from swarmd.roles.scene import Scene, Timing
from swarmd.roles.work import Answer, Backend
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake
from swarmd.vocab.ids import PeerId, short
from swarmd.vocab.text import clean

# what changes nothing for the roles, unless it brings an event, or makes a peer come or go
_FORGET_MS = 3_600_000  # how often old goals are looked for; they are a season old
_HEARSAY = (Heard, PresenceHeard, LiveHeard, SyncOpened, SyncHeard, SyncClosed, Connected, Disconnected, Ticked)


class Machine:
    """A replica with its roles."""

    def __init__(
        self,
        signer: Signer,
        swarm: Swarm,
        *,
        name: str,
        roles: Iterable[str],
        timing: Timing,
        rng: random.Random,
        version: str,
    ) -> None:
        """*roles*: a subset of `ROLES`; none of them makes a pure observer, which publishes nothing and signs
        nothing."""
        wanted = set(roles)
        self.me = Me(
            peer=signer.peer,
            name=clean(name, limits.NAME_BYTES_MAX) or short(signer.peer),
            allowed=tuple(role for role in ROLES if role in wanted),
            version=version,
            run=rng.randbytes(16),
        )
        self.roster = Roster(timing.presence_ms)
        self._timing = timing
        self._jobs = Jobs()
        self._record = Record(
            self.me, signer, swarm, self.roster, lambda turn, opened, shifts: self._labour.notice(turn, opened, shifts)
        )
        self._company = Company(self._record, self.me, timing, rng)
        self._labour = Labour(self._record, self.me, self._company, self._jobs, timing)
        self._thought = Thought(self._record, self.me, self._company, self._labour, self._jobs, rng)
        self._desk = Desk(self._record, self.me, self._company, self._labour, self._jobs)
        self._stopping = False
        self._with_role: dict[str, list[PeerId]] = {}
        self._held_by: tuple[int, tuple[str, ...]] | None = None  # of which turn of the roster, and own roles
        self._stirred = True  # whether the roles must look whatever the news
        self._due_ms = 0
        self._forget_ms = 0
        self._news: tuple[object, ...] = ()

    @property
    def peer(self) -> PeerId:
        """This peer's id."""
        return self.me.peer

    @property
    def silent(self) -> bool:
        """Whether this is an observer."""
        return self.me.silent

    @property
    def events(self) -> EventSet:
        """Everything that this replica has heard and said."""
        return self._record.events

    @property
    def plan(self) -> Plan:
        """What those events say."""
        return self._record.plan

    def handle(self, happened: Input, now: Now) -> list[Effect]:
        """Take in one thing that happened; what must be done about it, in that order."""
        turn = Turn(now)
        self._stirred |= not isinstance(happened, _HEARSAY)
        self._take(turn, happened)
        if self._company.started_ms is not None:
            self._think(turn)
        self._desk.published += len(turn.said) + len(turn.loud)
        return turn.effects()

    def _take(self, turn: Turn, happened: Input) -> None:
        match happened:
            case Heard():
                self._record.ingest(turn, happened.envelopes, happened.via)
            case PresenceHeard():
                self._company.hear(turn, happened.peer, happened.presence)
            case LiveHeard():
                self._labour.hear(turn, happened.peer, happened.live)
            case SyncHeard():
                self._company.sync(turn, happened)
            case SyncOpened():
                self._company.accept(turn, happened.session, happened.peer)
            case SyncClosed():
                self._company.closed(happened.session)
            case Connected():
                self._company.connected(turn, happened.peer)
            case Disconnected():
                self._company.disconnected(happened.peer)
            case Answered():
                self._answered(turn, happened.job, happened.answer)
            case Chunk():
                self._labour.chunk(happened.job, happened.text)
            case Failed():
                job = self._jobs.finish(happened.job)
                if job is not None:
                    self._fell_through(turn, job.subject, happened.reason, happened.retry_ms)
            case BackendChanged():
                self._change_backend(turn, happened)
            case DiskChanged():
                self._change_disk(turn, happened.trouble)
            case Commanded():
                self._command(turn, happened)
            case Started():
                self._company.start(turn)
                self._record.events.forgotten.update({each.group: each for each in happened.forgotten})
                self._record.restore(turn, happened.envelopes)
                self._forget_ms = turn.mono_ms + _FORGET_MS
            case Stopping():
                self._stopping = True
            case Ticked():
                pass

    def _think(self, turn: Turn) -> None:
        if turn.mono_ms >= self._forget_ms:
            self._forget_ms = turn.mono_ms + _FORGET_MS
            self._record.forget_old(turn)
        self._company.miss(turn)
        self._company.keep_level(turn)
        if not self._stopping and not self.silent:
            self._decide(turn)
        self._company.announce(turn, running=len(self._jobs.running), leaving=self._stopping)

    def _decide(self, turn: Turn) -> None:
        """Let the roles look at the moment, if there is news or something is due: most inputs are hearsay."""
        scene = self._scene(turn)
        if not (self._stirred or turn.mono_ms >= self._due_ms or self._news != self._moment(scene)):
            turn.wake_at(self._due_ms)
            return

        def decide() -> None:
            self._thought.think(turn, scene)
            self._labour.work(turn, scene)

        events = len(self.events)
        self._due_ms = turn.deadline_of(decide)
        self._stirred = len(self.events) > events  # own words may call for further ones
        self._news = self._moment(scene)

    def _moment(self, scene: Scene) -> tuple[object, ...]:
        """What the roles' decisions rest on, besides time and what is not hearsay."""
        return len(self.events), self._company.caught_up, scene.with_role

    def _scene(self, turn: Turn) -> Scene:
        alive = self.roster.alive(turn.mono_ms)
        held_by = (self.roster.turns, self.me.roles)
        if held_by != self._held_by:
            self._held_by = held_by
            roles = {peer: presence.roles for peer, presence in alive.items()} | {self.me.peer: self.me.roles}
            self._with_role = {role: sorted(peer for peer, held in roles.items() if role in held) for role in ROLES}
        return Scene(
            me=self.me.peer,
            mono_ms=turn.mono_ms,
            timing=self._timing,
            with_role=self._with_role,
            clocks=self._thought.clocks,
        )

    def _command(self, turn: Turn, commanded: Commanded) -> None:
        try:
            turn.replies.append(Reply(commanded.token, self._desk.obey(turn, commanded.command, self._scene(turn))))
        except LocalMistake as mistake:
            turn.replies.append(Reply(commanded.token, mistake))

    # --- the model -------------------------------------------------------------------------------------------------

    def _answered(self, turn: Turn, number: int, answer: Answer) -> None:
        job = self._jobs.finish(number)
        if job is None:
            return
        part = self._labour if job.subject.kind == "work" else self._thought
        if not part.use(turn, job.subject, answer):
            self._fell_through(turn, job.subject, "the model's answer was of no use", self._timing.settle_ms)

    def _fell_through(self, turn: Turn, subject: Subject, reason: str, retry_ms: int) -> None:
        if subject.kind == "work":
            self._labour.give_up(turn, subject, reason)
        else:
            self._jobs.put_off(subject, turn.mono_ms, retry_ms)

    def _change_backend(self, turn: Turn, happened: BackendChanged) -> None:
        me, backend = self.me, happened.backend
        if me.backend_known and (backend, happened.roles, happened.reasons) == (me.backend, me.suited, me.reasons):
            return
        if backend is not None and not _is_same_model(backend, me.backend):
            text = f"{me.name} works with {backend.model} ({backend.tier} model, {backend.name})"
            self._record.tell(turn, "backend", text)
        elif backend is None and me.backend is not None:
            text = f"{me.name} has lost its model; what it may still do is judge, by checks of the text"
            self._record.tell(turn, "backend", text)
        me.backend, me.backend_known = backend, True
        me.suited, me.reasons = happened.roles, happened.reasons
        self._company.announce_within(turn, 0)
        if backend is None:
            for job in self._jobs.drop_all(turn):
                if job.subject.kind == "work":
                    self._labour.give_up(turn, job.subject, "the model went away")

    def _change_disk(self, turn: Turn, trouble: str) -> None:
        """Fall silent, since what is said must be on disk first; or speak again. What runs is nobody's any more."""
        if trouble and not self.me.mute:
            self._jobs.drop_all(turn)
            self._record.tell(turn, "disk", f"{self.me.name} only observes for now: {trouble}")
        elif self.me.mute and not trouble:
            self._record.tell(turn, "disk", f"the disk is well again: {self.me.name} takes part")
            self._company.announce_within(turn, 0)
        self.me.mute = trouble


def _is_same_model(one: Backend, other: Backend | None) -> bool:
    return other is not None and (one.name, one.model) == (other.name, other.model)
