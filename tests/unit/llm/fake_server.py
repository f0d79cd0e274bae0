"""What scripted model servers have in common: real HTTP on loopback, and every way in which an answer can go wrong.

What happens to a request is a `Reply`. Nothing is told of by sleeping: `sent`, `cut_off` and `asked` say what happened.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import trio

Json = dict[str, Any]
PIECES_LONG = 5_000
Fault = Literal[
    "",
    # before any answer
    "missing",  # 404: the model was removed
    "busy",  # 503
    "crash",  # 500: the runner fell over
    "gateway",  # 502 with a page of HTML
    "refused",  # 400
    "dropped",  # the connection is closed without a word
    "hang",  # never a word
    # in the middle of it
    "stall",  # never another word
    "no done",  # the stream ends as if all were well
    "closed",  # the connection breaks
    "bad line",  # half a line of JSON
    "no object",  # JSON, and no object
    "deep line",  # brackets without end
    "endless line",  # a line that never ends
    "error line",  # the server's own words that it failed
    "length",  # ends in order, since there is no more room
    "runaway",  # pieces without end
]
BEFORE: tuple[Fault, ...] = ("missing", "busy", "crash", "gateway", "refused", "dropped", "hang")
AMID: tuple[Fault, ...] = (
    "stall",
    "no done",
    "closed",
    "bad line",
    "no object",
    "deep line",
    "error line",
    "length",
    "runaway",
)


@dataclass(frozen=True)
class Reply:
    """*text* is streamed, whole, or up to the *fault*. *load_s*: before its first piece, while the model is loaded.
    *thought*: said aloud before it. *piece_s*: between two pieces."""

    text: str = '{"sub goals'
    fault: Fault = ""
    load_s: float = 0
    thought: str = ""
    piece_s: float = 0


Script = Sequence[str | Reply] | Callable[[Json], str | Reply]
"""What each request in turn gets (the last one is repeated), or how to reply to a request. A string is its text."""


class Gone(Exception):
    """The client has closed the connection."""


class FakeServer:
    """*models*: name to parameter size. *port*: 0 for one that is free."""

    address: str | None = "127.0.0.1"  # None: every one of this machine

    def __init__(self, models: dict[str, str], script: Script, port: int = 0) -> None:
        self.models = models
        self.script = script
        self.port = port
        self.asked: list[Json] = []
        self.sent = 0  # pieces
        self.cut_off = trio.Event()  # the client left in the middle of an answer

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        listeners = await trio.open_tcp_listeners(self.port, host=self.address)
        self.port = listeners[0].socket.getsockname()[1]
        await trio.serve_listeners(self._connection, listeners, task_status=_as_none(task_status))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """There for as long as this lasts; then connections are refused."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self.serve)
            yield
            nursery.cancel_scope.cancel()

    async def route(self, path: str, headers: dict[str, str], body: Json, stream: trio.SocketStream) -> None:
        """Answer one request."""
        raise NotImplementedError

    async def failed(
        self, reply: Reply, refusals: dict[str, tuple[int, Json | str]], stream: trio.SocketStream
    ) -> bool:
        """Let *reply* fail before its first word, if that is its fault; whether it did."""
        if reply.fault in refusals:
            await whole_out(stream, *refusals[reply.fault])
            return True
        if reply.fault == "dropped":
            await stream.aclose()
            return True
        if reply.fault == "hang":
            await wait_or_gone(stream, float("inf"))
        return False

    def next_reply(self, body: Json) -> Reply:
        self.asked.append(body)
        script = self.script
        reply = script(body) if callable(script) else script[min(len(self.asked), len(script)) - 1]
        return Reply(reply) if isinstance(reply, str) else reply

    async def _connection(self, stream: trio.SocketStream) -> None:
        try:
            data = b""
            while True:
                while b"\r\n\r\n" not in data:
                    chunk = await stream.receive_some()
                    if not chunk:
                        return
                    data += chunk
                head, _, data = data.partition(b"\r\n\r\n")
                first, *lines = head.decode().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                length = int(headers.get("content-length", 0))
                while len(data) < length:
                    data += await stream.receive_some()
                body, data = json.loads(data[:length] or b"{}"), data[length:]
                await self.route(first.split()[1], headers, body, stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError, Gone):
            self.cut_off.set()

    async def stream_pieces(
        self, reply: Reply, stream: trio.SocketStream, kind: str, piece: Callable[[str], bytes]
    ) -> bool:
        """Head and pieces of a streamed answer up to its fault; whether it goes on from there."""
        await wait_or_gone(stream, reply.load_s)
        await head_out(stream, kind)
        texts = [reply.text[at : at + 7] for at in range(0, len(reply.text), 7)]
        if reply.fault == "runaway":
            texts = [f"word{n} " for n in range(PIECES_LONG)]
        elif reply.fault:
            texts = texts[: max(1, len(texts) // 2)]
        for text in texts:
            await chunk_out(stream, piece(text))
            self.sent += 1
            if reply.piece_s or reply.fault == "runaway":
                await wait_or_gone(stream, reply.piece_s or 0.002)
        if reply.fault == "stall":
            await wait_or_gone(stream, float("inf"))
        if reply.fault == "no done":
            await stream.send_all(b"0\r\n\r\n")
        if reply.fault == "closed":
            await stream.aclose()
        if reply.fault == "endless line":
            while True:
                await chunk_out(stream, b"x" * (1 << 20))
        return reply.fault not in ("stall", "no done", "closed")


def run_with(fake: "FakeServer", test: Callable[[Any], Awaitable[None]], seconds: float = 20) -> None:
    """Run the async *test* beside *fake*."""

    async def main() -> None:
        with trio.fail_after(seconds):
            async with fake.open():
                await test(fake)

    trio.run(main)


def obliging_text(messages: object, fields: Json) -> str:
    """What a model that obeys the schema might say; different for every request."""
    seed = hashlib.sha256(json.dumps(messages).encode()).hexdigest()
    words = [seed[at : at + 7].translate(str.maketrans("0123456789", "ghijklmnop")) for at in range(0, 42, 7)]
    if "subgoals" in fields:
        titles = [f"Fetch the {words[n]} from {words[n + 1]}" for n in (0, 2, 4)]
        return json.dumps({"subgoals": [{"title": t, "detail": "", "leaf": False, "after": []} for t in titles]})
    if "specific" in fields:
        return json.dumps({"critique": "fine", "specific": 0.9, "disjoint": 0.8, "covering": 0.7})
    return f"Take the {words[0]} and put it next to the {words[1]}. Then close the lid."


async def wait_or_gone(stream: trio.SocketStream, seconds: float) -> None:
    """Let time pass. Raises Gone if the client leaves meanwhile."""
    if seconds <= 0:
        return
    with trio.move_on_after(seconds):
        if not await stream.receive_some():
            raise Gone


async def head_out(stream: trio.SocketStream, kind: str) -> None:
    """The beginning of an answer in chunks."""
    await stream.send_all(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())


async def chunk_out(stream: trio.SocketStream, data: bytes) -> None:
    """A chunk of a body whose length is not told before."""
    await stream.send_all(f"{len(data):x}\r\n".encode() + data + b"\r\n")


async def whole_out(stream: trio.SocketStream, status: int, said: Json | str) -> None:
    """A whole answer: JSON, or a page of HTML."""
    data, kind = (json.dumps(said), "application/json") if isinstance(said, dict) else (said, "text/html")
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(data.encode())}\r\n\r\n"
    await stream.send_all(head.encode() + data.encode())


def _as_none(task_status: trio.TaskStatus[None]) -> Any:
    class Started:
        def started(self, value: object = None) -> None:
            task_status.started()

    return Started()
