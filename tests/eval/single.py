"""The same model by itself: the goal in one prompt, what comes is the plan, and each part is written once."""

import re
import time
from dataclasses import dataclass

from swarmd.llm import examples, tiny
from swarmd.llm.embedded import EmbeddedLlm
from swarmd.ports import Llm
from swarmd.roles.strategies import STRATEGIES
from swarmd.roles.work import Execute, Place, Propose, Split, Text
from swarmd.vocab.faults import RemoteFault
from tests.eval.goals import Wish

_ITEM = re.compile(r"^\s*\d+[.)]\s*(\S.*)$")
_PARTS_MAX = 7


@dataclass(frozen=True, slots=True)
class Single:
    """*parts*: titles. *texts*: one a part, empty where the model gave none."""

    parts: tuple[str, ...]
    texts: tuple[str, ...]
    seconds: float


async def one_shot(wish: Wish, llm: Llm, seed: int) -> Single:
    """A plan without the swarm."""
    began = time.perf_counter()
    place = Place(goal=wish.text, title=wish.text)
    if isinstance(llm, EmbeddedLlm):
        parts = await _listed(llm, place, seed)
    else:
        parts = await _split(llm, place)
    texts = [await _written(llm, Place(goal=wish.text, title=part), seed) for part in parts]
    return Single(tuple(parts), tuple(texts), time.perf_counter() - began)


async def _listed(llm: EmbeddedLlm, place: Place, seed: int) -> list[str]:
    """The tiny model's best single prompt: two examples, and it goes on with the list as it likes."""
    prompt = tiny.list_prompt(examples.shown(STRATEGIES[0], place), tiny.subject(place), [], "").rstrip()
    text = await _write(llm, prompt, tokens_max=120, stop=["\n\n", "Goal:"], seed=seed)
    items = [match[1].strip() for line in f"1.{text}".split("\n") if (match := _ITEM.match(line))]
    return items[:_PARTS_MAX]


async def _split(llm: Llm, place: Place) -> list[str]:
    request = Propose(place=place, strategy=STRATEGIES[0], children_max=_PARTS_MAX, leaves_only=True)
    try:
        answer = await llm.run(request, lambda piece: None)
    except RemoteFault:
        return []
    return [subgoal.title for subgoal in answer.subgoals] if isinstance(answer, Split) else []


async def _written(llm: Llm, place: Place, seed: int) -> str:
    if isinstance(llm, EmbeddedLlm):
        prompt = tiny.task_prompt(place, ())
        return tiny.task_beginning(place) + await _write(llm, prompt, tokens_max=90, stop=[], seed=seed)
    try:
        answer = await llm.run(Execute(place=place), lambda piece: None)
    except RemoteFault:
        return ""
    return answer.text if isinstance(answer, Text) else ""


async def _write(llm: EmbeddedLlm, prompt: str, *, tokens_max: int, stop: list[str], seed: int) -> str:
    pieces: list[str] = []
    job = {
        "op": "write",
        "prompt": prompt,
        "tokens_max": tokens_max,
        "temperature": 0.7,
        "repeat_penalty": 1.15,
        "stop": stop,
        "seed": seed,
    }
    try:
        await llm._link.ask(job, pieces.append)
    except RemoteFault:
        return ""
    return "".join(pieces)
