"""Any server of the home that speaks OpenAI's API: llama-server, LM Studio, vLLM and their like.

They agree on little beyond `/v1/models` and streamed `/v1/chat/completions`. What else is useful is asked for as a
courtesy, and left out from then on where a server refuses it.
"""

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Literal

import httpx
import msgspec
import trio

from swarmd.llm.address import is_local, remedy
from swarmd.llm.asking import Asker, Away, Busy, Deadlines, Piece
from swarmd.llm.bounded import BoundedTransport
from swarmd.llm.candidates import candidate, context_for, largest, tier_of, writes
from swarmd.llm.prompts import Prompt
from swarmd.llm.reading import ANSWER_BYTES_MAX, Unreadable
from swarmd.ports import Candidate, Pick, Picked
from swarmd.roles.work import Answer, Backend, Request, Tier
from swarmd.vocab.faults import LocalMistake, RemoteFault

_PROBE_S = 10
_CONNECT_S = 3  # a machine of the home answers at once or is off
_REPLY_BYTES_MAX = 1 << 20  # a list of models, or words of refusal
_LINE_BYTES_MAX = 2 * ANSWER_BYTES_MAX  # one piece of an answer, with what servers wrap it in
_SAID_CHARACTERS = 200  # of a server's own words for what is wrong
_CONTEXT_TOKENS = 4_096  # of a server that does not tell; few are set up with less
_SLOTS_MAX = 64  # more requests at once than a home has work for
_SLOTS = {"vllm": 4}  # it works on many requests together; of others one is known to be safe

Json = dict[str, Any]
Courtesy = Literal["chat_template_kwargs", "stream_options", "response_format"]
_TOO_LONG = re.compile(r"context (?:size|length|window)|exceed_context")
_COURTESIES: tuple[Courtesy, ...] = ("chat_template_kwargs", "stream_options", "response_format")


class _Model(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    why: str
    tier: Tier
    context_tokens: int
    slots: int


class OpenAiLlm:
    """*host*: its base URL, with or without a final "/v1". *model*: None for what *pick* chooses among those that it
    lists. *key*: for a server that wants one. *slots*, *context_tokens*: None for what the server tells of itself."""

    def __init__(
        self,
        host: str,
        model: str | None = None,
        *,
        key: str = "",
        slots: int | None = None,
        context_tokens: int | None = None,
        pick: Pick = largest,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._host = host.rstrip("/").removesuffix("/v1")
        self._wanted = model
        self._wanted_slots = slots
        self._wanted_context = context_tokens
        self._pick = pick
        self._client = httpx.AsyncClient(
            base_url=self._host,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(None, connect=_CONNECT_S),
            trust_env=False,
            transport=BoundedTransport(),
        )
        self._model: _Model | None = None
        self._speeds: dict[str, float] = {}
        self._refused: set[Courtesy] = set()
        self._asker = Asker("the model server", deadlines or Deadlines())

    async def probe(self) -> Backend:
        """See `ports.Llm`. Asks the server for its models; loads none."""
        try:
            with trio.fail_after(_PROBE_S):
                self._model = await self._choose()
        except (httpx.HTTPError, httpx.InvalidURL, trio.TooSlowError) as error:
            raise LocalMistake(f"no model server answers at {self._host}: {remedy(self._host)}") from error
        model = self._model
        return Backend(
            name="openai",
            model=model.name,
            tier=model.tier,
            why=model.why,
            slots=model.slots,
            context_tokens=model.context_tokens,
            schema="response_format" not in self._refused,
            local=is_local(self._host),
            tokens_per_s=self._speeds.get(model.name),
        )

    async def measure(self) -> None:
        """See `ports.Llm`."""
        model = await self._known()
        self._speeds[model.name] = await self._asker.measure(partial(self._send, model))

    async def run(self, request: Request, on_text: Callable[[str], None]) -> Answer:
        """See `ports.Llm`."""
        model = await self._known()
        send = partial(self._send, model)
        return await self._asker.ask(request, model.name, model.context_tokens, send, on_text)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _known(self) -> _Model:
        if self._model is None:
            await self.probe()
        assert self._model is not None
        return self._model

    # --- what is there ---------------------------------------------------------------------------------------------

    async def _choose(self) -> _Model:
        status, said = await self._get("/v1/models")
        if status in (401, 403):
            raise _wants_key(self._host)
        if status == 503:
            raise LocalMistake(
                f"the model server at {self._host} is still loading its model; it is taken when it is ready"
            )
        listed = [entry for entry in _dicts(said.get("data")) if isinstance(entry.get("id"), str)]
        if status != 200 or not isinstance(said.get("data"), list):
            raise LocalMistake(
                f"what answers at {self._host} lists no models as OpenAI's API does (HTTP {status}): correct host in"
                " [model], or start a model server there"
            )
        models = {entry["id"]: entry for entry in listed if writes(entry["id"])}
        picked = self._picked([_candidate(entry, self._speeds) for entry in models.values()])
        entry = models[picked.name]
        tier = tier_of(_candidate(entry, self._speeds).billions)
        context, slots = await self._room(entry)
        return _Model(
            name=picked.name,
            why=picked.why,
            tier=tier,
            context_tokens=context_for(tier, context, self._wanted_context or (None if context else _CONTEXT_TOKENS)),
            slots=self._wanted_slots or slots,
        )

    def _picked(self, models: Sequence[Candidate]) -> Picked:
        names = [each.name for each in models]
        if self._wanted:
            if self._wanted not in names:
                raise _missing(self._host, self._wanted, names)
            return Picked(self._wanted, "as the configuration says")
        if not models:
            raise LocalMistake(f"the model server at {self._host} has no model loaded: load one there")
        if len(models) == 1:
            return Picked(names[0], f"the only one that {self._host} serves")
        try:
            return self._pick(models, is_local(self._host))
        except LocalMistake as mistake:
            raise LocalMistake(f"a model server answers at {self._host}, but {mistake}") from mistake

    async def _room(self, entry: Json) -> tuple[int | None, int]:
        """Tokens of context for one request, None if unknown, and how many requests are served at once."""
        owner = str(entry.get("owned_by", ""))
        if context := _count(entry.get("max_model_len")):  # vLLM
            return context, _SLOTS.get(owner, 1)
        if owner == "llamacpp":
            meta = _dict(entry.get("meta"))
            _, props = await self._get("/props")
            return _count(meta.get("n_ctx")) or _count(meta.get("n_ctx_train")), min(
                _count(props.get("total_slots")) or 1, _SLOTS_MAX
            )
        _, said = await self._get("/api/v0/models")  # LM Studio's own
        shown = next((each for each in _dicts(said.get("data")) if each.get("id") == entry["id"]), {})
        return _count(shown.get("loaded_context_length")) or _count(shown.get("max_context_length")), 1

    async def _get(self, path: str) -> tuple[int, Json]:
        """Status and object that come back; an empty one for whatever is no JSON object."""
        async with self._client.stream("GET", path) as response:
            body = await _limited(response)
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            said = None
        return response.status_code, _dict(said)

    # --- one answer ------------------------------------------------------------------------------------------------

    async def _send(self, model: _Model, prompt: Prompt, seed: int) -> AsyncGenerator[Piece, None]:
        try:
            while True:
                if self._client.is_closed:
                    raise Away("the model was let go of")
                body = self._body(model.name, prompt, seed)
                async with self._client.stream("POST", "/v1/chat/completions", json=body) as response:
                    if response.status_code == 200:
                        async with aclosing(_pieces(response)) as pieces:
                            async for piece in pieces:
                                yield piece
                        return
                    said = (await _limited(response)).decode("utf-8", "replace")
                self._heed(response.status_code, said, body)
        except httpx.HTTPError as error:
            raise Away(f"the model server does not answer: {type(error).__name__}") from error

    def _body(self, model: str, prompt: Prompt, seed: int) -> Json:
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        body: Json = {
            "model": model,
            "messages": [message for message in messages if message["content"]],
            "stream": True,
            "max_tokens": prompt.tokens_max,
            "temperature": prompt.temperature,
            "seed": seed,
            "stream_options": {"include_usage": True},
            "chat_template_kwargs": {"enable_thinking": False},  # of llama-server and vLLM; answers are short
        }
        if prompt.schema is not None:
            form = {"name": "answer", "strict": True, "schema": prompt.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return {key: value for key, value in body.items() if key not in self._refused}

    def _heed(self, status: int, said: str, body: Json) -> None:
        """Take a refusal: returns if another attempt without a courtesy is worth it."""
        words = f"the model server: HTTP {status}: {said[:_SAID_CHARACTERS]}"
        if status in (401, 403):
            raise _wants_key(self._host)
        if status == 404:
            raise _missing(self._host, str(body["model"]), ())
        if status in (429, 503):
            raise Busy(words)
        if status >= 500:
            raise Away(words)
        present = [courtesy for courtesy in _COURTESIES if courtesy in body]
        if status not in (400, 422) or not present or _TOO_LONG.search(said):
            self._refused.clear()  # they were not what it minded
            raise RemoteFault(words)
        named = [courtesy for courtesy in present if courtesy in said or courtesy.split("_")[-1] in said]
        self._refused.add((named or present)[0])


async def _pieces(response: httpx.Response) -> AsyncGenerator[Piece, None]:
    """The pieces of a stream of server-sent events. The end is held back until the stream says that it is done, since
    the count of tokens comes after it."""
    end: Literal["", "stop", "length"] = ""
    tokens = 0
    speed: float | None = None
    async with aclosing(_events(response)) as events:
        async for said in events:
            usage, timings = _dict(said.get("usage")), _dict(said.get("timings"))
            tokens = _count(usage.get("completion_tokens")) or tokens
            if isinstance(measured := timings.get("predicted_per_second"), int | float):  # llama-server's
                speed = measured if 0 < measured < float("inf") else None
            for choice in _dicts(said.get("choices"))[:1]:
                delta = _dict(choice.get("delta"))
                text = delta.get("content")
                thought = delta.get("reasoning_content") or delta.get("reasoning") or ""
                yield Piece(text=text if isinstance(text, str) else "", thought=len(str(thought)))
                if reason := choice.get("finish_reason"):
                    end = "length" if reason == "length" else "stop"
    if end:
        yield Piece(end=end, tokens=tokens, tokens_per_s=speed)


async def _events(response: httpx.Response) -> AsyncGenerator[Json, None]:
    """What the events of a stream carry, until it says that it is done or ends."""
    async with aclosing(_lines(response)) as lines:
        async for line in lines:
            field, _, data = line.partition(":")
            data = data.strip()
            if field not in ("data", "error") or not data:
                continue
            if data == "[DONE]":
                return
            said = _event(data)
            if field == "error" or said.get("error"):
                raise Away(f"the model server broke off: {data[:_SAID_CHARACTERS]}")
            yield said


async def _lines(response: httpx.Response) -> AsyncGenerator[str, None]:
    """Lines of a stream, none of them over the limit."""
    waiting = b""
    async for chunk in response.aiter_bytes():  # closed with the response
        *whole, waiting = (waiting + chunk).split(b"\n")
        if len(waiting) > _LINE_BYTES_MAX:
            raise Unreadable("the model server sent a line without an end")
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip("\r")


def _event(data: str) -> Json:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unreadable("the model server sent something malformed") from error
    if not isinstance(said, dict):
        raise Unreadable("the model server sent something that is no object")
    return said


async def _limited(response: httpx.Response) -> bytes:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _REPLY_BYTES_MAX:
            return b""
    return body


def _candidate(entry: Json, speeds: dict[str, float]) -> Candidate:
    meta = _dict(entry.get("meta"))
    parameters = _count(meta.get("n_params"))
    size = f"{parameters / 1e9:.3f}B" if parameters else None
    return candidate(entry["id"], size, _count(meta.get("size")) or 0, speeds.get(entry["id"]))


def _count(value: object) -> int | None:
    """A whole number above 0, or None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _wants_key(host: str) -> LocalMistake:
    return LocalMistake(
        f"the model server at {host} wants a key: write it into a file and name that as key_file in [model]"
    )


def _missing(host: str, name: str, names: Iterable[str]) -> LocalMistake:
    known = ", ".join(sorted(names)[:8])
    there = f"; it has {known}" if known else ""
    return LocalMistake(f"the model server at {host} has no model {name}: load it there, or correct name{there}")
