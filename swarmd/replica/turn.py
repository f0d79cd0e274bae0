"""One call of `handle`: the reading of the clocks that it rests on, and the effects that it gathers, in their order."""

from collections.abc import Callable
from dataclasses import dataclass, field

from swarmd.events.envelope import Envelope
from swarmd.gossip.frames import GroupSummary
from swarmd.plan.views import Change
from swarmd.replica.effects import (
    Abort,
    Announce,
    Append,
    Arm,
    Ask,
    Effect,
    Forget,
    Publish,
    Reply,
    Stream,
    SyncClose,
    SyncOpen,
    SyncSend,
    Tell,
)
from swarmd.replica.inputs import Now
from swarmd.vocab.ids import EventId

_LOOK_MS_MAX = 60_000  # with nothing due, look again in a minute


@dataclass(slots=True)
class Turn:
    """What this turn took in, said and wants, at *mono_ms* of the monotonic clock.

    Durable, then loud, then work and timers, then told, then answered.
    """

    now: Now
    heard: list[Envelope] = field(default_factory=list)
    said: list[Envelope] = field(default_factory=list)
    forgotten: list[GroupSummary] = field(default_factory=list)
    dropped: list[EventId] = field(default_factory=list)  # their events
    loud: list[Announce | Stream] = field(default_factory=list)
    syncs: list[SyncOpen | SyncSend | SyncClose] = field(default_factory=list)
    work: list[Ask | Abort] = field(default_factory=list)
    told: list[Change] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    mono_ms: int = field(init=False)
    wake_ms: int = field(init=False)

    def __post_init__(self) -> None:
        self.mono_ms = self.now.mono_ms
        self.wake_ms = self.mono_ms + _LOOK_MS_MAX

    def wake_at(self, mono_ms: int | None) -> None:
        """Look again then, or earlier. What is due already was looked at in this very turn."""
        if mono_ms is not None and self.mono_ms < mono_ms < self.wake_ms:
            self.wake_ms = mono_ms

    def deadline_of(self, act: Callable[[], None]) -> int:
        """Do *act*; when it wants to look again, on the monotonic clock."""
        before, self.wake_ms = self.wake_ms, self.mono_ms + _LOOK_MS_MAX
        act()
        wanted = self.wake_ms
        self.wake_ms = min(before, wanted)
        return wanted

    def effects(self) -> list[Effect]:
        """Everything that must be done, in that order."""
        durable: list[Effect] = []
        if self.heard:
            durable.append(Append(tuple(self.heard), sync=False))
        if self.said:
            durable += [Append(tuple(self.said), sync=True), Publish(tuple(self.said))]
        if self.forgotten:
            durable.append(Forget(tuple(self.forgotten), tuple(self.dropped)))
        told = [Tell(tuple(self.told))] if self.told else []
        return [*durable, *self.loud, *self.syncs, *self.work, Arm(self.wake_ms), *told, *self.replies]
