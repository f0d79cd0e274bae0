"""Ollama: a model server on this machine or another of the home.

Its client waits for ever and takes a broken stream for an end, so deadlines and the check for `done` are ours. One
context length per model, since another one makes the server load the model again.
"""

import hashlib
import ipaddress
import json
import os
import random
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Literal, cast
from urllib.parse import urlsplit

import httpx
import msgspec
import trio
from ollama import AsyncClient, ChatResponse, ResponseError

from swarmd.events.kinds import Usage
from swarmd.llm.prompts import Prompt, prompt_for
from swarmd.llm.reading import (
    ANSWER_BYTES_MAX,
    Marks,
    Truncated,
    Unreadable,
    is_constant,
    read_marks,
    read_split,
    read_text,
)
from swarmd.roles.work import Answer, Backend, Compose, Execute, Judge, Judgement, Propose, Request, Split, Text
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake, RemoteFault

RETRIES_MAX = 2  # of one request; then another peer is the better try
_PROBE_S = 10
_KEEP_ALIVE = "15m"  # a goal's tasks come minutes apart; loading takes up to a minute on a small machine
_SUGGESTION = "gemma3:1b"
_MEMORY_SHARE = 0.7  # of this machine's memory that a model may take; the rest is context and everything else
_BILLIONS_MAX = 40  # larger ones answer too slowly at home to be chosen unasked
_REMEMBERED = 5  # marks of own judgements, to notice a judge that does not read


class Deadlines(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. *first_token*: a large model may load for minutes. *next_token*: then it must keep talking.
    *backoff*: before the first retry; it doubles."""

    first_token: float = 300
    next_token: float = 60
    backoff: float = 1


class Busy(RemoteFault):
    """The server is busy or its model runner fell over; later it may answer."""


class _Model(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    tier: Literal["tiny", "small", "good"]
    context_tokens: int
    thinks: bool


class OllamaLlm:
    """*host*: as in OLLAMA_HOST. *model*: None takes the largest sensible one that is pulled. *slots*: requests that
    the server is set up to serve at once."""

    def __init__(
        self, host: str, model: str | None = None, *, slots: int = 1, deadlines: Deadlines | None = None
    ) -> None:
        self._host = host
        self._wanted = model
        self._slots = slots
        self._deadlines = deadlines or Deadlines()
        # trust_env: a proxy variable would take even loopback away
        self._client = AsyncClient(host=host, timeout=httpx.Timeout(None, connect=3), trust_env=False)
        self._model: _Model | None = None
        self._jitter = random.Random()
        self._recent: deque[tuple[float | None, float | None, float | None]] = deque(maxlen=_REMEMBERED)

    async def probe(self) -> Backend:
        """See `ports.Llm`. Asks the server for its models; loads none."""
        try:
            with trio.fail_after(_PROBE_S):
                self._model = await self._choose()
        except (httpx.HTTPError, ConnectionError, trio.TooSlowError) as error:
            raise LocalMistake(
                f"no Ollama answers at {self._host}: start it there, or correct host in [model]"
            ) from error
        except (ResponseError, ValueError) as error:
            what = type(error).__name__
            raise LocalMistake(f"what answers at {self._host} is no Ollama that swarmd knows ({what})") from error
        return Backend(
            name="ollama",
            model=self._model.name[: limits.MODEL_BYTES_MAX],
            tier=self._model.tier,
            slots=self._slots,
        )

    async def run(self, request: Request, on_text: Callable[[str], None]) -> Answer:
        """See `ports.Llm`."""
        if self._model is None:
            try:
                await self.probe()
            except LocalMistake as mistake:
                raise RemoteFault(str(mistake)) from mistake
        assert self._model is not None
        model = self._model
        prompt = prompt_for(request, model.context_tokens)
        streams = isinstance(request, Execute | Compose)
        told = 0

        def tell(piece: str) -> None:
            nonlocal told
            told += len(piece)
            on_text(piece)

        for attempt in range(RETRIES_MAX + 1):
            try:
                seed = int.from_bytes(hashlib.sha256(prompt.user.encode() + bytes([attempt])).digest()[:4]) >> 1
                raw, usage = await self._answer(model, prompt, seed, tell if streams else lambda piece: None)
                return self._read(raw, request, usage)
            except (Busy, Unreadable) as fault:
                if attempt == RETRIES_MAX or told:  # text that viewers have seen is not written twice
                    raise
                if isinstance(fault, Truncated):
                    more = min(2 * prompt.tokens_max, model.context_tokens // 2)
                    prompt = msgspec.structs.replace(prompt, tokens_max=more)
                if isinstance(fault, Busy):
                    await trio.sleep(self._deadlines.backoff * 2**attempt * self._jitter.uniform(0.5, 1.5))
        raise AssertionError("unreachable")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()  # type: ignore[no-untyped-call]

    def _read(self, raw: str, request: Request, usage: Usage) -> Answer:
        assert self._model is not None
        name = self._model.name[: limits.MODEL_BYTES_MAX]
        match request:
            case Propose():
                return Split(subgoals=read_split(raw, request), model=name, usage=usage)
            case Judge():
                marks = self._believed(read_marks(raw))
                return Judgement(
                    specific=marks.specific,
                    disjoint=marks.disjoint,
                    covering=marks.covering,
                    critique=marks.critique,
                    model=name,
                    usage=usage,
                )
            case _:
                return Text(text=read_text(raw), model=name, usage=usage)

    def _believed(self, marks: Marks) -> Marks:
        """The marks, or none if this judge gives the same to everything: then the text checks count alone."""
        self._recent.append((marks.specific, marks.disjoint, marks.covering))
        if is_constant(self._recent):
            return Marks(None, None, None, marks.critique)
        return marks

    async def _answer(
        self, model: _Model, prompt: Prompt, seed: int, on_text: Callable[[str], None]
    ) -> tuple[str, Usage]:
        try:
            return await self._streamed(model, prompt, seed, on_text)
        except ResponseError as error:
            if error.status_code == 404:
                raise RemoteFault(f"the model is gone: run `ollama pull {model.name}`") from error
            if error.status_code >= 500:
                raise Busy(f"Ollama: {error.error[:200]}") from error
            raise RemoteFault(f"Ollama: {error.error[:200]}") from error
        except (httpx.HTTPError, ConnectionError) as error:
            raise Busy(f"Ollama does not answer: {type(error).__name__}") from error
        except (json.JSONDecodeError, ValueError, TypeError, AttributeError) as error:
            # the client decodes each line without a check of its own
            raise Unreadable(f"Ollama sent something malformed: {type(error).__name__}") from error

    async def _streamed(
        self, model: _Model, prompt: Prompt, seed: int, on_text: Callable[[str], None]
    ) -> tuple[str, Usage]:
        started = trio.current_time()
        stream = await self._client.chat(
            model=model.name,
            messages=[{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            stream=True,
            think=False if model.thinks else None,
            format=prompt.schema,
            options={
                "num_ctx": model.context_tokens,
                "num_predict": prompt.tokens_max,
                "temperature": prompt.temperature,
                "seed": seed,
            },
            keep_alive=_KEEP_ALIVE,
        )
        pieces: list[str] = []
        size = 0
        # a generator that is left without being closed leaves the server generating
        async with aclosing(cast("AsyncGenerator[ChatResponse, None]", stream)) as chunks:
            patience = self._deadlines.first_token
            while True:
                chunk = await self._next(chunks, patience)
                if chunk is None:
                    raise Unreadable("Ollama's answer ended without being done")
                piece = chunk.message.content or ""
                thought = chunk.message.thinking or ""
                size += len(piece.encode("utf-8", "surrogatepass")) + len(thought)
                if size > ANSWER_BYTES_MAX:
                    raise Unreadable(f"the model's answer ran over {ANSWER_BYTES_MAX} bytes")
                if piece:
                    pieces.append(piece)
                    on_text(piece)
                if chunk.done:
                    break
                patience = self._deadlines.next_token
        if chunk.done_reason == "length" and prompt.schema is not None:
            raise Truncated("the model's answer was cut at its limit")
        spent = round((trio.current_time() - started) * 1000)
        return "".join(pieces), Usage(tokens=max(0, chunk.eval_count or 0), ms=spent)

    async def _next(self, chunks: AsyncIterator[ChatResponse], patience: float) -> ChatResponse | None:
        try:
            with trio.fail_after(patience):
                return await anext(chunks, None)
        except trio.TooSlowError as error:
            raise RemoteFault(f"Ollama said nothing for {patience:g} s") from error

    async def _choose(self) -> _Model:
        pulled = (await self._client.list()).models
        sizes: dict[str, tuple[float, int]] = {}
        for entry in pulled:
            pulled_name = entry.model or ""
            if pulled_name and not _is_no_writer(pulled_name, entry.details.family if entry.details else None):
                billions = _billions(entry.details.parameter_size if entry.details else None)
                sizes[pulled_name] = (billions, int(entry.size or 0))
        name = self._wanted or _largest(sizes, _memory_bytes() if _is_local(self._host) else None)
        if name is None:
            raise LocalMistake(f"Ollama at {self._host} has no usable model: run `ollama pull {_SUGGESTION}` there")
        try:
            shown = await self._client.show(name)
        except ResponseError as error:
            if error.status_code == 404:
                raise LocalMistake(f"Ollama has no model {name}: run `ollama pull {name}`") from error
            raise
        known = sizes.get(name) or sizes.get(f"{name}:latest")
        billions = known[0] if known else _billions(shown.details.parameter_size if shown.details else None)
        tier: Literal["tiny", "small", "good"] = "tiny" if billions < 1.5 else "small" if billions < 6 else "good"
        return _Model(
            name=name,
            tier=tier,
            context_tokens=8_192 if tier == "good" else 4_096,  # a small machine has no memory for more
            thinks="thinking" in (shown.capabilities or ()),
        )


def _largest(sizes: dict[str, tuple[float, int]], memory: int | None) -> str | None:
    fitting = [
        (billions, name)
        for name, (billions, size) in sizes.items()
        if billions <= _BILLIONS_MAX and (memory is None or size <= memory * _MEMORY_SHARE)
    ]
    return max(fitting)[1] if fitting else None


def _is_no_writer(name: str, family: str | None) -> bool:
    # what runs elsewhere ("…-cloud") is not this home's; embedders and image readers write no plans
    return "cloud" in name.rpartition(":")[2] or "embed" in name or "bert" in (family or "")


def _billions(size: str | None) -> float:
    """ "4.3B" and "494.03M" as billions; an unknown size counts as small."""
    factor = {"B": 1.0, "M": 1e-3, "K": 1e-6}.get((size or "")[-1:].upper())
    try:
        return float((size or "")[:-1]) * factor if factor else 3.0
    except ValueError:
        return 3.0


def _is_local(host: str) -> bool:
    name = urlsplit(host if "//" in host else f"//{host}").hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name in ("", "localhost")


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
