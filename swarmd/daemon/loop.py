"""The loop: one input, one reading of the clocks, one `handle`, and its effects in the order in which they came."""

import functools
import itertools
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import msgspec
import trio

from swarmd.daemon.inbox import Inbox
from swarmd.plan.views import Change, GoalLine, GoalView
from swarmd.ports import Clock, Llm, Net, Store
from swarmd.replica.effects import (
    Abort,
    Announce,
    Append,
    Arm,
    Ask,
    Effect,
    Publish,
    Reply,
    Stream,
    SyncClose,
    SyncOpen,
    SyncSend,
    Tell,
)
from swarmd.replica.inputs import Answered, BackendChanged, Chunk, Command, Commanded, Failed, Started, Stopping
from swarmd.replica.machine import Machine
from swarmd.replica.status import PeerView, StatusView
from swarmd.roles.work import Request
from swarmd.vocab.faults import LocalMistake, RemoteFault

_log = logging.getLogger("swarmd.daemon")

BEAT_S = 3.0  # the longest that the loop rests; the watchdog of the unit waits several times as long
_PROBE_S = 30.0  # how often the model is asked whether it is there; costs one small request
_PROBE_AGAIN_S = 5.0  # while it is away
_GOODBYE_S = 0.4  # what a last word needs to leave the sockets; several gossip delays
_WATCHER_CHANGES_MAX = 1_024  # what a slow watcher may lag behind before it loses changes

Value = str | tuple[GoalLine, ...] | GoalView | tuple[PeerView, ...] | StatusView


class Loop:
    """Owns the machine. Also the door of the control socket: commands in, changes out."""

    def __init__(
        self,
        machine: Machine,
        *,
        store: Store,
        net: Net,
        choose: Callable[[], Awaitable[Llm]] | None,
        clock: Clock,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        """*choose* finds a model backend, or raises LocalMistake saying what is missing; None for a pure observer.
        *beat* is called at least every `BEAT_S` while the loop turns (the watchdog)."""
        self._machine = machine
        self._store = store
        self._net = net
        self._choose = choose
        self._llm: Llm | None = None
        self._clock = clock
        self._beat = beat
        self._inbox = Inbox()
        self._jobs: dict[int, trio.CancelScope] = {}
        self._replies: dict[int, trio.MemorySendChannel[Value | LocalMistake]] = {}
        self._tokens = itertools.count(1)
        self._watchers: set[trio.MemorySendChannel[Change]] = set()
        self._lost: set[trio.MemorySendChannel[Change]] = set()
        self._stopping = False
        self._stopped = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Live until `stop`. Reports started when the journal is read and the network listens."""
        envelopes = await trio.to_thread.run_sync(self._store.load)
        async with trio.open_nursery() as nursery:
            await self._perform(self._machine.handle(Started(envelopes), self._clock.now()), nursery)
            await nursery.start(self._net.run, self._inbox.deliver)
            if self._choose is not None:
                nursery.start_soon(self._watch_model, self._choose)
            task_status.started()
            while not self._stopping:
                self._beat()
                happened = await self._inbox.next()
                self._stopping = isinstance(happened, Stopping)
                await self._perform(self._machine.handle(happened, self._clock.now()), nursery)
            await trio.sleep(_GOODBYE_S)
            nursery.cancel_scope.cancel()
        self._stopped.set()
        for token in list(self._replies):
            self._answer(token, LocalMistake("the daemon is stopping; try again when it is back"))

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

    async def _perform(self, effects: list[Effect], nursery: trio.Nursery) -> None:
        for effect in effects:
            match effect:
                case Append(envelopes, sync):
                    await trio.to_thread.run_sync(functools.partial(self._store.append, envelopes, sync=sync))
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
                    self._jobs[job] = trio.CancelScope()
                    assert self._llm is not None, "a job without a model"
                    nursery.start_soon(self._work, self._llm, job, request)
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
                    net = self._net
                    refused, addresses = status.refused | net.counters(), net.addresses()
                    if self._inbox.dropped:
                        refused["inbox_dropped"] = self._inbox.dropped
                    self._answer(
                        token,
                        msgspec.structs.replace(status, refused=refused, addresses=addresses, notices=net.notices()),
                    )
                case Reply(token, value):
                    self._answer(token, value)

    def _tell(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            level = logging.DEBUG if change.kind == "live" else _LEVELS.get(change.kind, logging.INFO)
            _log.log(level, "%s", change.text)
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
        finally:
            del self._jobs[job]

    async def _watch_model(self, choose: Callable[[], Awaitable[Llm]]) -> None:
        """Find a model, see that it stays, and find another one when it goes."""
        said = ""
        try:
            while True:
                try:
                    self._llm = self._llm or await choose()
                    self._inbox.deliver(BackendChanged(await self._llm.probe()))
                    said = ""
                    await trio.sleep(_PROBE_S)
                except (RemoteFault, LocalMistake) as fault:
                    if str(fault) != said:
                        _log.warning("no model: %s", fault)
                        said = str(fault)
                    self._inbox.deliver(BackendChanged(None))
                    await self._let_go()
                    await trio.sleep(_PROBE_AGAIN_S)
        finally:
            with trio.CancelScope(shield=True):
                await self._let_go()

    async def _let_go(self) -> None:
        llm, self._llm = self._llm, None
        if llm is not None:
            await llm.close()


_LEVELS = {"equivocation": logging.WARNING, "refused": logging.WARNING}
