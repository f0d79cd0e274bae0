"""A scripted Ollama over real HTTP on loopback, which behaves, and misbehaves, as Ollama was seen to."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import trio

Json = dict[str, Any]
PIECES_LONG = 5_000
_REFUSALS = {
    "missing": (404, "model not found"),
    "busy": (503, "server busy, please try again"),
    "crash": (500, "model runner has unexpectedly stopped"),
}


class FakeOllama:
    """*models*: name to parameter size. *replies*: what each chat request in turn does (the last one is repeated), or
    how to reply to a request. A reply is a text to stream, or one of the names of faults in `_chat`. *port*: 0 for one
    that is free."""

    def __init__(
        self,
        models: dict[str, str],
        replies: list[str] | Callable[[Json], str],
        capabilities: tuple[str, ...] = ("completion",),
        port: int = 0,
    ) -> None:
        self.models = models
        self.replies = replies
        self.capabilities = capabilities
        self.asked: list[Json] = []
        self.sent = 0
        self.cut_off = trio.Event()
        self.port = port

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        listeners = await trio.open_tcp_listeners(self.port, host="127.0.0.1")
        self.port = listeners[0].socket.getsockname()[1]
        await trio.serve_listeners(self._connection, listeners, task_status=_as_none(task_status))

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
                lines = head.decode().split("\r\n")
                length = next((int(x.split(":")[1]) for x in lines if x.lower().startswith("content-length:")), 0)
                while len(data) < length:
                    data += await stream.receive_some()
                body, data = json.loads(data[:length] or b"{}"), data[length:]
                await self._route(lines[0].split()[1], body, stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.cut_off.set()

    async def _route(self, path: str, body: Json, stream: trio.SocketStream) -> None:
        if path == "/api/tags":
            listed = [_listed(name, size) for name, size in self.models.items()]
            await _whole(stream, 200, {"models": listed})
        elif path == "/api/show":
            size = self.models.get(body["model"])
            if size is None:
                await _whole(stream, 404, {"error": f"model '{body['model']}' not found"})
            else:
                await _whole(stream, 200, _shown(size, self.capabilities))
        else:
            self.asked.append(body)
            replies = self.replies
            reply = replies[min(len(self.asked), len(replies)) - 1] if isinstance(replies, list) else replies(body)
            await self._chat(reply, body["model"], stream)

    async def _chat(self, reply: str, model: str, stream: trio.SocketStream) -> None:
        if reply in _REFUSALS:
            status, reason = _REFUSALS[reply]
            await _whole(stream, status, {"error": reason})
            return
        if reply == "hang":
            await trio.sleep_forever()
        await stream.send_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        pieces = (
            [f"word{n} " for n in range(PIECES_LONG)]
            if reply == "long"
            else [reply[i : i + 7] for i in range(0, len(reply), 7)]
        )
        if reply in ("no done", "truncated", "bad line", "error line", "stall", "no object"):
            pieces = ['{"sub', 'goals"']
        for piece in pieces:
            await _chunk(stream, _spoken(model, piece))
            self.sent += 1
            if reply == "long":
                await trio.sleep(0.005)
        match reply:
            case "no done":
                await stream.send_all(b"0\r\n\r\n")
                return
            case "truncated":
                await stream.aclose()
                return
            case "bad line":
                await _chunk(stream, b'{"message": {"role": "assistant", "cont\n')
            case "no object":
                await _chunk(stream, b"[1, 2]\n")
            case "error line":
                await _chunk(stream, b'{"error": "an error was encountered while running the model"}\n')
            case "stall":
                await trio.sleep_forever()
        done = {"model": model, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
        if reply.endswith("…"):
            done["done_reason"] = "length"
        await _chunk(stream, json.dumps(done | {"eval_count": len(pieces)}).encode() + b"\n")
        await stream.send_all(b"0\r\n\r\n")


def run_with(fake: FakeOllama, test: Callable[[FakeOllama], Any], seconds: float = 20) -> None:
    """Run the async *test* beside *fake*."""

    async def main() -> None:
        with trio.fail_after(seconds):
            async with trio.open_nursery() as nursery:
                await nursery.start(fake.serve)
                await test(fake)
                nursery.cancel_scope.cancel()

    trio.run(main)


def obliging(request: Json) -> str:
    """What a model that obeys the schema might say; different for every request."""
    fields = request["format"]["properties"] if request.get("format") else {}
    seed = hashlib.sha256(json.dumps(request["messages"]).encode()).hexdigest()
    words = [seed[at : at + 7].translate(str.maketrans("0123456789", "ghijklmnop")) for at in range(0, 42, 7)]
    if "subgoals" in fields:
        titles = [f"Fetch the {words[n]} from {words[n + 1]}" for n in (0, 2, 4)]
        return json.dumps({"subgoals": [{"title": t, "detail": "", "leaf": False, "after": []} for t in titles]})
    if "specific" in fields:
        return json.dumps({"critique": "fine", "specific": 0.9, "disjoint": 0.8, "covering": 0.7})
    return f"Take the {words[0]} and put it next to the {words[1]}. Then close the lid."


def _as_none(task_status: trio.TaskStatus[None]) -> Any:
    class Started:
        def started(self, value: object = None) -> None:
            task_status.started()

    return Started()


def _listed(name: str, size: str) -> Json:
    family = "nomic-bert" if "embed" in name else "any"
    return {
        "name": name,
        "model": name,
        "size": 1_000,
        "digest": "d",
        "details": {"parameter_size": size, "family": family},
    }


def _shown(size: str, capabilities: tuple[str, ...]) -> Json:
    return {"details": {"parameter_size": size}, "model_info": {}, "capabilities": list(capabilities)}


def _spoken(model: str, piece: str) -> bytes:
    return (
        json.dumps({"model": model, "message": {"role": "assistant", "content": piece}, "done": False}).encode() + b"\n"
    )


async def _chunk(stream: trio.SocketStream, data: bytes) -> None:
    await stream.send_all(f"{len(data):x}\r\n".encode() + data + b"\r\n")


async def _whole(stream: trio.SocketStream, status: int, said: Json) -> None:
    data = json.dumps(said).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    await stream.send_all(head.encode() + data)
