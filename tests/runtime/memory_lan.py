"""A network in memory that links daemons of one process: everything arrives, in order."""

from collections.abc import Sequence

import trio

from swarmd.events.envelope import Envelope
from swarmd.gossip.frames import Frame, Live, Presence
from swarmd.ports import Deliver
from swarmd.replica.inputs import (
    Connected,
    Heard,
    LiveHeard,
    PresenceHeard,
    SyncClosed,
    SyncHeard,
    SyncOpened,
)
from swarmd.vocab.ids import PeerId


class MemoryLan:
    """*there*: what each peer hears through."""

    def __init__(self) -> None:
        self.there: dict[PeerId, Deliver] = {}
        self._streams: dict[tuple[PeerId, int], tuple[PeerId, int]] = {}
        self._opened = 1  # sessions of others are odd

    def open(self, one: PeerId, session: int, other: PeerId) -> None:
        """A sync stream from *one*, who calls it *session*, to *other*."""
        self._opened += 2
        self._streams[one, session] = (other, self._opened)
        self._streams[other, self._opened] = (one, session)
        self.there[other](SyncOpened(self._opened, one))

    def send(self, sender: PeerId, session: int, frame: Frame) -> None:
        """A frame on a stream of *sender*'s."""
        if (sender, session) in self._streams:
            other, there = self._streams[sender, session]
            self.there[other](SyncHeard(there, frame))

    def close(self, sender: PeerId, session: int) -> None:
        """End a stream of *sender*'s."""
        if (sender, session) in self._streams:
            other, there = self._streams.pop((sender, session))
            self._streams.pop((other, there), None)
            self.there[other](SyncClosed(there))


class MemoryNet:
    """One peer's end of it."""

    def __init__(self, lan: MemoryLan, me: PeerId) -> None:
        self._lan = lan
        self._me = me

    async def run(self, deliver: Deliver, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        for peer, others in self._lan.there.items():
            deliver(Connected(peer))
            others(Connected(self._me))
        self._lan.there[self._me] = deliver
        task_status.started()
        await trio.sleep_forever()

    def publish(self, envelopes: Sequence[Envelope]) -> None:
        for deliver in self._others():
            deliver(Heard(tuple(envelopes), self._me))

    def announce(self, presence: Presence) -> None:
        for deliver in self._others():
            deliver(PresenceHeard(self._me, presence))

    def stream(self, live: Live) -> None:
        for deliver in self._others():
            deliver(LiveHeard(self._me, live))

    def sync_open(self, session: int, peer: PeerId) -> None:
        self._lan.open(self._me, session, peer)

    def sync_send(self, session: int, frame: Frame) -> None:
        self._lan.send(self._me, session, frame)

    def sync_close(self, session: int) -> None:
        self._lan.close(self._me, session)

    def addresses(self) -> tuple[str, ...]:
        return ()

    def notices(self) -> tuple[str, ...]:
        return ()

    def counters(self) -> dict[str, int]:
        return {}

    def _others(self) -> list[Deliver]:
        return [deliver for peer, deliver in self._lan.there.items() if peer != self._me]
