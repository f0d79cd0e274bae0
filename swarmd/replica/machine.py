"""One door in, one list out: `handle(input, now) -> effects`. No I/O, no clock, no randomness but the generator it was given.

What leaves is in order: durable, then loud, then work for the model and timers, then told, then answered. A peer's own facts walk
the same road as heard ones: into the set, into the fold, and only then out.
"""

import random
from collections.abc import Callable, Iterable

import msgspec

from swarmd.events.envelope import Envelope, Opened, Signer, Swarm, open_envelope, seal
from swarmd.events.kinds import (
    Amend,
    Cancel,
    Claim,
    Goal,
    Known,
    Member,
    Nomination,
    Promise,
    Proposal,
    Result,
    Score,
    Vote,
)
from swarmd.gossip.eventset import EventSet
from swarmd.gossip.frames import Live, Presence
from swarmd.gossip.reconcile import Initiator
from swarmd.gossip.roster import Roster
from swarmd.plan import show, story
from swarmd.plan.ballot import Electorate
from swarmd.plan.plan import GoalPlan, Plan
from swarmd.plan.task import Task, holder_of
from swarmd.plan.views import Change, ChangeKind, GoalLine, GoalView
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
    CancelGoal,
    Chunk,
    Command,
    Commanded,
    Connected,
    Disconnected,
    Failed,
    Heard,
    Input,
    ListGoals,
    ListPeers,
    LiveHeard,
    Now,
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
from swarmd.replica.jobs import Job, Jobs, Subject
from swarmd.replica.sessions import Sessions
from swarmd.replica.status import PeerView, StatusView
from swarmd.roles import decomposer, executor, scorer
from swarmd.roles.checks import check_split, critique, join_marks, tidy
from swarmd.roles.decomposer import Draft
from swarmd.roles.scene import Scene, TaskClock, Timing, children_max, place
from swarmd.roles.work import Answer, Backend, Judgement, Split, Text
from swarmd.vocab import hlc, limits
from swarmd.vocab.faults import LocalMistake, RemoteFault, UnknownId
from swarmd.vocab.hlc import Hlc
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId, short
from swarmd.vocab.text import clean, cut

ROLES = ("decomposer", "scorer", "executor")
_TRIES = 2  # a model that failed twice at judging a split is not asked a third time: the text checks judge it
_LIVE_MS = 500  # running text is told twice a second
_JOIN_MS_MAX = 30_000  # a peer whose neighbours never answer its sync speaks after that time all the same
_SPEECHES_MAX = 8  # things said about one task in a row; more would be a loop
_CUT = "\n\n[cut: the text was longer than a result may be]"
_TEXT_CHECKS = "text checks"
# what changes nothing for the roles, unless it brings an event, or makes a peer come or go
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
        """*roles*: a subset of `ROLES`; none of them makes a pure observer, which publishes nothing and signs nothing."""
        self._signer = signer
        self._swarm = swarm
        self._name = clean(name, limits.NAME_BYTES_MAX) or short(signer.peer)
        self._allowed = tuple(role for role in ROLES if role in set(roles))
        self._timing = timing
        self._rng = rng
        self._version = version
        self._run = rng.randbytes(16)
        self.events = EventSet()
        self.plan = Plan(swarm)
        self.roster = Roster(timing.presence_ms)
        self._sessions = Sessions(rng)
        self._jobs = Jobs()
        self._clocks: dict[TaskId, TaskClock] = {}
        self._claims: dict[EventId, int] = {}  # when each open claim was last heard of
        self._claimed: dict[EventId, int] = {}  # own claims: when they were made
        self._retry: dict[TaskId, int] = {}  # not to be claimed again before
        self._streams: dict[EventId, str] = {}
        self._backend: Backend | None = None
        self._backend_known = False
        self._clock = hlc.ZERO
        self._now = Now(0, 0)
        self._started_ms: int | None = None
        self._stopping = False
        self._caught_up = False
        self._announce_ms = 0
        self._refused: dict[str, int] = {}
        self._published = 0
        self._wake_ms = 0
        self._stirred = True  # whether the roles have to look even if no event and no peer came or went
        self._due_ms = 0
        self._news: tuple[int, bool, dict[str, list[PeerId]]] = (0, False, {})
        self._begin()

    @property
    def peer(self) -> PeerId:
        """This peer's id."""
        return self._signer.peer

    @property
    def silent(self) -> bool:
        """Whether this is a pure observer."""
        return not self._allowed

    @property
    def roles(self) -> tuple[str, ...]:
        """What this peer does at the moment: without a model only scoring, by the checks of the text."""
        if self._backend is not None:
            return self._allowed
        return tuple(role for role in self._allowed if role == "scorer") if self._backend_known else ()

    # --- the door --------------------------------------------------------------------------------------------------

    def handle(self, happened: Input, now: Now) -> list[Effect]:
        """Take in one thing that happened; what must be done about it, in that order."""
        self._now = now
        self._begin()
        if not isinstance(happened, _HEARSAY):
            self._stirred = True
        match happened:
            case Heard():
                self._ingest(happened.envelopes, happened.via)
            case PresenceHeard():
                self._hear_presence(happened.peer, happened.presence)
            case LiveHeard():
                self._hear_live(happened.peer, happened.live)
            case SyncHeard():
                self._sync(happened)
            case SyncOpened():
                if self.silent or not self._sessions.accept(happened.session, happened.peer, now.mono_ms):
                    self._syncs.append(SyncClose(happened.session))
            case SyncClosed():
                self._sessions.close(happened.session)
            case Connected():
                self.roster.connected.add(happened.peer)
                self._sessions.plan(happened.peer, now.mono_ms, self._timing.settle_ms)
                self._announce_ms = min(self._announce_ms, now.mono_ms + self._timing.settle_ms)
            case Disconnected():
                self.roster.connected.discard(happened.peer)
                self._sessions.lost(happened.peer)
            case Answered():
                self._answered(happened)
            case Chunk():
                self._chunk(happened)
            case Failed():
                self._failed(happened)
            case BackendChanged():
                self._change_backend(happened.backend)
            case Commanded():
                self._command(happened.token, happened.command)
            case Started():
                self._start(happened.envelopes)
            case Stopping():
                self._stopping = True
                self._announce_ms = now.mono_ms
            case Ticked():
                pass
        if self._started_ms is not None:
            self._think()
        return self._effects()

    def _begin(self) -> None:
        self._heard: list[Envelope] = []
        self._said: list[Envelope] = []
        self._loud: list[Effect] = []
        self._syncs: list[Effect] = []
        self._work: list[Effect] = []
        self._told: list[Change] = []
        self._replies: list[Effect] = []

    def _effects(self) -> list[Effect]:
        effects: list[Effect] = []
        if self._heard:
            effects.append(Append(tuple(self._heard), sync=False))
        if self._said:
            effects.append(Append(tuple(self._said), sync=True))
            effects.append(Publish(tuple(self._said)))
        effects += self._loud
        effects += self._syncs
        effects += self._work
        if self._told:
            effects.append(Tell(tuple(self._told)))
        self._published += len(self._said) + len(self._loud)
        return effects + self._replies

    # --- events in and out -----------------------------------------------------------------------------------------

    def _start(self, envelopes: tuple[Envelope, ...]) -> None:
        self._started_ms = self._now.mono_ms
        for envelope in envelopes:
            try:
                opened = open_envelope(envelope, self._swarm)
            except RemoteFault:
                self._refuse("journal")
                continue
            self._take(opened, tell=False)
        self._announce_ms = self._now.mono_ms

    def _ingest(self, envelopes: Iterable[Envelope], via: PeerId) -> None:
        horizon = self._horizon()
        for envelope in envelopes:
            if envelope.id in self.events:
                continue
            try:
                opened = open_envelope(envelope, self._swarm)
            except RemoteFault as fault:
                self._refuse("malformed event")
                self._tell("refused", f"refused an event from {self._called(via)}: {fault}", peer=via)
                continue
            if opened.event.hlc > horizon:
                self._refuse("event from the future")
                continue
            self._take(opened, tell=True)
            self._heard.append(envelope)

    def _take(self, opened: Opened, *, tell: bool) -> None:
        if not self.events.add(opened):
            return
        self._clock = hlc.witness(self._clock, Hlc(opened.event.hlc))
        shifts = self.plan.apply(opened)
        event = opened.event
        match event:
            case Claim():
                self._claims[opened.id] = self._now.mono_ms
            case Result():
                self._streams.pop(event.claim, None)
                if event.status == "failed":
                    self._retry[event.task] = self._now.mono_ms + self._timing.settle_ms * 4 * event.attempt
        for shift in shifts:
            if shift.kind == "ended":
                self._jobs.forget(GoalId(EventId(shift.goal)))
        if not tell:
            return
        told = story.of_event(opened, self.plan, self._called)
        self._told += [told] if told else []
        self._told += [c for shift in shifts if (c := story.of_shift(shift, self.plan, self._wall_ms()))]

    def _say(self, make: Callable[[Hlc], Known]) -> EventId:
        """Author an event. Its author becomes a member first."""
        assert not self.silent, "an observer signs nothing"
        if self.peer not in self.plan.members:
            proof = self._swarm.proof(self.peer)
            self._seal(lambda at: Member(author=self.peer, hlc=at, peer=self.peer, name=self._name, proof=proof))
        return self._seal(make)

    def _seal(self, make: Callable[[Hlc], Known]) -> EventId:
        horizon = self._horizon()
        if self._clock > horizon:  # stamped while our wall clock was wrong: nobody takes what comes after that
            believable = (o.event.hlc for o in self.events if o.event.hlc <= horizon)
            self._clock = Hlc(max(believable, default=hlc.ZERO))
        self._clock = hlc.tick(self._clock, self._wall_ms())
        event = make(self._clock)
        envelope = seal(event, self._signer, self._swarm)
        self._said.append(envelope)
        self._take(Opened(envelope.id, event, envelope), tell=True)
        return envelope.id

    def _wall_ms(self) -> int:
        """The wall clock, moved to the swarm's when it is beyond belief."""
        wall = self._now.wall_ms
        offset = self.roster.offset_ms(wall, self._now.mono_ms)
        wrong = wall < limits.PLAUSIBLE_MS_MIN or abs(offset) > limits.DRIFT_MS_MAX
        return max(0, wall + offset) if wrong else wall

    def _horizon(self) -> int:
        """The latest stamp that is taken in, by the swarm's clock. Without one to go by, any is: a machine that boots in 1970
        must listen."""
        wall = self._now.wall_ms + self.roster.offset_ms(self._now.wall_ms, self._now.mono_ms)
        return hlc.HLC_MAX - 1 if wall < limits.PLAUSIBLE_MS_MIN else hlc.at(wall + limits.DRIFT_MS_MAX)

    def _refuse(self, reason: str) -> None:
        self._refused[reason] = self._refused.get(reason, 0) + 1

    # --- other peers -----------------------------------------------------------------------------------------------

    def _hear_presence(self, peer: PeerId, presence: Presence) -> None:
        if peer == self.peer:
            return
        known = peer in self.roster.alive(self._now.mono_ms)
        self.roster.hear(peer, presence, self._now.mono_ms)
        if presence.leaving:
            if known:
                self._tell("left", f"{self._called(peer)} says goodbye", peer=peer)
            return
        if not known:
            roles = ", ".join(presence.roles) or "no role"
            model = f" with {presence.model}" if presence.model else ""
            self._tell("joined", f"{self._called(peer)} is here: {roles}{model}", peer=peer)
            self._announce_ms = min(self._announce_ms, self._now.mono_ms + self._rng.randint(0, self._timing.settle_ms))
        if presence.fingerprint != self.events.fingerprint() and peer in self.roster.connected:
            wait = self._timing.sync_ms * (1 if self.silent or self.peer < peer else 2)
            self._sessions.plan(peer, self._now.mono_ms, wait)

    def _hear_live(self, peer: PeerId, live: Live) -> None:
        goal = self.plan.goals.get(GoalId(EventId(live.goal)))
        claim = goal.book(TaskId(live.task)).claims.get(live.claim) if goal and live.task in goal.books else None
        if claim is None or claim.author != peer or live.claim not in self._claims:
            return
        self._claims[live.claim] = self._now.mono_ms
        if live.text:
            self._show_text(live.goal, live.task, live.claim, live.offset, live.text)

    def _show_text(self, goal: str, task: str, claim: EventId, offset: int, text: str) -> None:
        so_far = self._streams.get(claim, "")
        if offset != len(so_far):
            so_far = cut(so_far, 0) if offset == 0 else so_far + " … "
        self._streams[claim] = cut(so_far + text, limits.LIVE_TEXT_BYTES_MAX)
        where = story.title(self.plan, goal, task)
        self._told.append(
            Change(kind="live", text=f"“{where}”: {clean(text, 200)}", goal=goal, task=task, chunk=text, wall_ms=self._wall_ms())
        )

    def _sync(self, heard: SyncHeard) -> None:
        try:
            session = self._sessions.open.get(heard.session)
            answer, envelopes = self._sessions.hear(
                heard.session, heard.frame, self.events, self._horizon(), self._now.mono_ms
            )
        except RemoteFault:
            self._refuse("sync frame")
            self._sessions.close(heard.session)
            self._syncs.append(SyncClose(heard.session))
            return
        assert session is not None
        self._ingest(envelopes, session.peer)
        if answer is not None:
            self._syncs.append(SyncSend(heard.session, answer))
        else:
            self._sessions.close(heard.session, complete=True)
            self._syncs.append(SyncClose(heard.session))

    def _keep_level(self) -> None:
        now = self._now.mono_ms
        for number in self._sessions.idle(now):
            self._sessions.close(number)
            self._syncs.append(SyncClose(number))
        for peer in self._sessions.ripe(now):
            initiator = Initiator(self.events, self._horizon(), silent=self.silent)
            number = self._sessions.initiate(peer, initiator, now)
            self._syncs += [SyncOpen(number, peer), SyncSend(number, initiator.start())]
        self._wake_at(self._sessions.next_ms())
        self._catch_up()

    def _catch_up(self) -> None:
        """A peer speaks in ballots and claims only after it has heard what was said while it was away; its disk may be old."""
        assert self._started_ms is not None
        if self._caught_up:
            return
        up = self._now.mono_ms - self._started_ms
        level = self._sessions.completed > 0 and self.roster.connected <= self._sessions.tried
        alone = not self.roster.connected and up >= 2 * self._timing.presence_ms
        if level or alone or up >= _JOIN_MS_MAX:
            self._caught_up = True
            self._tell("sync", f"level with the swarm: {len(self.events)} events, {len(self.plan.goals)} goals")
        else:
            self._wake_at(self._started_ms + (_JOIN_MS_MAX if self.roster.connected else 2 * self._timing.presence_ms))

    def _announce(self) -> None:
        if self.silent:
            return
        if self._now.mono_ms >= self._announce_ms:
            presence = Presence(
                name=self._name,
                roles=() if self._stopping else self.roles,
                model=cut(self._backend.model, limits.MODEL_BYTES_MAX) if self._backend else "",
                slots=self._backend.slots if self._backend else 0,
                running=len(self._jobs.running),
                version=self._version,
                wall_ms=self._now.wall_ms,
                hlc=self._clock,
                fingerprint=self.events.fingerprint(),
                count=len(self.events),
                run=self._run,
                leaving=self._stopping,
            )
            self._loud.append(Announce(presence))
            self._announce_ms = self._now.mono_ms + self._timing.presence_ms
        self._wake_at(self._announce_ms)

    # --- what to do next -------------------------------------------------------------------------------------------

    def _think(self) -> None:
        self._wake_ms = self._now.mono_ms + 60_000  # nothing due: look again in a minute
        self._keep_level()
        if not self._stopping and not self.silent:
            scene = self._scene()
            news = (len(self.events), self._caught_up, scene.with_role)
            if self._stirred or self._now.mono_ms >= self._due_ms or news != self._news:
                self._due_ms = self._decide(scene)
                self._stirred = len(self.events) > news[0]  # own words may call for further ones
                self._news = (len(self.events), self._caught_up, scene.with_role)
            self._wake_at(self._due_ms)
        self._announce()
        self._work.append(Arm(self._wake_ms))

    def _decide(self, scene: Scene) -> int:
        """Let the roles act on the moment; returns when, without news, they have to look again."""
        level_ms, self._wake_ms = self._wake_ms, self._now.mono_ms + 60_000
        self._name_electorates()
        self._deliberate(scene)
        self._labour(scene)
        due_ms, self._wake_ms = self._wake_ms, level_ms
        return due_ms

    def _wake_at(self, mono_ms: int | None) -> None:
        if mono_ms is not None and mono_ms > self._now.mono_ms:  # what is due already was looked at in this very step
            self._wake_ms = min(self._wake_ms, mono_ms)

    def _scene(self) -> Scene:
        alive = self.roster.alive(self._now.mono_ms)
        with_role = {
            role: sorted([p for p, presence in alive.items() if role in presence.roles] + ([self.peer] if role in self.roles else []))
            for role in ROLES
        }
        return Scene(
            me=self.peer, mono_ms=self._now.mono_ms, timing=self._timing, with_role=with_role, clocks=self._clocks
        )

    def _warm(self) -> bool:
        """Whether this peer has been up for long enough to know who else is."""
        assert self._started_ms is not None
        return self._now.mono_ms >= self._started_ms + 2 * self._timing.presence_ms

    def _name_electorates(self) -> None:
        for plan in self.plan.open_goals():
            if plan.goal is None or plan.goal.author != self.peer or plan.electorate.members:
                continue
            scorers = self._scene().live("scorer")
            if not self._warm() or not scorers:
                assert self._started_ms is not None
                self._wake_at(self._started_ms + 2 * self._timing.presence_ms)
                continue
            members = tuple(scorers[: limits.ELECTORATE_MAX])
            quorum = Electorate.of(members, plan.goal.quorum).quorum
            self._say(
                lambda at, goal=plan.id, members=members, quorum=quorum: Amend(  # type: ignore[misc]
                    author=self.peer, hlc=at, goal=goal, electorate=members, quorum=quorum
                )
            )

    def _deliberate(self, scene: Scene) -> None:
        wanted: set[Subject] = set()
        wishes: list[tuple[int, int, Subject]] = []
        for age, plan in enumerate(self.plan.open_goals()):
            for task in list(plan.walk()):
                if task.state != "open" or task.leaf:
                    self._clocks.pop(task.id, None)
                    continue
                clock = self._clocks.get(task.id)
                if clock is None:
                    clock = self._clocks[task.id] = TaskClock(scene.mono_ms, self._rng.random())
                if clock.proposed_ms is None and plan.book(task.id).proposals:
                    clock.proposed_ms = scene.mono_ms
                if "scorer" in self.roles and self._caught_up:
                    for proposal in scorer.overdue(plan, task, scene):
                        self._score(plan, task, proposal, None)
                    self._speak(plan, task, scene)
                    if task.accepted is not None:
                        continue
                    for proposal in scorer.unscored(plan, task, scene):
                        wishes.append((0, age, Subject("judge", plan.id, task.id, proposal)))
                if "decomposer" in self.roles and self._caught_up:
                    draft = decomposer.wanted(plan, task, scene)
                    if draft is not None:
                        wishes.append((1, age, Subject("propose", plan.id, task.id, draft)))
                self._wake_at(scorer.deadline(plan, task, scene))
        wanted = {subject for _, _, subject in wishes}
        for number, job in list(self._jobs.running.items()):
            if job.subject.kind != "work" and job.subject not in wanted:
                self._abort(number)
        for _, _, subject in sorted(wishes, key=lambda wish: wish[:2]):
            self._begin_thought(subject)

    def _speak(self, plan: GoalPlan, task: Task, scene: Scene) -> None:
        for _ in range(_SPEECHES_MAX):
            if task.accepted is not None or plan.ended:
                return
            speech = scorer.speak(plan, task, scene)
            if speech is None:
                return
            me, goal, about = self.peer, plan.id, task.id
            match speech:
                case scorer.SayPromise(ballot, approvals):
                    self._say(
                        lambda at, ballot=ballot, approvals=approvals: Promise(  # type: ignore[misc]
                            author=me, hlc=at, goal=goal, task=about, ballot=ballot, approvals=approvals
                        )
                    )
                case scorer.SayNomination(ballot, proposal, promises):
                    self._say(
                        lambda at, ballot=ballot, proposal=proposal, promises=promises: Nomination(  # type: ignore[misc]
                            author=me, hlc=at, goal=goal, task=about, ballot=ballot, proposal=proposal, promises=promises
                        )
                    )
                case scorer.SayVote(ballot, proposal, approve):
                    self._say(
                        lambda at, ballot=ballot, proposal=proposal, approve=approve: Vote(  # type: ignore[misc]
                            author=me, hlc=at, goal=goal, task=about, ballot=ballot, proposal=proposal, approve=approve
                        )
                    )

    def _begin_thought(self, subject: Subject) -> None:
        """Start judging or proposing, if there is a free slot and it is not put off."""
        if self._jobs.number(subject) is not None:
            return
        plan = self.plan.goals[subject.goal]
        task = plan.tasks[subject.task]
        if subject.kind == "judge":
            assert isinstance(subject.about, str)
            trivial = not plan.book(task.id).proposals[subject.about].subgoals
            if trivial or self._backend is None or self._jobs.failures.get(subject, 0) >= _TRIES:
                self._score(plan, task, subject.about, None)
                return
        if not self._may_start(subject):
            return
        if isinstance(subject.about, Draft):
            self._start_job(subject, decomposer.request(plan, task, subject.about))
        else:
            self._start_job(subject, scorer.request(plan, task, subject.about))

    def _may_start(self, subject: Subject) -> bool:
        not_before = self._jobs.not_before.get(subject, 0)
        if not_before > self._now.mono_ms:
            self._wake_at(not_before)
            return False
        return self._free_slots() > self._promised_slots()

    def _free_slots(self) -> int:
        return (self._backend.slots if self._backend else 0) - len(self._jobs.running)

    def _start_job(self, subject: Subject, request: object) -> None:
        number = self._jobs.start(subject, request, self._now.mono_ms)  # type: ignore[arg-type]
        self._work.append(Ask(number, request))  # type: ignore[arg-type]

    def _abort(self, number: int) -> None:
        if self._jobs.finish(number) is not None:
            self._work.append(Abort(number))

    # --- claims and work -------------------------------------------------------------------------------------------

    def _labour(self, scene: Scene) -> None:
        now = self._now.mono_ms
        expired = self._expired_leases()
        held = self._held()
        for number, job in list(self._jobs.running.items()):
            if job.subject.kind == "work" and job.subject.about not in held:
                self._abort(number)  # finished elsewhere, cancelled, or an earlier claim came to light
        for claim, (plan, task) in held.items():
            subject = Subject("work", plan.id, task.id, claim)
            number = self._jobs.number(subject)
            if number is not None:
                self._renew(self._jobs.running[number], claim)
                continue
            settled = self._claimed.get(claim, self._now.mono_ms) + self._timing.settle_ms
            self._claimed.setdefault(claim, self._now.mono_ms)  # after a restart an old claim settles anew
            self._wake_at(settled)
            if now >= settled and "executor" in self.roles and self._free_slots() > 0:
                self._start_job(subject, executor.request(plan, task))
        if "executor" not in self.roles or not self._caught_up:
            return
        unstarted = sum(1 for claim, (p, t) in held.items() if self._jobs.number(Subject("work", p.id, t.id, claim)) is None)
        free = self._free_slots() - unstarted
        for plan in self.plan.open_goals():
            for opening in executor.openings(plan, scene, expired):
                if free <= 0:
                    return
                if opening.task.born >= self._horizon():
                    continue  # made while our clock was wrong: no claim of today would count
                if self._retry.get(opening.task.id, 0) > now:
                    self._wake_at(self._retry[opening.task.id])
                    continue
                assert plan.goal is not None
                claim = self._say(
                    lambda at, plan=plan, opening=opening: Claim(  # type: ignore[misc]
                        author=self.peer, hlc=at, goal=plan.id, task=opening.task.id, attempt=opening.attempt,
                        lease_ms=plan.goal.policy.lease_ms,
                    )
                )  # fmt: skip
                self._claimed[claim] = now
                self._wake_at(now + self._timing.settle_ms)
                free -= 1

    def _held(self) -> dict[EventId, tuple[GoalPlan, Task]]:
        """Own claims that hold their task and have no result yet."""
        held: dict[EventId, tuple[GoalPlan, Task]] = {}
        for plan in self.plan.open_goals():
            for task in plan.walk():
                if task.state != "ready":
                    continue
                book = plan.book(task.id)
                claim = holder_of(task, book)
                if claim and book.claims[claim].author == self.peer and not any(r.claim == claim for r in book.results.values()):
                    held[claim] = (plan, task)
        return held

    def _promised_slots(self) -> int:
        """Slots that wait for claims which have not settled yet: what is claimed must be worked on before its lease runs out."""
        begun = {job.subject.about for job in self._jobs.running.values() if job.subject.kind == "work"}
        return sum(claim not in begun for claim in self._held()) if "executor" in self.roles else 0

    def _expired_leases(self) -> set[EventId]:
        """Claims whose holder has been silent for the lease, or has said goodbye; and when the next one runs out."""
        now = self._now.mono_ms
        alive = self.roster.alive(now)
        expired = set()
        for plan in self.plan.open_goals():
            for task in plan.walk():
                if task.state != "ready":
                    continue
                book = plan.book(task.id)
                claim = holder_of(task, book)
                if claim is None or book.claims[claim].author == self.peer:
                    continue
                author = book.claims[claim].author
                ends = self._claims.get(claim, now) + book.claims[claim].lease_ms
                seen = self.roster.seen.get(author)
                if now >= ends or (author not in alive and seen is not None and seen.presence.leaving):
                    expired.add(claim)
                else:
                    self._wake_at(ends)
        return expired

    def _renew(self, job: Job, claim: EventId) -> None:
        """Keep the lease of a claim that is being worked on, by its text or by an empty chunk."""
        now = self._now.mono_ms
        plan = self.plan.goals[job.subject.goal]
        lease = plan.book(job.subject.task).claims[claim].lease_ms
        due = job.sent_ms + (_LIVE_MS if job.unsent else lease // 3)
        if now < due:
            self._wake_at(due)
            return
        text = cut(job.unsent, limits.LIVE_BYTES_MAX)
        offset = job.written - len(job.unsent)
        job.unsent = job.unsent[len(text) :]
        job.sent_ms = now
        live = Live(goal=job.subject.goal, task=job.subject.task, claim=claim, offset=offset, text=text)
        self._loud.append(Stream(live))
        if text:
            self._show_text(live.goal, live.task, claim, offset, text)
        self._wake_at(now + (_LIVE_MS if job.unsent else lease // 3))

    # --- what the model says ---------------------------------------------------------------------------------------

    def _change_backend(self, backend: Backend | None) -> None:
        if self._backend_known and backend == self._backend:
            return
        gone = self._backend is not None and backend is None
        self._backend, self._backend_known = backend, True
        self._announce_ms = self._now.mono_ms
        if backend is not None:
            self._tell("backend", f"{self._name} works with {backend.model} ({backend.tier} model, {backend.name})")
        elif gone:
            self._tell("backend", f"{self._name} has lost its model; it goes on judging by text checks only")
        if backend is None:
            for number, job in list(self._jobs.running.items()):
                self._jobs.finish(number)
                self._work.append(Abort(number))
                if job.subject.kind == "work":
                    self._give_up(job.subject, "the model went away")

    def _chunk(self, chunk: Chunk) -> None:
        job = self._jobs.running.get(chunk.job)
        if job is not None and job.subject.kind == "work":
            text = clean_piece(chunk.text)
            job.unsent += text
            job.written += len(text)

    def _failed(self, failed: Failed) -> None:
        job = self._jobs.finish(failed.job)
        if job is None:
            return
        if job.subject.kind == "work":
            self._give_up(job.subject, failed.reason)
        else:
            self._jobs.put_off(job.subject, self._now.mono_ms, failed.retry_ms)

    def _answered(self, answered: Answered) -> None:
        job = self._jobs.finish(answered.job)
        if job is None:
            return
        plan = self.plan.goals[job.subject.goal]
        task = plan.tasks.get(job.subject.task)
        if task is None or plan.ended:
            return
        if not self._use(plan, task, job, answered.answer):
            self._failed_subject(job.subject)

    def _use(self, plan: GoalPlan, task: Task, job: Job, answer: Answer) -> bool:
        """Turn a model's answer into an event; False if it is of no use."""
        about = job.subject.about
        match answer:
            case Split() if isinstance(about, Draft):
                return self._propose(plan, task, about, answer)
            case Judgement() if job.subject.kind == "judge" and isinstance(about, str):
                self._score(plan, task, about, answer)
                return True
            case Text() if job.subject.kind == "work" and isinstance(about, str):
                text = clean(answer.text, 1 << 30, lines=True)
                if not text:
                    return False
                self._result(plan, task, about, "done", text, answer)
                return True
        return False

    def _failed_subject(self, subject: Subject) -> None:
        if subject.kind == "work":
            self._give_up(subject, "the model's answer was of no use")
        else:
            self._jobs.put_off(subject, self._now.mono_ms, self._timing.settle_ms)

    def _propose(self, plan: GoalPlan, task: Task, draft: Draft, split: Split) -> bool:
        if task.accepted is not None:
            return True
        subgoals = tidy(split.subgoals, place(plan, task), children_max(plan, task))
        if len(subgoals) < 2:
            if split.subgoals:
                return False  # nothing that holds was left of what the model said
            subgoals = ()
        book = plan.book(task.id)
        if any(p.subgoals == subgoals for p in book.proposals.values()):
            return False
        self._say(
            lambda at: Proposal(
                author=self.peer, hlc=at, goal=plan.id, task=task.id, strategy=cut(draft.strategy, limits.STRATEGY_BYTES_MAX),
                subgoals=subgoals, refines=draft.refines, model=_label(split.model),
            )
        )  # fmt: skip
        return True

    def _score(self, plan: GoalPlan, task: Task, proposal: EventId, judgement: Judgement | None) -> None:
        book = plan.book(task.id)
        if self.peer in book.scores.get(proposal, {}) or proposal not in book.proposals:
            return
        subgoals = book.proposals[proposal].subgoals
        assert plan.goal is not None
        if subgoals:
            findings = check_split(place(plan, task), subgoals)
            marks, words = join_marks(judgement, findings), critique(judgement, findings)
        else:  # to do a task whole is just good enough: any split that is better wins
            marks, words = (plan.goal.policy.threshold,) * 3, ""
        model = _label(judgement.model) if judgement else _TEXT_CHECKS
        self._say(
            lambda at: Score(
                author=self.peer, hlc=at, goal=plan.id, task=task.id, proposal=proposal, specific=marks[0],
                disjoint=marks[1], covering=marks[2], critique=cut(words, limits.CRITIQUE_BYTES_MAX), model=model,
            )
        )  # fmt: skip

    def _give_up(self, subject: Subject, reason: str) -> None:
        """Publish that an attempt failed, if the claim is still ours to speak for."""
        plan = self.plan.goals[subject.goal]
        task = plan.tasks.get(subject.task)
        assert isinstance(subject.about, str)
        if task is not None and not plan.ended and not task.finished:
            text = clean(reason, limits.REASON_BYTES_MAX) or "no reason given"
            self._result(plan, task, subject.about, "failed", text, None)

    def _result(self, plan: GoalPlan, task: Task, claim: EventId, status: str, text: str, answer: Text | None) -> None:
        book = plan.book(task.id)
        if holder_of(task, book) != claim:
            return  # the loser of a race publishes nothing
        if len(text.encode()) > limits.RESULT_BYTES_MAX:
            text = cut(text, limits.RESULT_BYTES_MAX - len(_CUT.encode())) + _CUT
        usage = {"usage": answer.usage} if answer else {}
        self._say(
            lambda at: Result(
                author=self.peer, hlc=at, goal=plan.id, task=task.id, attempt=book.claims[claim].attempt, claim=claim,
                status=status, text=text, model=_label(answer.model) if answer else "", **usage,  # type: ignore[arg-type]
            )
        )  # fmt: skip

    # --- commands --------------------------------------------------------------------------------------------------

    def _command(self, token: int, command: Command) -> None:
        try:
            value = self._obey(command)
        except LocalMistake as mistake:
            self._replies.append(Reply(token, mistake))
        else:
            self._replies.append(Reply(token, value))

    def _obey(
        self, command: Command
    ) -> str | tuple[GoalLine, ...] | GoalView | tuple[PeerView, ...] | StatusView:
        match command:
            case SetGoal():
                return self._set_goal(command)
            case CancelGoal():
                plan = self._goal(command.goal)
                if plan.ended:
                    raise LocalMistake(f"the goal has already ended: {plan.status}")
                self._must_speak()
                reason = clean(command.reason, limits.REASON_BYTES_MAX)
                self._say(lambda at: Cancel(author=self.peer, hlc=at, goal=plan.id, reason=reason))
                return plan.id
            case ListGoals():
                known = [plan for plan in self.plan.goals.values() if plan.goal is not None]
                lines = [show.goal_line(plan) for plan in known]
                return tuple(sorted(lines, key=lambda line: (line.created_ms, line.id)))
            case ShowGoal():
                plan = self._goal(command.goal)
                return show.goal_view(plan, self._called, self._streams, lambda task: self._waits(plan, task))
            case ListPeers():
                return self._peers()
            case ShowStatus():
                return self._status()

    def _set_goal(self, command: SetGoal) -> str:
        self._must_speak()
        text = clean(command.text, 1 << 30, lines=True)
        if not text:
            raise LocalMistake("the goal is empty; say in a sentence what you want to have planned")
        if len(text.encode()) > limits.GOAL_BYTES_MAX:
            raise LocalMistake(
                f"the goal is {len(text.encode())} bytes long, the limit is {limits.GOAL_BYTES_MAX};"
                " put the essence in one paragraph"
            )
        scorers = tuple(self._scene().live("scorer")[: limits.ELECTORATE_MAX]) if self._warm() else ()
        if command.quorum is not None and scorers and not len(scorers) // 2 < command.quorum <= len(scorers):
            raise LocalMistake(
                f"a quorum of {command.quorum} does not fit {len(scorers)} scorers:"
                f" it must be from {len(scorers) // 2 + 1} to {len(scorers)}"
            )
        quorum = command.quorum or (len(scorers) // 2 + 1 if scorers else 0)
        try:  # the wire's own bounds
            msgspec.convert(msgspec.to_builtins((command.limits, command.policy)), tuple[type(command.limits), type(command.policy)])
        except msgspec.ValidationError as error:
            raise LocalMistake(f"a limit of the goal is out of range: {error}") from error
        return self._say(
            lambda at: Goal(
                author=self.peer, hlc=at, text=text, electorate=scorers, quorum=quorum,
                limits=command.limits, policy=command.policy,
            )
        )  # fmt: skip

    def _must_speak(self) -> None:
        if self.silent:
            raise LocalMistake("this peer only observes and says nothing; give the command on a peer that has a role")

    def _goal(self, prefix: str) -> GoalPlan:
        known = [plan for plan in self.plan.goals.values() if plan.goal is not None]
        if not prefix and known:
            return max(known, key=lambda plan: (plan.goal.hlc if plan.goal else 0, plan.id))
        if not prefix:
            raise UnknownId("there is no goal yet; set one with: swarmctl goal TEXT")
        found = [plan for plan in known if plan.id.startswith(prefix.lower())]
        if len(found) > 1:
            raise UnknownId(f"{len(found)} goals begin with {prefix}; give more of the id")
        if not found:
            raise UnknownId(f"no goal begins with {prefix}; see: swarmctl goals")
        return found[0]

    def _called(self, peer: PeerId) -> str:
        if peer == self.peer:
            return self._name
        seen = self.roster.seen.get(peer)
        member = self.plan.members.get(peer)
        return (seen.presence.name if seen else "") or (member.name if member else "") or short(peer)

    def _waits(self, plan: GoalPlan, task: Task) -> str:
        """What a task waits for, in words; empty if it is under way."""
        if plan.ended or task.finished:
            return ""
        scene = self._scene()
        if task.state == "ready":
            blocked = plan.blocked(task)
            if blocked:
                return "waits for " + ", ".join(f"“{story.brief(t.title)}”" for t in blocked[:3])
            return "" if scene.live("executor") or holder_of(task, plan.book(task.id)) else "no executor is here"
        if task.state != "open":
            return ""
        electorate = plan.electorate
        if not electorate.members:
            return "no scorer is known yet"
        alive = {*self.roster.alive(self._now.mono_ms), self.peer}
        here = sum(member in alive for member in electorate.members)
        if here < electorate.quorum:
            return f"{here} of {len(electorate.members)} scorers are here, {electorate.quorum} must agree"
        book = plan.book(task.id)
        if not book.proposals:
            return "" if scene.live("decomposer") else "no decomposer is here"
        means = [mean for p in book.proposals if (mean := book.mean(p, electorate.members)) is not None]
        assert plan.goal is not None
        if plan.goal.policy.strict and means and max(means) < plan.goal.policy.threshold:
            return f"no split has reached the threshold of {plan.goal.policy.threshold:.2f}; the best has {max(means):.2f}"
        return ""

    def _peers(self) -> tuple[PeerView, ...]:
        alive = self.roster.alive(self._now.mono_ms)
        mine = self.events.fingerprint()
        return tuple(
            PeerView(
                id=peer,
                name=self._called(peer),
                roles=seen.presence.roles,
                model=seen.presence.model,
                running=seen.presence.running,
                slots=seen.presence.slots,
                version=seen.presence.version,
                connected=peer in self.roster.connected,
                alive=peer in alive,
                level=seen.presence.fingerprint == mine,
                seen_ms=self._now.mono_ms - seen.mono_ms,
                clock_offset_ms=seen.offset_ms(self._now.wall_ms, self._now.mono_ms),
            )
            for peer, seen in sorted(self.roster.seen.items())
        )

    def _status(self) -> StatusView:
        assert self._started_ms is not None
        backend = self._backend
        return StatusView(
            id=self.peer,
            name=self._name,
            version=self._version,
            swarm=self._swarm.id,
            roles=self.roles or ("observer",) if self.silent else self.roles,
            backend=backend.name if backend else "",
            model=backend.model if backend else "",
            tier=backend.tier if backend else "",
            slots=backend.slots if backend else 0,
            running=len(self._jobs.running),
            caught_up=self._caught_up,
            peers_connected=len(self.roster.connected),
            peers_alive=len(self.roster.alive(self._now.mono_ms)),
            goals_open=len(self.plan.open_goals()),
            goals=sum(plan.goal is not None for plan in self.plan.goals.values()),
            events=len(self.events),
            digest=self.plan.digest(),
            fingerprint=self.events.fingerprint().hex(),
            published=self._published,
            refused=dict(sorted(self._refused.items())),
            clock_offset_ms=self.roster.offset_ms(self._now.wall_ms, self._now.mono_ms),
            uptime_ms=self._now.mono_ms - self._started_ms,
        )

    def _tell(self, kind: ChangeKind, text: str, *, peer: str = "") -> None:
        self._told.append(Change(kind=kind, text=text, peer=peer, wall_ms=self._wall_ms()))


def clean_piece(text: str) -> str:
    """A piece of running text without control characters; unlike `clean`, white space at its ends stays."""
    kept = clean("|" + text + "|", limits.LIVE_TEXT_BYTES_MAX, lines=True)
    return kept[1:].removesuffix("|")


def _label(model: str) -> str:
    return clean(model, limits.MODEL_BYTES_MAX)
