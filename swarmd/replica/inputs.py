"""Everything that can happen to a replica. Nothing else can."""

from typing import TypeAlias

from msgspec import Struct

from swarmd.events.envelope import Envelope
from swarmd.events.kinds import Limits, Policy
from swarmd.gossip.frames import Frame, GroupSummary, Live, Presence
from swarmd.roles.work import Answer, Backend
from swarmd.vocab.ids import PeerId


class Now(Struct, frozen=True):
    """One reading of both clocks. *wall_ms*: Unix time, may jump. *mono_ms*: never goes back, means nothing
    elsewhere."""

    wall_ms: int
    mono_ms: int


class Started(Struct, frozen=True):
    """The daemon runs; *envelopes* are what the journal held, *forgotten* the goals that it no longer holds."""

    envelopes: tuple[Envelope, ...]
    forgotten: tuple[GroupSummary, ...] = ()


class Stopping(Struct, frozen=True):
    """The daemon is about to end: hand back what it holds."""


class Heard(Struct, frozen=True):
    """Events from the plan topic."""

    envelopes: tuple[Envelope, ...]
    via: PeerId


class PresenceHeard(Struct, frozen=True):
    """A peer says that it lives."""

    peer: PeerId
    presence: Presence


class LiveHeard(Struct, frozen=True):
    """A chunk of a running task's text."""

    peer: PeerId
    live: Live


class Connected(Struct, frozen=True):
    """A link to *peer* came up."""

    peer: PeerId


class Disconnected(Struct, frozen=True):
    """The last link to *peer* went down."""

    peer: PeerId


class SyncOpened(Struct, frozen=True):
    """*peer* opened a sync stream to us: we respond. *session* is the adapter's name for the stream."""

    session: int
    peer: PeerId


class SyncHeard(Struct, frozen=True):
    """A frame on a sync stream."""

    session: int
    frame: Frame


class SyncClosed(Struct, frozen=True):
    """A sync stream is over, could not be opened, or broke."""

    session: int


class Answered(Struct, frozen=True):
    """A model finished a job."""

    job: int
    answer: Answer


class Chunk(Struct, frozen=True):
    """A model wrote more of a job's text."""

    job: int
    text: str


class Failed(Struct, frozen=True):
    """A model could not do a job. *retry_ms*: not sooner than that again."""

    job: int
    reason: str
    retry_ms: int = 2_000


class BackendChanged(Struct, frozen=True):
    """The model behind this peer's roles came (or another one did), or went away. *roles*: those that it serves for
    here, of those that this peer may take; None: all. *reasons*: for this choice, in words."""

    backend: Backend | None
    roles: tuple[str, ...] | None = None
    reasons: tuple[str, ...] = ()


class DiskChanged(Struct, frozen=True):
    """The disk takes no events any more, with the *trouble* in words; without, it holds everything again."""

    trouble: str


class Ticked(Struct, frozen=True):
    """The time of the last `Arm` has come."""


# --- commands from this machine's control socket -------------------------------------------------------------------


class SetGoal(Struct, frozen=True, kw_only=True):
    """Plan *text*. *quorum*: more than a majority, if wanted. Answered with the new goal's id."""

    text: str
    quorum: int | None = None
    limits: Limits = Limits()
    policy: Policy = Policy()


class CancelGoal(Struct, frozen=True, kw_only=True):
    """Stop work on the goal whose id begins with *goal*."""

    goal: str
    reason: str = ""


class ListGoals(Struct, frozen=True):
    """All goals, newest last."""


class ShowGoal(Struct, frozen=True, kw_only=True):
    """The goal whose id begins with *goal*; empty: the newest."""

    goal: str = ""


class ShowTask(Struct, frozen=True, kw_only=True):
    """The task whose id begins with *task*; empty: the newest goal itself."""

    task: str = ""


class ListEvents(Struct, frozen=True, kw_only=True):
    """The latest *count* events, of the *goal*, the *task* (beginnings of ids), the *peer* (its name, its id or an end
    of it) and of the *kinds* that are given."""

    goal: str = ""
    task: str = ""
    peer: str = ""
    kinds: tuple[str, ...] = ()
    count: int = 100


class ListPeers(Struct, frozen=True):
    """Everyone heard from."""


class ShowStatus(Struct, frozen=True):
    """How this peer does."""


Command: TypeAlias = SetGoal | CancelGoal | ListGoals | ShowGoal | ShowTask | ListEvents | ListPeers | ShowStatus


class Commanded(Struct, frozen=True):
    """A person on this machine wants something. *token* comes back with the `Reply`."""

    token: int
    command: Command


Input: TypeAlias = (
    Started
    | Stopping
    | Heard
    | PresenceHeard
    | LiveHeard
    | Connected
    | Disconnected
    | SyncOpened
    | SyncHeard
    | SyncClosed
    | Answered
    | Chunk
    | Failed
    | BackendChanged
    | DiskChanged
    | Ticked
    | Commanded
)
