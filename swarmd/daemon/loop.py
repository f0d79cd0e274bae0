"""The loop: one input, one reading of the clocks, one `handle`, and its effects in the order in which they came."""

import functools
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec
import trio

from swarmd.daemon.inbox import Inbox
from swarmd.daemon.journal import log_change
from swarmd.daemon.modelwatch import Choose, ModelWatch, Suit, everything
from swarmd.events.envelope import Envelope
from swarmd.plan.views import Change
from swarmd.ports import Clock, Llm, Net, Store
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
    Value,
)
from swarmd.replica.inputs import (
    Answered,
    Chunk,
    Command,
    Commanded,
    DiskChanged,
    Failed,
    Input,
    Started,
    Stopping,
)
from swarmd.replica.machine import Machine
from swarmd.replica.status import StatusView
from swarmd.roles.work import Request
from swarmd.vocab.faults import LocalMistake, RemoteFault

_log = logging.getLogger("swarmd.daemon")

BEAT_S = 3.0  # the longest that the loop rests; the watchdog of the unit waits several times as long
_DISK_AGAIN_S, _DISK_AGAIN_S_MAX = 1.0, 60.0  # how soon a disk that refused is tried again, doubling
_GOODBYE_S = 0.4  # what a last word needs to leave the sockets; several gossip delays
_WATCHER_CHANGES_MAX = 1_024  # what a slow watcher may lag behind before it loses changes


class Loop:
    """Owns the machine. Also the door of the control socket: commands in, changes out."""

    def __init__(
        self,
        machine: Machine,
        *,
        store: Store,
        net: Net,
        choose: Choose | None,
        suit: Suit = everything,
        clock: Clock,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        """*choose*: None for a pure observer. *beat* is called at least every `BEAT_S` while the loop turns (the
        watchdog)."""
        self._machine = machine
        self._store = store
        self._net = net
        self._clock = clock
        self._beat = beat
        self._inbox = Inbox()
        self._model = ModelWatch(choose, suit, self._inbox.deliver) if choose is not None else None
        self._jobs: dict[int, trio.CancelScope] = {}
        self._replies: dict[int, trio.MemorySendChannel[Value | LocalMistake]] = {}
        self._tokens = itertools.count(1)
        self._watchers: set[trio.MemorySendChannel[Change]] = set()
        self._lost: set[trio.MemorySendChannel[Change]] = set()
        self._trouble = ""  # of the disk, in words
        self._disk_wait_s = _DISK_AGAIN_S
        self._disk_at = 0.0  # when it is tried again, on trio's clock
        self._stopping = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Live until `stop`. Reports started when the journal is read and the network listens."""
        envelopes = await trio.to_thread.run_sync(self._store.load)
        forgotten = await trio.to_thread.run_sync(self._store.forgotten)
        async with trio.open_nursery() as nursery:
            if not await self._keep(()):
                await self._handle(DiskChanged(self._trouble), nursery)
            await self._handle(Started(envelopes, forgotten), nursery)
            await nursery.start(self._net.run, self._inbox.deliver)
            if self._model is not None:
                nursery.start_soon(self._model.run)
            task_status.started()
            while not self._stopping:
                self._beat()
                happened = await self._inbox.next()
                self._stopping = isinstance(happened, Stopping)
                await self._handle(happened, nursery)
                if self._trouble and trio.current_time() >= self._disk_at:
                    await self._try_disk(nursery)
            await trio.sleep(_GOODBYE_S)
            nursery.cancel_scope.cancel()
        for token in list(self._replies):
            self._answer(token, LocalMistake("the daemon is stopping; try again when it is back"))

    def choose_by(self, choose: Choose, suit: Suit = everything) -> None:
        """Look for a model in another way from now on. What the present one is doing begins again with the next."""
        if self._model is not None:
            self._model.choose_by(choose, suit)

    def stop(self) -> None:
        """Say goodbye, hand back claims, and end `run`."""
        self._inbox.deliver(Stopping())

    # --- the door --------------------------------------------------------------------------------------------------

    async def command(self, command: Command) -> Value:
        """Do what a person on this machine asks. Raises LocalMistake saying what is wrong with it."""
        if self._stopping:
            raise LocalMistake("the daemon is stopping; try again when it is back")
        token = next(self._tokens)
        send, receive = trio.open_memory_channel[Value | LocalMistake](1)
        self._replies[token] = send
        try:
            self._inbox.deliver(Commanded(token, command))
            value = await receive.receive()
        finally:
            self._replies.pop(token, None)
        if isinstance(value, LocalMistake):
            raise value
        return value

    @contextmanager
    def watch(self) -> Iterator[trio.MemoryReceiveChannel[Change]]:
        """Changes from now on. A reader that lags too far behind loses some and is told so."""
        send, receive = trio.open_memory_channel[Change](_WATCHER_CHANGES_MAX)
        self._watchers.add(send)
        try:
            yield receive
        finally:
            self._watchers.discard(send)
            self._lost.discard(send)
            receive.close()

    # --- effects ---------------------------------------------------------------------------------------------------

    async def _handle(self, happened: Input, nursery: trio.Nursery) -> None:
        """Let the machine take in one thing, and do what it says. What rests on a write that fails is not done: the
        machine hears of the disk instead, and says nothing more until it is well again."""
        kept = True
        for effect in self._machine.handle(happened, self._clock.now()):
            if isinstance(effect, Append):
                kept = await self._keep(effect.envelopes, sync=effect.sync) and kept
            elif isinstance(effect, Forget):
                with suppress(OSError):  # a restart brings them back, and they are forgotten once more
                    await trio.to_thread.run_sync(self._store.forget, effect.goals, effect.events)
            elif kept or isinstance(effect, Abort | Arm | Tell | SyncClose):
                self._perform(effect, nursery)
            elif isinstance(effect, Reply):
                self._answer(effect.token, LocalMistake(f"not safe, so not said before that: {self._trouble}"))
        if not kept:
            await self._handle(DiskChanged(self._trouble), nursery)

    async def _keep(self, envelopes: Sequence[Envelope], *, sync: bool = True) -> bool:
        """Append to the journal. False if the disk refuses; while it is known to, nothing is tried: the machine is
        mute, and `_try_disk` will bring everything."""
        if self._trouble:
            return True
        try:
            await trio.to_thread.run_sync(functools.partial(self._store.append, envelopes, sync=sync))
        except OSError as error:
            self._trouble = f"the disk takes nothing ({error.strerror or error}); make room, then wait a minute"
            self._disk_at = trio.current_time() + self._disk_wait_s
            self._disk_wait_s = min(2 * self._disk_wait_s, _DISK_AGAIN_S_MAX)  # never again sooner: it may be flapping
            return False
        return True

    async def _try_disk(self, nursery: trio.Nursery) -> None:
        """Give the disk everything that this peer knows, most of which it may have already."""
        trouble, self._trouble = self._trouble, ""
        if await self._keep([opened.envelope for opened in self._machine.events]):
            await self._handle(DiskChanged(""), nursery)
        else:
            self._trouble = trouble

    def _perform(self, effect: Effect, nursery: trio.Nursery) -> None:
        match effect:
            case Publish(envelopes):
                self._net.publish(envelopes)
            case Announce(presence):
                self._net.announce(presence)
            case Stream(live):
                self._net.stream(live)
            case SyncOpen(session, peer):
                self._net.sync_open(session, peer)
            case SyncSend(session, frame):
                self._net.sync_send(session, frame)
            case SyncClose(session):
                self._net.sync_close(session)
            case Ask(job, request):
                llm = self._model.llm if self._model is not None else None
                if llm is None:  # let go of a moment ago; that news is still in the inbox
                    self._inbox.deliver(Failed(job, "the model has just gone away"))
                else:
                    self._jobs[job] = trio.CancelScope()
                    nursery.start_soon(self._work, llm, job, request)
            case Abort(job):
                scope = self._jobs.get(job)
                if scope is not None:
                    scope.cancel()
            case Arm(mono_ms):
                wait_s = max(0, mono_ms - self._clock.now().mono_ms) / 1_000
                self._inbox.arm(trio.current_time() + min(wait_s, BEAT_S))
            case Tell(changes):
                self._tell(changes)
            case Reply(token, StatusView() as status):
                self._answer(token, self._completed(status))
            case Reply(token, value):
                self._answer(token, value)

    def _completed(self, status: StatusView) -> StatusView:
        """*status* with what only the adapters know."""
        refused = status.refused | self._net.counters()
        if self._inbox.dropped:
            refused["inbox_dropped"] = self._inbox.dropped
        return msgspec.structs.replace(
            status,
            refused=refused,
            disk_bytes=self._store.size(),
            addresses=self._net.addresses(),
            notices=self._net.notices(),
            no_model=self._model.missing if self._model is not None else "",
        )

    def _tell(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            log_change(_log, change)
            for watcher in list(self._watchers):
                self._send(watcher, change)

    def _send(self, watcher: trio.MemorySendChannel[Change], change: Change) -> None:
        try:
            if watcher in self._lost:
                watcher.send_nowait(Change(kind="sync", text="some changes were lost: this reader is too slow"))
                self._lost.discard(watcher)
            watcher.send_nowait(change)
        except trio.WouldBlock:
            self._lost.add(watcher)
        except trio.BrokenResourceError:
            self._watchers.discard(watcher)

    def _answer(self, token: int, value: Value | LocalMistake) -> None:
        waiting = self._replies.pop(token, None)
        if waiting is not None:  # else the client has gone
            waiting.send_nowait(value)

    # --- the model -------------------------------------------------------------------------------------------------

    async def _work(self, llm: Llm, job: int, request: Request) -> None:
        scope = self._jobs[job]
        try:
            with scope:
                answer = await llm.run(request, lambda text: self._inbox.deliver(Chunk(job, text)))
            if not scope.cancelled_caught:
                self._inbox.deliver(Answered(job, answer))
        except (RemoteFault, LocalMistake) as fault:
            _log.warning("the model could not do a job: %s", fault)
            self._inbox.deliver(Failed(job, str(fault)))
            if self._model is not None:
                self._model.doubt()
        finally:
            del self._jobs[job]
