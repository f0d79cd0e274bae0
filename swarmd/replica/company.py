"""Keeping company: saying that we live, hearing who else does, and being level with them."""

import random

from swarmd.gossip.frames import Presence
from swarmd.gossip.reconcile import Initiator
from swarmd.replica.effects import Announce, SyncClose, SyncOpen, SyncSend
from swarmd.replica.inputs import SyncHeard
from swarmd.replica.me import Me
from swarmd.replica.record import Record
from swarmd.replica.sessions import Sessions
from swarmd.replica.turn import Turn
from swarmd.roles.scene import Timing
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.ids import PeerId
from swarmd.vocab.text import clean

_JOIN_MS_MAX = 30_000  # a peer whose neighbours never answer its sync speaks after that time all the same
_WARM_PRESENCES = 2  # so many presence periods after the start everybody near has been heard


class Company:
    """Presence and reconciliation. *caught_up*: this peer has heard what was said while it was away, and may speak in
    ballots and claim; its disk may be an old one."""

    def __init__(self, record: Record, me: Me, timing: Timing, rng: random.Random) -> None:
        self.caught_up = False
        self.started_ms: int | None = None
        self._record = record
        self._me = me
        self._timing = timing
        self._rng = rng
        self._sessions = Sessions(rng)
        self._announce_ms = 0
        self._present: set[PeerId] = set()

    def start(self, turn: Turn) -> None:
        """This peer is up."""
        self.started_ms = self._announce_ms = turn.mono_ms

    def warm_ms(self) -> int:
        """When this peer will have been up for long enough to know who else is, on the monotonic clock."""
        assert self.started_ms is not None
        return self.started_ms + _WARM_PRESENCES * self._timing.presence_ms

    def connected(self, turn: Turn, peer: PeerId) -> None:
        """A link came up: greet, and reconcile at once."""
        self._record.roster.connected.add(peer)
        first = self._me.silent or self._me.peer < peer  # both at once would send everything twice
        wait_ms = 0 if first else self._timing.settle_ms
        self._sessions.plan(peer, turn.mono_ms + wait_ms, self._timing.settle_ms)
        self.announce_within(turn, self._timing.settle_ms)

    def disconnected(self, peer: PeerId) -> None:
        """The last link to *peer* went down."""
        self._record.roster.connected.discard(peer)
        self._sessions.lost(peer)

    def hear(self, turn: Turn, peer: PeerId, presence: Presence) -> None:
        """A peer says that it lives, or goodbye."""
        if peer == self._me.peer:
            return
        record, roster = self._record, self._record.roster
        known = peer in self._present
        roster.hear(peer, presence, turn.mono_ms)
        if presence.leaving:
            self._present.discard(peer)
            if known:
                record.tell(turn, "left", f"{record.called(peer)} says goodbye", peer=peer)
            return
        if not known:
            self._present.add(peer)
            roles = ", ".join(presence.roles) or "no role yet"
            model = f" with {presence.model}" if presence.model else ""
            record.tell(turn, "joined", f"{record.called(peer)} is here: {roles}{model}", peer=peer)
            self.announce_within(turn, self._timing.settle_ms)
        if presence.fingerprint != record.events.fingerprint() and peer in roster.connected:
            first = self._me.silent or self._me.peer < peer  # of two that differ one asks first, the other if need be
            self._sessions.plan(peer, turn.mono_ms, self._timing.sync_ms * (1 if first else 2))

    def miss(self, turn: Turn) -> None:
        """Tell of peers that have fallen silent."""
        alive = self._record.roster.alive(turn.mono_ms)
        for peer in sorted(self._present - alive.keys()):
            self._present.discard(peer)
            self._record.tell(turn, "left", f"{self._record.called(peer)} has fallen silent", peer=peer)
        turn.wake_at(self._record.roster.next_silence_ms(turn.mono_ms))

    def announce_within(self, turn: Turn, span_ms: int) -> None:
        """Announce ourselves at a random moment of the next *span_ms*, if not earlier."""
        self._announce_ms = min(self._announce_ms, turn.mono_ms + self._rng.randint(0, span_ms))

    def announce(self, turn: Turn, *, running: int, leaving: bool) -> None:
        """Say that we live, if it is time. An observer never does."""
        if self._me.silent:
            return
        if leaving or turn.mono_ms >= self._announce_ms:
            me, record = self._me, self._record
            presence = Presence(
                name=me.name,
                roles=() if leaving else me.roles,
                model=clean(me.backend.model, limits.MODEL_BYTES_MAX) if me.backend else "",
                slots=me.slots,
                running=running,
                version=me.version,
                wall_ms=turn.now.wall_ms,
                hlc=record.clock,
                fingerprint=record.events.fingerprint(),
                count=len(record.events),
                run=me.run,
                leaving=leaving,
                tier=me.backend.tier if me.backend else "",
                tokens_per_s=me.tokens_per_s,
                why=clean(me.backend.why, limits.MODEL_BYTES_MAX) if me.backend else "",
            )
            turn.loud.append(Announce(presence))
            self._announce_ms = turn.mono_ms + self._timing.presence_ms
        turn.wake_at(self._announce_ms)

    # --- sync sessions ---------------------------------------------------------------------------------------------

    def accept(self, turn: Turn, session: int, peer: PeerId) -> None:
        """A peer opened a sync stream to us."""
        if self._me.silent or not self._sessions.accept(session, peer, turn.mono_ms):
            turn.syncs.append(SyncClose(session))

    def closed(self, session: int) -> None:
        """A sync stream is gone."""
        self._sessions.close(session)

    def sync(self, turn: Turn, heard: SyncHeard) -> None:
        """A frame came on a sync stream."""
        session = self._sessions.open.get(heard.session)
        horizon = self._record.wanted_until(turn)
        try:
            answer, envelopes = self._sessions.hear(
                heard.session, heard.frame, self._record.events, horizon, turn.mono_ms
            )
        except RemoteFault:
            self._record.refuse("sync frame")
            self._sessions.close(heard.session)
            turn.syncs.append(SyncClose(heard.session))
            return
        assert session is not None
        self._record.ingest(turn, envelopes, session.peer)
        if answer is not None:
            turn.syncs.append(SyncSend(heard.session, answer))
        else:
            self._sessions.close(heard.session, complete=True)
            turn.syncs.append(SyncClose(heard.session))

    def keep_level(self, turn: Turn) -> None:
        """Open the sync sessions that are due, give up silent ones, and find out whether we have caught up."""
        for number in self._sessions.idle(turn.mono_ms):
            self._sessions.close(number)
            turn.syncs.append(SyncClose(number))
        for peer in self._sessions.ripe(turn.mono_ms):
            initiator = Initiator(self._record.events, self._record.wanted_until(turn), silent=self._me.silent)
            number = self._sessions.initiate(peer, initiator, turn.mono_ms)
            turn.syncs += [SyncOpen(number, peer), SyncSend(number, initiator.start())]
        turn.wake_at(self._sessions.next_ms())
        if not self.caught_up:
            self._catch_up(turn)

    def _catch_up(self, turn: Turn) -> None:
        assert self.started_ms is not None
        record, connected = self._record, self._record.roster.connected
        level = self._sessions.completed > 0 and connected <= self._sessions.tried
        until = self.started_ms + _JOIN_MS_MAX if connected else self.warm_ms()
        if level or turn.mono_ms >= until:
            self.caught_up = True
            text = f"level with the swarm: {len(record.events)} events, {len(record.plan.goals)} goals"
            record.tell(turn, "sync", text)
        else:
            turn.wake_at(until)
