"""When to reconcile with whom, and the sync sessions under way. One to a peer; a silent session is given up."""

import random
from dataclasses import dataclass, field

from swarmd.events.envelope import Envelope
from swarmd.gossip.eventset import EventSet
from swarmd.gossip.frames import Frame
from swarmd.gossip.reconcile import Initiator, respond
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.ids import PeerId

_AFTER_THEIRS_MS = 500  # between looks whether a peer's own session with us has ended
_IDLE_MS_MAX = 20_000  # a slow Pi answers a frame in well under a second


@dataclass(slots=True)
class Session:
    """A sync stream. *initiator* is None where we respond."""

    peer: PeerId
    initiator: Initiator | None
    heard_ms: int


@dataclass(slots=True)
class Sessions:
    """*tried*: peers with which a session of ours has ended, well or not, since the link came up; *level*: well."""

    rng: random.Random
    open: dict[int, Session] = field(default_factory=dict)
    due: dict[PeerId, int] = field(default_factory=dict)
    tried: set[PeerId] = field(default_factory=set)
    completed: int = 0
    _last: int = 0

    def plan(self, peer: PeerId, mono_ms: int, within_ms: int) -> None:
        """Reconcile with *peer* at a random moment of the next *within_ms*, unless it is planned or under way."""
        if peer not in self.due and not any(s.initiator and s.peer == peer for s in self.open.values()):
            self.due[peer] = mono_ms + self.rng.randint(0, within_ms)

    def ripe(self, mono_ms: int) -> list[PeerId]:
        """Peers whose planned moment has come, taken off the plan."""
        asking = {session.peer for session in self.open.values() if session.initiator is None}
        for peer in asking & self.due.keys():  # what it brings need not be asked for
            self.due[peer] = max(self.due[peer], mono_ms + _AFTER_THEIRS_MS)
        if not self.due:
            return []
        ready = sorted(peer for peer, due in self.due.items() if due <= mono_ms)
        ready = ready[: max(0, limits.SESSIONS_MAX - len(self.open))]
        for peer in ready:
            del self.due[peer]
        return ready

    def initiate(self, peer: PeerId, initiator: Initiator, mono_ms: int) -> int:
        """Open a session of ours; returns its (even) number."""
        self._last += 2
        self.open[self._last] = Session(peer, initiator, mono_ms)
        return self._last

    def accept(self, number: int, peer: PeerId, mono_ms: int) -> bool:
        """Take a session that *peer* opened; False if there are too many."""
        if len(self.open) >= limits.SESSIONS_MAX or sum(s.peer == peer for s in self.open.values()) >= 3:
            return False
        self.open[number] = Session(peer, None, mono_ms)
        return True

    def hear(
        self, number: int, frame: Frame, events: EventSet, horizon: int, mono_ms: int
    ) -> tuple[Frame | None, tuple[Envelope, ...]]:
        """What to send next (None: the session is complete) and the events that *frame* brought.

        Raises RemoteFault for a frame that does not fit; the caller closes the session.
        """
        session = self.open.get(number)
        if session is None:
            raise RemoteFault("frame on a session that is not open")
        session.heard_ms = mono_ms
        if session.initiator is None:
            return respond(events, frame, horizon)
        return session.initiator.step(frame)

    def close(self, number: int, *, complete: bool = False) -> Session | None:
        """Forget a session; None if it is not open."""
        session = self.open.pop(number, None)
        if session is not None and session.initiator is not None:
            self.tried.add(session.peer)
            self.completed += complete
        return session

    def idle(self, mono_ms: int) -> list[int]:
        """Sessions on which nothing was heard for too long."""
        return [n for n, session in self.open.items() if mono_ms - session.heard_ms > _IDLE_MS_MAX]

    def lost(self, peer: PeerId) -> None:
        """The link to *peer* is down: what was planned with it is off."""
        self.due.pop(peer, None)
        self.tried.discard(peer)

    def next_ms(self) -> int | None:
        """When to look again."""
        times = [*self.due.values(), *(s.heard_ms + _IDLE_MS_MAX + 1 for s in self.open.values())]
        return min(times, default=None)
