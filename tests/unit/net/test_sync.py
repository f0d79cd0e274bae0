"""Sessions on streams that are made up, on a clock that costs no time."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, cast

import trio
import trio.testing
from libp2p.peer.id import ID

from swarmd.events.envelope import Identity
from swarmd.gossip.frames import Done, Summary, encode
from swarmd.net.streams import framed
from swarmd.net.sync import IDLE_S, PER_PEER_MAX, QUEUE_FRAMES_MAX, Sessions
from swarmd.replica.inputs import Input, SyncClosed, SyncHeard, SyncOpened
from swarmd.vocab import limits

PEERS = [Identity(bytes([number]) * 32).peer for number in range(limits.SESSIONS_MAX + 1)]


class Pipe:
    """A stream from a peer, which sends *data* and then is silent. *stuck*: it takes nothing."""

    def __init__(self, peer: str, data: bytes = b"", *, stuck: bool = False) -> None:
        self.muxed_conn = self
        self.peer_id = ID.from_base58(peer)
        self.data = data
        self.stuck = stuck
        self.written = b""
        self.ends: list[str] = []

    async def read(self, n: int) -> bytes:
        if not self.data:
            await trio.sleep_forever()
        taken, self.data = self.data[:n], self.data[n:]
        return taken

    async def write(self, data: bytes) -> None:
        if self.stuck:
            await trio.sleep_forever()
        self.written += data

    async def close(self) -> None:
        self.ends.append("closed")

    async def reset(self) -> None:
        self.ends.append("reset")


class House:
    """A host whose peers are all connected and answer with *pipe*."""

    def __init__(self, pipe: Pipe | None = None) -> None:
        self.pipe = pipe
        self.connections = {ID.from_base58(peer) for peer in PEERS}
        self.handler: Callable[[Any], Awaitable[None]] | None = None

    def set_stream_handler(self, protocol: str, handler: Callable[[Any], Awaitable[None]]) -> None:
        self.handler = handler

    def get_network(self) -> "House":
        return self

    async def new_stream(self, peer: ID, protocols: list[str]) -> Pipe:
        if self.pipe is None:
            await trio.sleep_forever()
        return self.pipe


def lived(house: House, seconds: float, script: Callable[[Sessions, trio.Nursery], Any]) -> tuple[list[Input], Any]:
    """What is delivered, and counted, in *seconds*."""
    inputs: list[Input] = []
    counters: Counter[str] = Counter()

    async def scenario() -> None:
        sessions = Sessions(cast(Any, house), inputs.append, silent=False, counters=counters)
        async with trio.open_nursery() as nursery:
            await nursery.start(sessions.run)
            script(sessions, nursery)
            await trio.sleep(seconds)
            inputs.append(cast(Input, "end"))
            nursery.cancel_scope.cancel()

    trio.run(scenario, clock=trio.testing.MockClock(autojump_threshold=0))
    return inputs[: inputs.index(cast(Input, "end"))], counters


def inbound(house: House, *pipes: Pipe) -> Callable[[Sessions, trio.Nursery], None]:
    def script(sessions: Sessions, nursery: trio.Nursery) -> None:
        assert house.handler is not None
        for pipe in pipes:
            nursery.start_soon(house.handler, pipe)

    return script


def test_a_peer_that_falls_silent_in_a_session_is_hung_up_on_after_a_minute() -> None:
    house, pipe = House(), Pipe(PEERS[0], framed(encode(Done())))
    assert lived(house, IDLE_S - 1, inbound(house, pipe))[0] == [SyncOpened(1, PEERS[0]), SyncHeard(1, Done())]
    house, pipe = House(), Pipe(PEERS[0])
    assert lived(house, IDLE_S + 1, inbound(house, pipe))[0] == [SyncOpened(1, PEERS[0]), SyncClosed(1)]
    assert pipe.ends == ["reset"]


def test_a_peer_that_takes_nothing_is_hung_up_on_after_a_minute() -> None:
    pipe = Pipe(PEERS[0], stuck=True)

    def script(sessions: Sessions, nursery: trio.Nursery) -> None:
        sessions.open(2, PEERS[0])
        sessions.send(2, Summary(horizon=1))

    assert lived(House(pipe), IDLE_S + 1, script)[0] == [SyncClosed(2)]
    assert pipe.ends == ["reset"]


def test_a_peer_that_does_not_answer_the_call_is_given_up() -> None:
    assert lived(House(), 11, lambda sessions, nursery: sessions.open(2, PEERS[0]))[0] == [SyncClosed(2)]


def test_frames_sent_before_the_stream_is_open_arrive_and_closing_comes_after_them() -> None:
    pipe = Pipe(PEERS[0])

    def script(sessions: Sessions, nursery: trio.Nursery) -> None:
        sessions.open(2, PEERS[0])
        sessions.send(2, Summary(horizon=1))
        sessions.send(2, Done())
        sessions.close(2)
        sessions.send(2, Done())

    assert lived(House(pipe), 5, script)[0] == []
    assert pipe.written == framed(encode(Summary(horizon=1))) + framed(encode(Done()))
    assert pipe.ends == ["closed"]


def test_a_queue_that_overflows_ends_the_session() -> None:
    pipe = Pipe(PEERS[0], stuck=True)

    def script(sessions: Sessions, nursery: trio.Nursery) -> None:
        sessions.open(2, PEERS[0])
        for _ in range(QUEUE_FRAMES_MAX + 1):
            sessions.send(2, Done())

    inputs, counters = lived(House(pipe), 1, script)
    assert inputs == [SyncClosed(2)]
    assert counters["sync_overrun"] == 1


def test_no_peer_and_no_crowd_takes_all_sessions() -> None:
    house = House()
    greedy = [Pipe(PEERS[0]) for _ in range(PER_PEER_MAX + 1)]
    inputs, counters = lived(house, 1, inbound(house, *greedy))
    assert len(inputs) == PER_PEER_MAX
    assert counters["sync_refused"] == 1
    crowd = [Pipe(peer) for peer in PEERS]
    inputs, counters = lived(house, 1, inbound(house, *crowd))
    assert len(inputs) == limits.SESSIONS_MAX
    assert all(isinstance(each, SyncOpened) and each.session % 2 for each in inputs)
    assert counters["sync_refused"] == 1


def test_who_does_not_wait_for_answers_is_not_read_on() -> None:
    house, pipe = House(), Pipe(PEERS[0], 1_000 * framed(encode(Done())))
    inputs, _ = lived(house, 5, inbound(house, pipe))
    assert inputs == [SyncOpened(1, PEERS[0]), SyncHeard(1, Done())]
    assert len(pipe.data) >= 998 * len(framed(encode(Done())))
