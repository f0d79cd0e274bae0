"""Ollama: a model server on this machine or another of the home.

Its client waits for ever and takes a broken stream for an end, so deadlines and the check for `done` are ours
(`asking`). One context length per model, since another one makes the server load the model again.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import Literal, cast

import httpx
import msgspec
import trio
from ollama import AsyncClient, ChatResponse, ResponseError

from swarmd.llm.address import is_local, remedy
from swarmd.llm.asking import Asker, Away, Busy, Deadlines, Piece
from swarmd.llm.bounded import BoundedTransport
from swarmd.llm.candidates import candidate, context_for, largest, tier_of, writes
from swarmd.llm.prompts import Prompt
from swarmd.llm.reading import Unreadable
from swarmd.ports import Candidate, Pick, Picked
from swarmd.roles.work import Answer, Backend, Request, Tier
from swarmd.vocab.faults import LocalMistake, RemoteFault

_PROBE_S = 10
_CONNECT_S = 3  # a machine of the home answers at once or is off
_KEEP_ALIVE = "15m"  # a goal's tasks come minutes apart; loading takes up to a minute on a small machine
_SAID_CHARACTERS = 200  # of a server's own words for what is wrong


class NotOllama(LocalMistake):
    """Somebody answers at the address, and it is no Ollama."""


class _Model(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    why: str
    tier: Tier
    context_tokens: int
    thinks: bool


class OllamaLlm:
    """*host*: as in OLLAMA_HOST. *model*: None for what *pick* chooses among those that are pulled. *slots*: requests
    that the server is set up to serve at once (OLLAMA_NUM_PARALLEL). *context_tokens*: None for what suits the
    model."""

    def __init__(
        self,
        host: str,
        model: str | None = None,
        *,
        slots: int = 1,
        context_tokens: int | None = None,
        pick: Pick = largest,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._host = host
        self._wanted = model
        self._slots = slots
        self._wanted_context = context_tokens
        self._pick = pick
        self._client = AsyncClient(
            host=host,
            timeout=httpx.Timeout(None, connect=_CONNECT_S),
            trust_env=False,
            transport=BoundedTransport(),
        )
        self._closed = False
        self._model: _Model | None = None
        self._speeds: dict[str, float] = {}
        self._gpu: dict[str, float] = {}
        self._asker = Asker("Ollama", deadlines or Deadlines())

    async def probe(self) -> Backend:
        """See `ports.Llm`. Asks the server for its models; loads none."""
        try:
            with trio.fail_after(_PROBE_S):
                self._model = await self._choose()
        except (httpx.HTTPError, ConnectionError, trio.TooSlowError) as error:
            raise LocalMistake(f"no Ollama answers at {self._host}: {remedy(self._host)}") from error
        except (ResponseError, ValueError, RecursionError) as error:
            what = type(error).__name__
            raise NotOllama(f"what answers at {self._host} is no Ollama that swarmd knows ({what})") from error
        return Backend(
            name="ollama",
            model=self._model.name,
            tier=self._model.tier,
            why=self._model.why,
            slots=self._slots,
            context_tokens=self._model.context_tokens,
            schema=True,
            local=is_local(self._host),
            tokens_per_s=self._speeds.get(self._model.name),
            gpu=self._gpu.get(self._model.name),
        )

    async def measure(self) -> None:
        """See `ports.Llm`."""
        model = await self._known()
        self._speeds[model.name] = await self._asker.measure(partial(self._send, model))
        try:
            with trio.fail_after(_PROBE_S):
                loaded = (await self._client.ps()).models
        except (httpx.HTTPError, ConnectionError, ResponseError, ValueError, RecursionError, trio.TooSlowError):
            return  # where it runs is good to know, and no more
        for each in loaded:
            if each.model == model.name and each.size:
                self._gpu[model.name] = min(1.0, max(0, each.size_vram or 0) / each.size)

    async def run(self, request: Request, on_text: Callable[[str], None]) -> Answer:
        """See `ports.Llm`."""
        model = await self._known()
        send = partial(self._send, model)
        return await self._asker.ask(request, model.name, model.context_tokens, send, on_text)

    async def close(self) -> None:
        """Close the connections."""
        self._closed = True
        await self._client.close()  # type: ignore[no-untyped-call]

    async def _known(self) -> _Model:
        if self._model is None:
            await self.probe()
        assert self._model is not None
        return self._model

    async def _send(self, model: _Model, prompt: Prompt, seed: int) -> AsyncGenerator[Piece, None]:
        if self._closed:
            raise Away("the model was let go of")
        try:
            async with aclosing(await self._stream(model, prompt, seed)) as chunks:
                async for chunk in chunks:
                    yield _piece(chunk)
        except ResponseError as error:
            raise _fault(error, model.name) from error
        except (httpx.HTTPError, ConnectionError) as error:
            raise Away(f"Ollama does not answer: {type(error).__name__}") from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            # the client decodes each line without a check of its own
            raise Unreadable(f"Ollama sent something malformed: {type(error).__name__}") from error

    async def _stream(self, model: _Model, prompt: Prompt, seed: int) -> AsyncGenerator[ChatResponse, None]:
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        stream = await self._client.chat(
            model=model.name,
            messages=[message for message in messages if message["content"]],
            stream=True,
            think=_thinking(model),
            format=prompt.schema,
            options={
                "num_ctx": model.context_tokens,
                "num_predict": prompt.tokens_max,
                "temperature": prompt.temperature,
                "seed": seed,
            },
            keep_alive=_KEEP_ALIVE,
        )
        return cast("AsyncGenerator[ChatResponse, None]", stream)

    async def _choose(self) -> _Model:
        pulled = {each.name: each for each in await self._pulled()}
        if self._wanted:
            picked = Picked(self._wanted, "as the configuration says")
        else:
            try:
                picked = self._pick(list(pulled.values()), is_local(self._host))
            except LocalMistake as mistake:
                raise LocalMistake(f"Ollama answers at {self._host}, but {mistake}") from mistake
        name = picked.name
        try:
            shown = await self._client.show(name)
        except ResponseError as error:
            if error.status_code == 404:
                raise _missing(name) from error
            raise
        known = pulled.get(name) or pulled.get(f"{name}:latest")
        billions = (known or candidate(name, shown.details.parameter_size if shown.details else None)).billions
        tier = tier_of(billions)
        return _Model(
            name=name,
            why=picked.why,
            tier=tier,
            context_tokens=context_for(tier, _own_context(shown.modelinfo), self._wanted_context),
            thinks="thinking" in (shown.capabilities or ()),
        )

    async def _pulled(self) -> list[Candidate]:
        models = (await self._client.list()).models
        return [
            candidate(
                each.model,
                each.details.parameter_size if each.details else None,
                int(each.size or 0),
                self._speeds.get(each.model),
            )
            for each in models
            if each.model and writes(each.model, each.details.family if each.details else None)
        ]


def _thinking(model: _Model) -> Literal["low"] | bool | None:
    """What to ask of a model that can think aloud: not to, since its answers are short; gpt-oss knows degrees only."""
    if not model.thinks:
        return None
    return "low" if "gpt-oss" in model.name else False


def _piece(chunk: ChatResponse) -> Piece:
    end: Literal["", "stop", "length"] = ""
    if chunk.done:
        end = "length" if chunk.done_reason == "length" else "stop"
    tokens, spent_ns = max(0, chunk.eval_count or 0), chunk.eval_duration or 0
    return Piece(
        text=chunk.message.content or "",
        thought=len(chunk.message.thinking or ""),
        end=end,
        tokens=tokens,
        tokens_per_s=tokens * 1e9 / spent_ns if end and tokens > 1 and spent_ns > 0 else None,
    )


def _fault(error: ResponseError, model: str) -> RemoteFault | LocalMistake:
    if error.status_code == 404:
        return _missing(model)
    said = f"Ollama: {error.error[:_SAID_CHARACTERS]}"
    if error.status_code == 503:
        return Busy(said)
    # 5xx: its runner fell over; -1: it said so in the middle of an answer
    return Away(said) if error.status_code >= 500 or error.status_code < 0 else RemoteFault(said)


def _missing(model: str) -> LocalMistake:
    return LocalMistake(f"Ollama has no model {model}: run `ollama pull {model}`")


def _own_context(info: object) -> int | None:
    """The longest context that the model was trained for, from what its file says ("qwen3.context_length")."""
    facts = info if isinstance(info, dict) else {}
    lengths = (value for key, value in facts.items() if key.endswith(".context_length"))
    return next((value for value in lengths if isinstance(value, int) and value > 0), None)
