"""What waits for the machine. Gossip may be dropped when too much of it waits, since reconciliation repairs; nothing
else may."""

from collections import deque

import trio

from swarmd.replica.inputs import Heard, Input, LiveHeard, PresenceHeard, Ticked

GOSSIP_WAITING_MAX = 4_096  # some seconds of a flood; 100 µs each to check a signature


class Inbox:
    """Inputs in order of arrival, with an alarm that becomes a `Ticked`."""

    def __init__(self) -> None:
        self._waiting: deque[Input] = deque()
        self._gossip = 0
        self._arrived = trio.Event()
        self._alarm: float | None = None  # on trio's clock, seconds
        self.dropped = 0

    def deliver(self, happened: Input) -> None:
        """Put an input in line. From a trio task only; never blocks."""
        if isinstance(happened, Heard | PresenceHeard | LiveHeard):
            if self._gossip >= GOSSIP_WAITING_MAX:
                self.dropped += 1
                return
            self._gossip += 1
        self._waiting.append(happened)
        self._arrived.set()

    def arm(self, at: float) -> None:
        """Let a `Ticked` come at that time of trio's clock, in seconds; replaces the last."""
        self._alarm = at

    async def next(self) -> Input:
        """The next input, or `Ticked` when nothing comes before the alarm."""
        if not self._waiting:
            deadline = self._alarm if self._alarm is not None else float("inf")
            with trio.CancelScope(deadline=deadline):
                self._arrived = trio.Event()
                await self._arrived.wait()
        else:
            await trio.lowlevel.checkpoint()
        if not self._waiting:
            self._alarm = None
            return Ticked()
        happened = self._waiting.popleft()
        if isinstance(happened, Heard | PresenceHeard | LiveHeard):
            self._gossip -= 1
        return happened
