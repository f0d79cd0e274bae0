"""Sync sessions: one stream each, named by a number. Ours are even and given by the core; a peer's are odd.

A session ends once: `SyncClosed` is delivered unless this side closed it. Every wait has a limit, and a stream that
breaks a rule is reset, so that neither side is left waiting for the other.
"""

import logging
from collections import Counter

import trio
from libp2p.abc import IHost, INetStream
from libp2p.custom_types import TProtocol
from libp2p.peer.id import ID

from swarmd.gossip.frames import Frame, decode_frame, encode
from swarmd.net.streams import Stream, read_frame, write_frame
from swarmd.ports import Deliver
from swarmd.replica.inputs import SyncClosed, SyncHeard, SyncOpened
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.ids import PeerId

PROTOCOL = TProtocol("/swarmd/sync/1")
OPEN_S = 10.0  # to open a stream to a peer that is connected; a starved Raspberry Pi answers within that
IDLE_S = 60.0  # for one frame either way; the other side may be checking a thousand signatures first
CLOSE_S = 2.0  # to say goodbye
QUEUE_FRAMES_MAX = 8  # each frame answers one, so more than one or two waiting means that the core runs wild
PER_PEER_MAX = 2  # a peer needs one, and a second while its first is not yet known to be dead

_log = logging.getLogger("swarmd.net.sync")


class _Session:
    def __init__(self, peer: PeerId) -> None:
        self.peer = peer
        self.send, self.receive = trio.open_memory_channel[Frame](QUEUE_FRAMES_MAX)
        self.scope = trio.CancelScope()
        self.answered = trio.Event()  # what the other side said last
        self.answered.set()
        self.whole = False  # every frame was sent, or the other side ended it between two frames


class Sessions:
    """All open sync streams of this peer."""

    def __init__(self, host: IHost, deliver: Deliver, *, silent: bool, counters: "Counter[str]") -> None:
        self._host = host
        self._deliver = deliver
        self._silent = silent
        self._counters = counters
        self._open: dict[int, _Session] = {}
        self._next_odd = 1
        self._nursery: trio.Nursery | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Respond and initiate until cancelled. An observer (*silent*) does not respond."""
        async with trio.open_nursery() as self._nursery:
            if not self._silent:
                self._host.set_stream_handler(PROTOCOL, self._respond)
            task_status.started()
            await trio.sleep_forever()

    def open(self, number: int, peer: PeerId) -> None:
        """See `ports.Net.sync_open`."""
        assert number % 2 == 0, "odd sessions are those of other peers"
        assert number not in self._open, f"session {number} is in use"
        assert self._nursery is not None, "sync was opened before the network ran"
        self._open[number] = session = _Session(peer)
        self._nursery.start_soon(self._initiate, number, session)

    def send(self, number: int, frame: Frame) -> None:
        """See `ports.Net.sync_send`. A queue that is full ends the session."""
        session = self._open.get(number)
        if session is None:
            return
        try:
            session.send.send_nowait(frame)
            session.answered.set()
        except trio.WouldBlock:
            self._counters["sync_overrun"] += 1
            session.scope.cancel()

    def close(self, number: int) -> None:
        """See `ports.Net.sync_close`."""
        session = self._open.pop(number, None)
        if session is not None:
            session.send.close()

    async def _initiate(self, number: int, session: _Session) -> None:
        stream: INetStream | None = None
        with trio.move_on_after(OPEN_S):
            peer = ID.from_base58(session.peer)
            try:
                if peer in self._host.get_network().connections:  # the library would dial, by a rhythm of its own
                    stream = await self._host.new_stream(peer, [PROTOCOL])
            except Exception as error:  # the library raises whatever its layers raise
                _log.debug("no sync stream to %s: %r", session.peer, error)
        if stream is None:
            self._counters["sync_unopened"] += 1
            self._ended(number)
        else:
            await self._converse(number, session, stream)

    async def _respond(self, stream: INetStream) -> None:
        peer = PeerId(stream.muxed_conn.peer_id.to_base58())
        theirs = [session.peer for number, session in self._open.items() if number % 2]
        if theirs.count(peer) >= PER_PEER_MAX or len(theirs) >= limits.SESSIONS_MAX:
            self._counters["sync_refused"] += 1
            await stream.reset()
            return
        number, self._next_odd = self._next_odd, self._next_odd + 2
        self._open[number] = session = _Session(peer)
        self._deliver(SyncOpened(number, peer))
        await self._converse(number, session, stream)

    async def _converse(self, number: int, session: _Session, stream: Stream) -> None:
        """Carry frames both ways until one side ends it."""
        try:
            with session.scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._write, session, stream)
                    await self._read(number, session, stream)
                    nursery.cancel_scope.cancel()
        except* (RemoteFault, trio.TooSlowError) as faults:
            self._counters["sync_faults"] += 1
            _log.debug("sync with %s broke: %r", session.peer, faults.exceptions)
        finally:
            self._ended(number)
            with trio.move_on_after(CLOSE_S, shield=True):
                await _hang_up(stream, gently=session.whole)

    async def _read(self, number: int, session: _Session, stream: Stream) -> None:
        while True:
            with trio.fail_after(IDLE_S):
                body = await read_frame(stream)
            if body is None:
                session.whole = True
                return
            frame = decode_frame(body)
            await session.answered.wait()  # who does not wait for answers is not read on, and so waits after all
            if number in self._open:
                session.answered = trio.Event()
                self._deliver(SyncHeard(number, frame))

    async def _write(self, session: _Session, stream: Stream) -> None:
        async for frame in session.receive:
            with trio.fail_after(IDLE_S):
                await write_frame(stream, encode(frame))
        session.whole = True
        session.scope.cancel()

    def _ended(self, number: int) -> None:
        if self._open.pop(number, None) is not None:
            self._deliver(SyncClosed(number))


async def _hang_up(stream: Stream, *, gently: bool) -> None:
    try:
        await (stream.close() if gently else stream.reset())
    except Exception as error:  # it is over either way
        _log.debug("a stream did not close: %r", error)
