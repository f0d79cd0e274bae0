"""Everything that a replica asks of the world, in the order in which it must happen: durable, then loud, then
answered."""

from typing import TypeAlias

from msgspec import Struct

from swarmd.events.envelope import Envelope
from swarmd.gossip.frames import Frame, GroupSummary, Live, Presence
from swarmd.plan.views import Change, EventPage, GoalLine, GoalView, TaskPage
from swarmd.replica.status import PeerView, StatusView
from swarmd.roles.work import Request
from swarmd.vocab.faults import LocalMistake
from swarmd.vocab.ids import EventId, PeerId

Value: TypeAlias = str | tuple[GoalLine, ...] | GoalView | TaskPage | EventPage | tuple[PeerView, ...] | StatusView
"""What a command is answered with: a goal's id for those that set or cancel one."""


class Append(Struct, frozen=True):
    """Put events into the journal. *sync*: they must be on the platter before anything further is done."""

    envelopes: tuple[Envelope, ...]
    sync: bool


class Forget(Struct, frozen=True):
    """Delete events of goals that ended long ago from the journal, and keep the goals' summaries."""

    goals: tuple[GroupSummary, ...]
    events: tuple[EventId, ...]


class Publish(Struct, frozen=True):
    """Broadcast events on the plan topic."""

    envelopes: tuple[Envelope, ...]


class Announce(Struct, frozen=True):
    """Broadcast presence."""

    presence: Presence


class Stream(Struct, frozen=True):
    """Broadcast a chunk of running text."""

    live: Live


class SyncOpen(Struct, frozen=True):
    """Open a sync stream to *peer* under the name *session* (ours are even, the adapter's odd)."""

    session: int
    peer: PeerId


class SyncSend(Struct, frozen=True):
    """Send a frame."""

    session: int
    frame: Frame


class SyncClose(Struct, frozen=True):
    """The session is over."""

    session: int


class Ask(Struct, frozen=True):
    """Give a job to the model."""

    job: int
    request: Request


class Abort(Struct, frozen=True):
    """Stop a job; no answer is wanted any more."""

    job: int


class Arm(Struct, frozen=True):
    """Wake me at that monotonic time (replaces the last `Arm`)."""

    mono_ms: int


class Tell(Struct, frozen=True):
    """What changed, for whoever watches."""

    changes: tuple[Change, ...]


class Reply(Struct, frozen=True):
    """The answer to a command: its value, or the mistake in it."""

    token: int
    value: Value | LocalMistake


Effect: TypeAlias = (
    Append | Forget | Publish | Announce | Stream | SyncOpen | SyncSend | SyncClose | Ask | Abort | Arm | Tell | Reply
)
