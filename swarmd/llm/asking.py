"""Asking a model that obeys instructions: one prompt, a few tries, and an answer that is read strictly.

Servers differ in how a prompt is sent and how pieces of an answer come back, and in nothing else. None of them can be
trusted to end what it began, so silence, size and the end of every answer are watched here.
"""

import hashlib
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Literal

import msgspec
import trio

from swarmd.events.kinds import Usage
from swarmd.llm.prompts import Prompt, prompt_for
from swarmd.llm.reading import (
    ANSWER_BYTES_MAX,
    Empty,
    Refused,
    Truncated,
    Unreadable,
    read_marks,
    read_split,
    read_text,
)
from swarmd.ports import SELF_TEST_S_MAX, SELF_TEST_TOKENS
from swarmd.roles.work import Answer, Compose, Execute, Judge, Judgement, Propose, Request, Split, Text
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.text import clean

RETRIES_MAX = 2  # of a request that came to nothing; then another peer is the better try
_EMPTY_RETRIES_MAX = 1  # a model that says nothing twice has nothing to say
BUSY_RETRIES_MAX = 5  # half a minute in all: a queue that is full now moves on
_BACKOFF_FACTOR_MAX = 16
_TOKENS_MAX = 1_000_000  # that a server may say it wrote
_SHOWN_CHARACTERS = 160  # of an answer that could not be read, for whoever wants to know why
_CUT = "\n\n[cut: the model had no room to finish]"


class Deadlines(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. *first_token*: a large model may load for minutes. *next_token*: then it must keep talking. *whole*: of
    an answer; one token a second is slow, and less is no help. *backoff*: before the first retry; it doubles, up to
    sixteen times."""

    first_token: float = 300
    next_token: float = 60
    whole: float = 3_600
    backoff: float = 1


class Busy(RemoteFault):
    """The server has too much to do; later it will answer."""


class Away(RemoteFault):
    """The server does not answer, or fell over."""


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """What a server sent: *text*, characters *thought* aloud, and with the last piece how it came to its *end*, and
    what the server measured."""

    text: str = ""
    thought: int = 0
    end: Literal["", "stop", "length"] = ""
    tokens: int = 0
    tokens_per_s: float | None = None


Send = Callable[[Prompt, int], AsyncGenerator[Piece, None]]
"""Sends a prompt with a seed; what comes back, piece by piece. Raises `Busy`, `Away`, `Unreadable` or another
`RemoteFault`; closing it stops the server."""


class Asker:
    """Asks a server. *who*: the server, in words."""

    def __init__(self, who: str, deadlines: Deadlines) -> None:
        self._who = who
        self._deadlines = deadlines
        self._jitter = random.Random()

    async def ask(
        self, request: Request, model: str, context_tokens: int, send: Send, on_text: Callable[[str], None]
    ) -> Answer:
        """See `ports.Llm.run`. *send*: to *model*, whatever else may be chosen meanwhile."""
        prompt = prompt_for(request, context_tokens)
        streams = isinstance(request, Execute | Compose)
        told = False

        def tell(piece: str) -> None:
            nonlocal told
            told = True
            on_text(piece)

        busy = tries = 0
        while True:
            try:
                raw, usage, is_cut = await self._answer(
                    prompt, busy + tries, send, tell if streams else lambda piece: None
                )
                return self._read(raw, request, clean(model, limits.MODEL_BYTES_MAX), usage, is_cut=is_cut)
            except (Busy, Away, Unreadable) as fault:
                if isinstance(fault, Busy):
                    busy += 1
                else:
                    tries += 1
                most = _EMPTY_RETRIES_MAX if isinstance(fault, Empty) else RETRIES_MAX
                if told or busy > BUSY_RETRIES_MAX or tries > most:  # text that viewers have seen is not written twice
                    raise
                if isinstance(fault, Truncated):
                    more = min(2 * prompt.tokens_max, context_tokens // 2)
                    prompt = msgspec.structs.replace(prompt, tokens_max=more)
                if not isinstance(fault, Unreadable):
                    factor = min(2 ** (busy + tries - 1), _BACKOFF_FACTOR_MAX)
                    await trio.sleep(self._deadlines.backoff * factor * self._jitter.uniform(0.5, 1.5))

    async def measure(self, send: Send) -> float:
        """Tokens a second of a short text. Raises RemoteFault if too little comes to measure anything."""
        user = "Write the numbers from one to one hundred in words, with commas between them."
        prompt = Prompt(system="", user=user, schema=None, tokens_max=SELF_TEST_TOKENS, temperature=0)
        count = 0
        begun = ended = 0.0
        async with aclosing(send(prompt, 0)) as pieces:
            patience = self._deadlines.first_token
            until = trio.current_time() + patience + SELF_TEST_S_MAX
            while (piece := await self._next(pieces, patience)) is not None:
                if piece.tokens_per_s is not None:
                    return piece.tokens_per_s
                ended = trio.current_time()
                if piece.text or piece.thought:
                    count += 1
                if count == 1 and not begun:
                    begun, until, patience = ended, ended + SELF_TEST_S_MAX, self._deadlines.next_token
                if piece.end or ended >= until or count > SELF_TEST_TOKENS:
                    count = max(count, min(piece.tokens, SELF_TEST_TOKENS))  # a piece may hold several tokens
                    break
        if count < 2 or ended <= begun:
            raise RemoteFault(f"{self._who} wrote too little in its self-test to be measured")
        return (count - 1) / (ended - begun)

    async def _answer(
        self, prompt: Prompt, attempt: int, send: Send, on_text: Callable[[str], None]
    ) -> tuple[str, Usage, bool]:
        seed = int.from_bytes(hashlib.sha256(prompt.user.encode() + bytes([attempt])).digest()[:4]) >> 1
        started = trio.current_time()
        texts: list[str] = []
        size = 0
        # a generator that is left without being closed leaves the server generating
        async with aclosing(send(prompt, seed)) as pieces:
            patience = self._deadlines.first_token
            while True:
                piece = await self._next(pieces, patience)
                if piece is None:
                    raise Unreadable(f"{self._who}'s answer ended without being done")
                size += len(piece.text.encode("utf-8", "surrogatepass")) + piece.thought
                if size > ANSWER_BYTES_MAX:
                    raise Unreadable(f"the model's answer ran over {ANSWER_BYTES_MAX} bytes")
                if piece.text:
                    texts.append(piece.text)
                    on_text(piece.text)
                if piece.end:
                    break
                if trio.current_time() - started > self._deadlines.whole:
                    raise RemoteFault(f"{self._who} did not finish within {self._deadlines.whole:g} s")
                patience = self._deadlines.next_token
        if piece.end == "length" and prompt.schema is not None:
            raise Truncated("the model's answer was cut at its limit")
        spent = round((trio.current_time() - started) * 1000)
        usage = Usage(tokens=min(max(0, piece.tokens or len(texts)), _TOKENS_MAX), ms=spent)
        return "".join(texts), usage, piece.end == "length"

    async def _next(self, pieces: AsyncGenerator[Piece, None], patience: float) -> Piece | None:
        try:
            with trio.fail_after(patience):
                return await anext(pieces, None)
        except trio.TooSlowError as error:
            raise RemoteFault(f"{self._who} said nothing for {patience:g} s") from error

    def _read(self, raw: str, request: Request, model: str, usage: Usage, *, is_cut: bool) -> Answer:
        try:
            match request:
                case Propose():
                    return Split(subgoals=read_split(raw, request), model=model, usage=usage)
                case Judge():
                    marks = read_marks(raw)
                    return Judgement(
                        specific=marks.specific,
                        disjoint=marks.disjoint,
                        covering=marks.covering,
                        critique=marks.critique,
                        model=model,
                        usage=usage,
                    )
                case _:
                    return Text(text=read_text(raw) + (_CUT if is_cut else ""), model=model, usage=usage)
        except (Unreadable, Refused) as fault:
            if raw.strip():
                raise type(fault)(f"{fault}; it said {raw[:_SHOWN_CHARACTERS]!a}") from fault
            raise
