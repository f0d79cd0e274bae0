"""What the pure core needs of the world, one Protocol an adapter. Adapters import this floor and lower, never each
other."""

from collections.abc import Callable, Sequence
from typing import Protocol

import trio
from msgspec import Struct

from swarmd.events.envelope import Envelope
from swarmd.gossip.frames import Frame, GroupSummary, Live, Presence
from swarmd.replica.inputs import Input, Now
from swarmd.roles.work import Answer, Backend, Request
from swarmd.vocab.ids import EventId, PeerId

SELF_TEST_TOKENS = 64  # enough to tell 1 token a second from 5; at 5 it takes a quarter of a minute
SELF_TEST_S_MAX = 30.0  # of writing, loading not counted; what has come by then is measured

Deliver = Callable[[Input], None]
"""Puts an input into the daemon's inbox. Never blocks and never raises; from a trio task only."""


class Clock(Protocol):
    """Both clocks of the machine."""

    def now(self) -> Now:
        """One reading."""


class Store(Protocol):
    """The event journal. Blocking: the caller decides on which thread."""

    def load(self) -> tuple[Envelope, ...]:
        """Every event that was appended, in order of appending."""

    def append(self, envelopes: Sequence[Envelope], *, sync: bool) -> None:
        """Add events; with *sync*, return only when they would survive a power cut. Known ones are ignored.

        Raises OSError if the disk does not take them.
        """

    def forget(self, goals: Sequence[GroupSummary], events: Sequence[EventId]) -> None:
        """Delete events, and remember what is left of their goals. Raises OSError if the disk does not serve."""

    def forgotten(self) -> tuple[GroupSummary, ...]:
        """What is left of the goals that were forgotten."""

    def size(self) -> int:
        """Bytes on disk."""

    def close(self) -> None:
        """Flush and let go."""


class Net(Protocol):
    """Links to other peers."""

    async def run(self, deliver: Deliver, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Live until cancelled, delivering Heard, PresenceHeard, LiveHeard, Connected, Disconnected and Sync… inputs.

        Reports started once the listening port is bound and the topics are joined.
        """

    def publish(self, envelopes: Sequence[Envelope]) -> None:
        """Queue events for the plan topic. Never blocks; when the bounded queue is full the oldest are dropped and
        counted, since reconciliation repairs."""

    def announce(self, presence: Presence) -> None:
        """Broadcast presence; only the newest that is waiting is sent."""

    def stream(self, live: Live) -> None:
        """Broadcast a chunk of running text; dropped when the queue is full."""

    def sync_open(self, session: int, peer: PeerId) -> None:
        """Open a sync stream to *peer*. `SyncClosed(session)` is delivered if it cannot be opened or ends."""

    def sync_send(self, session: int, frame: Frame) -> None:
        """Send a frame on an open (or opening) session; unknown sessions are ignored."""

    def sync_close(self, session: int) -> None:
        """Close the stream of *session* after what was sent; no `SyncClosed` follows."""

    def addresses(self) -> tuple[str, ...]:
        """Multiaddresses, with peer id, where this peer listens."""

    def counters(self) -> dict[str, int]:
        """What was dropped or refused, by reason, since the start."""

    def notices(self) -> tuple[str, ...]:
        """What a person should know of the network now: who answers with another key, who does not answer, that
        multicast hears nobody. Each a sentence."""


class Candidate(Struct, frozen=True, kw_only=True):
    """A model that a backend could run. *billions*: of its parameters. *working*: of those, how many each token needs:
    fewer in a mixture of experts, and that is what speed hangs on. *size_bytes*: of its weights, 0 if unknown.
    *tokens_per_s*: what it wrote in its self-test here, None if it has had none."""

    name: str
    billions: float
    working: float
    size_bytes: int = 0
    tokens_per_s: float | None = None


class Picked(Struct, frozen=True):
    """A choice among candidates, with its reason in words."""

    name: str
    why: str


Pick = Callable[[Sequence[Candidate], bool], Picked]
"""Chooses a model; the second argument tells whether it is to run on this machine. Raises `LocalMistake`, with what to
do, if none will do."""


class Llm(Protocol):
    """One model backend."""

    async def probe(self) -> Backend:
        """What answers now: its health. Cheap. Raises `LocalMistake` saying what to do if nothing does."""

    async def measure(self) -> None:
        """The self-test: let the model write `SELF_TEST_TOKENS`, so that `probe` can tell its speed from then on. Loads
        the model if need be, on a request that nobody takes back. Raises `RemoteFault` if nothing comes of it."""

    async def run(self, request: Request, on_text: Callable[[str], None]) -> Answer:
        """Do *request*; *on_text* gets each piece of new text of `Execute` and `Compose`.

        Raises `RemoteFault` when the model fails, gives up its deadline or answers nonsense after its retries, and
        `LocalMistake` when the model is not there any more. Cancellation stops the model itself.
        """

    async def close(self) -> None:
        """End workers and connections."""
