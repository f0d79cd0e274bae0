"""A scripted Ollama over real HTTP on loopback, which behaves, and misbehaves, as Ollama was seen to."""

import json

import trio

from tests.unit.llm.fake_server import (
    FakeServer,
    Json,
    Reply,
    Script,
    chunk_out,
    head_out,
    obliging_text,
    whole_out,
)

_REFUSALS: dict[str, tuple[int, Json | str]] = {
    "missing": (404, {"error": "model not found"}),
    "busy": (503, {"error": "server busy, please try again.  maximum pending requests exceeded"}),
    "crash": (500, {"error": "model runner has unexpectedly stopped"}),
    "gateway": (502, "<html>502 Bad Gateway</html>"),
    "refused": (400, {"error": "invalid options"}),
}


class FakeOllama(FakeServer):
    """*capabilities*: of every model. *sizes*: of their files, bytes. *context*: what they were trained for. *in_vram*:
    share of a loaded model that lies in a GPU."""

    def __init__(
        self,
        models: dict[str, str],
        script: Script,
        capabilities: tuple[str, ...] = ("completion",),
        port: int = 0,
        *,
        sizes: dict[str, int] | None = None,
        context: int = 40_960,
        in_vram: float = 0,
    ) -> None:
        super().__init__(models, script, port)
        self.capabilities = capabilities
        self.sizes = sizes or {}
        self.context = context
        self.in_vram = in_vram
        self.loaded: tuple[str, int] = ("", 0)
        self.loads = 0
        self.forgot = 0  # prompts of which Ollama would silently drop the beginning

    async def route(self, path: str, headers: dict[str, str], body: Json, stream: trio.SocketStream) -> None:
        if path == "/api/tags":
            await whole_out(stream, 200, {"models": [self._listed(name) for name in self.models]})
        elif path == "/api/ps":
            name, size = self.loaded[0], 1_000
            running = {"name": name, "model": name, "size": size, "size_vram": int(size * self.in_vram), "details": {}}
            await whole_out(stream, 200, {"models": [running] if name else []})
        elif path == "/api/show":
            size_said = self.models.get(body["model"])
            if size_said is None:
                await whole_out(stream, 404, {"error": f"model '{body['model']}' not found"})
            else:
                facts = {"general.architecture": "any", "any.context_length": self.context}
                details = {"parameter_size": size_said}
                shown = {"details": details, "model_info": facts, "capabilities": list(self.capabilities)}
                await whole_out(stream, 200, shown)
        elif path == "/api/pull":
            await self._pull(body["model"], stream)
        elif path == "/api/chat":
            await self._chat(self.next_reply(body), body, stream)
        else:
            await whole_out(stream, 404, {"error": "no such path"})

    async def _chat(self, reply: Reply, body: Json, stream: trio.SocketStream) -> None:
        model, options = body["model"], body["options"]
        if model not in self.models:
            reply = Reply(fault="missing")
        if body.get("think") is not None and "thinking" not in self.capabilities:
            await whole_out(stream, 400, {"error": f'"{model}" does not support thinking'})
            return
        if await self.failed(reply, _REFUSALS, stream):
            return
        prompt_bytes = sum(len(message["content"].encode()) for message in body["messages"])
        self.forgot += prompt_bytes / 3 > options["num_ctx"]
        if self.loaded != (model, options["num_ctx"]):
            self.loaded = (model, options["num_ctx"])
            self.loads += 1
        thoughts = [reply.thought] if reply.thought else []

        def spoken(text: str) -> bytes:
            message = {"role": "assistant", "content": text}
            if thoughts:
                message["thinking"] = thoughts.pop()
            return json.dumps({"model": model, "message": message, "done": False}).encode() + b"\n"

        if not await self.stream_pieces(reply, stream, "application/x-ndjson", spoken):
            return
        match reply.fault:
            case "bad line":
                await chunk_out(stream, b'{"message": {"role": "assistant", "cont\n')
            case "no object":
                await chunk_out(stream, b"[1, 2]\n")
            case "deep line":
                await chunk_out(stream, b"[" * 100_000 + b"\n")
            case "error line":
                await chunk_out(stream, b'{"error": "an error was encountered while running the model"}\n')
        done = {
            "model": model,
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": "length" if reply.fault == "length" else "stop",
            "eval_count": 64,
            "eval_duration": 8_000_000_000,
        }
        await chunk_out(stream, json.dumps(done).encode() + b"\n")
        await stream.send_all(b"0\r\n\r\n")

    async def _pull(self, model: str, stream: trio.SocketStream) -> None:
        await head_out(stream, "application/x-ndjson")
        for word in ({"status": "pulling manifest"}, {"status": "pulling 3e4c", "total": 9, "completed": 3}):
            await chunk_out(stream, json.dumps(word).encode() + b"\n")
        self.models |= named(model)
        await chunk_out(stream, b'{"status": "success"}\n')
        await stream.send_all(b"0\r\n\r\n")

    def _listed(self, name: str) -> Json:
        family = "nomic-bert" if "embed" in name else "any"
        details = {"parameter_size": self.models[name], "family": family}
        return {"name": name, "model": name, "size": self.sizes.get(name, 1_000), "digest": "d", "details": details}


def named(*models: str) -> dict[str, str]:
    """Models and their parameter sizes, which are in such names as qwen3:4b."""
    return {model: model.partition(":")[2].upper() for model in models}


def obliging(request: Json) -> str:
    """What a model that obeys the schema might say; different for every request."""
    return obliging_text(request["messages"], request["format"]["properties"] if request.get("format") else {})
