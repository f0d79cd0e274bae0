"""A scripted server of OpenAI's API over real HTTP on loopback, in the manner of llama-server, LM Studio, vLLM, or of
one that tells nothing of itself."""

import json
from typing import Literal

import trio

from tests.unit.llm.fake_server import (
    FakeServer,
    Json,
    Reply,
    Script,
    chunk_out,
    obliging_text,
    whole_out,
)

Manner = Literal["llamacpp", "lmstudio", "vllm", "bare"]
_REFUSALS: dict[str, tuple[int, Json | str]] = {
    "missing": (404, {"error": {"message": "The model does not exist.", "type": "NotFoundError", "code": 404}}),
    "busy": (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}),
    "crash": (500, {"error": {"message": "internal error", "type": "server_error", "code": 500}}),
    "gateway": (502, "<html>502 Bad Gateway</html>"),
    "refused": (
        400,
        {"error": {"message": "request (9031 tokens) exceeds the available context size (2048 tokens)", "code": 400}},
    ),
}


class FakeOpenAi(FakeServer):
    """*minds*: what it refuses to be asked for. *key*: that it wants. *counts*: whether it tells how many tokens it
    wrote."""

    def __init__(
        self,
        models: dict[str, str],
        script: Script,
        manner: Manner = "bare",
        *,
        minds: tuple[str, ...] = (),
        key: str = "",
        counts: bool = True,
    ) -> None:
        super().__init__(models, script)
        self.manner = manner
        self.minds = minds
        self.key = key
        self.counts = counts
        self.loading = False

    async def route(self, path: str, headers: dict[str, str], body: Json, stream: trio.SocketStream) -> None:
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            await whole_out(stream, 401, {"error": {"message": "Invalid API Key", "code": 401}})
        elif path == "/v1/models" and self.loading:
            await whole_out(stream, *_REFUSALS["busy"])
        elif path == "/v1/models":
            await whole_out(stream, 200, {"object": "list", "data": [self._listed(name) for name in self.models]})
        elif path == "/props" and self.manner == "llamacpp":
            await whole_out(stream, 200, {"total_slots": 4, "default_generation_settings": {"n_ctx": 6_144}})
        elif path == "/api/v0/models" and self.manner == "lmstudio":
            shown = [{"id": name, "state": "loaded", "loaded_context_length": 3_000} for name in self.models]
            await whole_out(stream, 200, {"object": "list", "data": shown})
        elif path == "/v1/chat/completions":
            await self._chat(self.next_reply(body), body, stream)
        else:
            await whole_out(stream, 404, {"error": {"message": "File Not Found", "code": 404}})

    def _listed(self, name: str) -> Json:
        entry: Json = {"id": name, "object": "model", "created": 1, "owned_by": self.manner}
        if self.manner == "llamacpp":
            entry["meta"] = {"n_ctx": 6_144, "n_ctx_train": 32_768, "n_params": 7_600_000_000, "size": 4_700_000_000}
        if self.manner == "vllm":
            entry["max_model_len"] = 6_000
        return entry

    async def _chat(self, reply: Reply, body: Json, stream: trio.SocketStream) -> None:
        minded = next((each for each in self.minds if each in body), None)
        if minded is not None:
            await whole_out(stream, 400, {"error": {"message": f"Unrecognized request argument: {minded}"}})
            return
        if await self.failed(reply, _REFUSALS, stream):
            return

        def spoken(text: str) -> bytes:
            return _event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})

        if not await self.stream_pieces(reply, stream, "text/event-stream", spoken):
            return
        match reply.fault:
            case "bad line":
                await chunk_out(stream, b'data: {"choices": [{"ind\n\n')
            case "no object":
                await chunk_out(stream, b"data: [1, 2]\n\n")
            case "deep line":
                await chunk_out(stream, b"data: " + b"[" * 100_000 + b"\n\n")
            case "error line":
                await chunk_out(stream, _event({"error": {"message": "the engine is dead", "code": 500}}))
        reason = "length" if reply.fault == "length" else "stop"
        await chunk_out(stream, _event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
        if self.counts:
            await chunk_out(stream, _event({"choices": [], "usage": {"completion_tokens": 42}}))
        await chunk_out(stream, b": a comment\n\ndata: [DONE]\n\n")
        await stream.send_all(b"0\r\n\r\n")


def _event(said: Json) -> bytes:
    return b"data: " + json.dumps(said).encode() + b"\n\n"


def obliging(request: Json) -> str:
    """What a model that obeys the schema might say; different for every request."""
    form = request.get("response_format")
    return obliging_text(request["messages"], form["json_schema"]["schema"]["properties"] if form else {})
