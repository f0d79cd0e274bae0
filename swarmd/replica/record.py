"""Everything this replica has heard and said: the event set, its fold, and the clock that is later than both.

There is one way in. A peer's own facts are taken in like heard ones before they go out.
"""

from collections.abc import Callable, Iterable

import msgspec

from swarmd.events.codec import group
from swarmd.events.envelope import Envelope, Opened, Signer, Swarm, open_envelope, seal
from swarmd.events.kinds import Known, Member
from swarmd.gossip.eventset import EventSet
from swarmd.gossip.roster import Roster
from swarmd.plan import story
from swarmd.plan.plan import Plan, Shift
from swarmd.plan.views import Change, ChangeKind
from swarmd.replica.me import Me
from swarmd.replica.memory import lapsed
from swarmd.replica.turn import Turn
from swarmd.vocab import hlc, limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.hlc import Hlc
from swarmd.vocab.ids import EventId, PeerId, short

UNSTAMPED = 0  # the stamp of an event of ours until it is said

Notice = Callable[[Turn, Opened, list[Shift]], None]


class Record:
    """The replica's memory. *notice* is called for every event that is new, after it was folded."""

    def __init__(self, me: Me, signer: Signer, swarm: Swarm, roster: Roster, notice: Notice) -> None:
        self.events = EventSet()
        self.plan = Plan(swarm)
        self.roster = roster
        self.clock = hlc.ZERO
        self.refused: dict[str, int] = {}
        self._me = me
        self._signer = signer
        self._swarm = swarm
        self._notice = notice

    @property
    def swarm_id(self) -> str:
        """The swarm's id."""
        return self._swarm.id

    def restore(self, turn: Turn, envelopes: Iterable[Envelope]) -> None:
        """Take in what the journal held; a rotten event is counted and left out."""
        for envelope in envelopes:
            try:
                self._take(turn, open_envelope(envelope, self._swarm), tell=False)
            except RemoteFault:
                self.refuse("journal")

    def ingest(self, turn: Turn, envelopes: Iterable[Envelope], via: PeerId) -> None:
        """Take in events that *via* handed over; what is malformed, forged or from the future is counted and left
        out. Nothing is taken in while there is no room."""
        horizon = self.horizon(turn)
        faults: list[RemoteFault] = []
        for envelope in envelopes:
            if envelope.id in self.events:
                continue
            if self.full():
                self.refuse("no room")
                continue
            try:
                opened = open_envelope(envelope, self._swarm)
            except RemoteFault as fault:
                self.refuse("malformed event")
                faults.append(fault)
                continue
            if opened.event.hlc > horizon:
                self.refuse("event from the future")
                continue
            if group(opened.id, opened.event) in self.events.forgotten:
                self.refuse("forgotten goal")
                continue
            self._take(turn, opened, tell=True)
            turn.heard.append(envelope)
            if self.full():
                self.tell(turn, "refused", "takes in no more events: they fill the memory that they may have", peer=via)
        if faults:  # one line for all: who forges thousands must not fill the log
            self.tell(turn, "refused", f"refused events from {self.called(via)}: {faults[0]}", peer=via)

    def forget_old(self, turn: Turn) -> None:
        """Drop the goals that ended long ago."""
        for goal in lapsed(self.plan, self.events):
            keys = self.events.groups[goal].keys
            turn.dropped += [EventId(identifier) for _, identifier in keys]
            turn.forgotten.append(self.events.forget(goal))
            self.plan.forget(goal)
        if turn.forgotten:
            self.tell(turn, "sync", f"forgets {len(turn.forgotten)} goals that ended long ago")

    def say(self, turn: Turn, event: Known) -> EventId:
        """Author *event*: stamp, sign, take in, and let it out. Its author becomes a member first."""
        assert not self._me.silent, "an observer signs nothing"
        if self._me.peer not in self.plan.members:
            peer, name = self._me.peer, self._me.name
            member = Member(author=peer, hlc=UNSTAMPED, peer=peer, name=name, proof=self._swarm.proof(peer))
            self._seal(turn, member)
        return self._seal(turn, event)

    def wall_ms(self, turn: Turn) -> int:
        """Unix time: this machine's clock, moved to the swarm's when it is beyond belief."""
        wall = turn.now.wall_ms
        offset = self.roster.offset_ms(wall, turn.mono_ms)
        wrong = wall < limits.PLAUSIBLE_MS_MIN or abs(offset) > limits.DRIFT_MS_MAX
        return max(0, wall + offset) if wrong else wall

    def horizon(self, turn: Turn) -> int:
        """The latest stamp that is taken in, by the swarm's clock. Without one to go by, any is: who boots in 1970 must
        listen."""
        wall = turn.now.wall_ms + self.roster.offset_ms(turn.now.wall_ms, turn.mono_ms)
        return hlc.HLC_MAX - 1 if wall < limits.PLAUSIBLE_MS_MIN else hlc.at(wall + limits.DRIFT_MS_MAX)

    def full(self) -> bool:
        """Whether there is no room for more events of others. Such a peer is as one that is cut off."""
        return self.events.bytes >= limits.EVENTS_BYTES_MAX

    def wanted_until(self, turn: Turn) -> int:
        """The latest stamp that reconciliation should bring: the horizon, or none at all."""
        return hlc.ZERO if self.full() else self.horizon(turn)

    def refuse(self, reason: str) -> None:
        """Count something that was not taken in."""
        self.refused[reason] = self.refused.get(reason, 0) + 1

    def called(self, peer: PeerId) -> str:
        """What people call *peer*."""
        if peer == self._me.peer:
            return self._me.name
        seen = self.roster.seen.get(peer)
        member = self.plan.members.get(peer)
        return (seen.presence.name if seen else "") or (member.name if member else "") or short(peer)

    def tell(self, turn: Turn, kind: ChangeKind, text: str, *, peer: str = "") -> None:
        """Add a line to the story."""
        turn.told.append(Change(kind=kind, text=text, peer=peer, wall_ms=self.wall_ms(turn)))

    def _seal(self, turn: Turn, event: Known) -> EventId:
        horizon = self.horizon(turn)
        if self.clock > horizon:  # stamped while our wall clock was wrong: nobody takes what comes after that
            believable = (known.event.hlc for known in self.events if known.event.hlc <= horizon)
            self.clock = Hlc(max(believable, default=hlc.ZERO))
        self.clock = hlc.tick(self.clock, self.wall_ms(turn))
        stamped = msgspec.structs.replace(event, hlc=self.clock)
        envelope = seal(stamped, self._signer, self._swarm)
        turn.said.append(envelope)
        self._take(turn, Opened(envelope.id, stamped, envelope), tell=True)
        return envelope.id

    def _take(self, turn: Turn, opened: Opened, *, tell: bool) -> None:
        if not self.events.add(opened):
            return
        self.clock = hlc.witness(self.clock, Hlc(opened.event.hlc))
        shifts = self.plan.apply(opened)
        self._notice(turn, opened, shifts)
        if not tell:
            return
        told = story.of_event(opened, self.plan, self.called)
        turn.told += [told] if told else []
        turn.told += [line for shift in shifts if (line := story.of_shift(shift, self.plan, self.wall_ms(turn)))]
