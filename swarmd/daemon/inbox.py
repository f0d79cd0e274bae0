"""What waits for the machine. Gossip may be dropped when too much of it waits, since reconciliation repairs; nothing
else may.

Authors of gossip have their turns one after the other, and all else has every second one: a peer that floods waits
for itself.
"""

from collections import OrderedDict, deque

import trio

from swarmd.replica.inputs import Heard, Input, LiveHeard, PresenceHeard, Ticked
from swarmd.vocab import limits
from swarmd.vocab.ids import PeerId

GOSSIP_WAITING_MAX = 4_096  # some seconds of a flood; 100 µs each to check a signature
GOSSIP_BYTES_MAX = 64 * 1024 * 1024  # of all messages that wait
AUTHOR_WAITING_MAX, AUTHOR_BYTES_MAX = GOSSIP_WAITING_MAX // 8, GOSSIP_BYTES_MAX // 8  # so eight must flood at once

Gossip = Heard | PresenceHeard | LiveHeard


class _Queue(deque[Gossip]):
    bytes = 0  # of its messages


class Inbox:
    """Inputs in order of arrival, but for other authors' gossip, with an alarm that becomes a `Ticked`."""

    def __init__(self) -> None:
        self._waiting: deque[Input] = deque()
        self._gossip: OrderedDict[PeerId, _Queue] = OrderedDict()  # whose turn it is, first
        self._messages = 0
        self._bytes = 0
        self._gossip_next = False
        self._arrived = trio.Event()
        self._alarm: float | None = None  # on trio's clock, seconds
        self.dropped = 0

    def deliver(self, happened: Input) -> None:
        """Put an input in line. From a trio task only; never blocks."""
        if not isinstance(happened, Gossip):
            self._waiting.append(happened)
        elif not self._put(happened):
            self.dropped += 1
            return
        self._arrived.set()

    def arm(self, at: float) -> None:
        """Let a `Ticked` come at that time of trio's clock, in seconds; replaces the last."""
        self._alarm = at

    async def next(self) -> Input:
        """The next input, or `Ticked` when nothing comes before the alarm."""
        if not self._waiting and not self._gossip:
            deadline = self._alarm if self._alarm is not None else float("inf")
            with trio.CancelScope(deadline=deadline):
                self._arrived = trio.Event()
                await self._arrived.wait()
        else:
            await trio.lowlevel.checkpoint()
        if self._gossip and (self._gossip_next or not self._waiting):
            self._gossip_next = False
            return self._take()
        self._gossip_next = True
        if self._waiting:
            return self._waiting.popleft()
        self._alarm = None
        return Ticked()

    def _put(self, happened: Gossip) -> bool:
        author, size = _author(happened), _bytes(happened)
        queue = self._gossip.get(author, _Queue())
        if self._messages >= GOSSIP_WAITING_MAX or self._bytes + size > GOSSIP_BYTES_MAX:
            return False
        if len(queue) >= AUTHOR_WAITING_MAX or queue.bytes + size > AUTHOR_BYTES_MAX:
            return False
        self._gossip[author] = queue
        queue.append(happened)
        queue.bytes += size
        self._messages += 1
        self._bytes += size
        return True

    def _take(self) -> Gossip:
        author, queue = self._gossip.popitem(last=False)
        happened = queue.popleft()
        size = _bytes(happened)
        queue.bytes -= size
        self._messages -= 1
        self._bytes -= size
        if queue:
            self._gossip[author] = queue
        return happened


def _author(happened: Gossip) -> PeerId:
    return happened.via if isinstance(happened, Heard) else happened.peer


def _bytes(happened: Gossip) -> int:
    match happened:
        case Heard(envelopes):
            return sum(envelope.size + limits.EVENT_OVERHEAD_BYTES for envelope in envelopes)
        case _:
            return limits.LIVE_BYTES_MAX
