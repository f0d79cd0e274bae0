"""Scripted models: pure answers to requests, in moods from able to mad. Titles pass the text checks, so marks
decide."""

import random
from dataclasses import dataclass
from math import nan
from typing import Literal

from swarmd.events.kinds import Subgoal, Usage
from swarmd.replica.inputs import Answered, Failed
from swarmd.roles.work import Answer, Compose, Execute, Judge, Judgement, Propose, Request, Split, Text

Mood = Literal["able", "even", "slow", "garbled", "contrary", "fickle", "failing", "silent", "brisk"]
MOODS: tuple[Mood, ...] = ("able", "even", "slow", "garbled", "contrary", "fickle", "failing", "silent")

GIVES_UP_MS = 120_000  # an adapter ends a silent model's request after its own deadline
_WORDS = [
    "alpine", "biscuit", "cathedral", "dolphin", "ebony", "festival", "granite", "harbour", "island", "jasmine",
    "kettle", "lantern", "meadow", "nutmeg", "orchard", "pavilion", "quarry", "rosemary", "saffron", "timber",
    "umbrella", "village", "walnut", "xylophone", "yearbook", "zeppelin",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model does with a request: after *after_ms* this answer or failure; *chunks* of text before it."""

    after_ms: int
    happened: Answered | Failed
    chunks: tuple[str, ...] = ()


def reply(job: int, request: Request, mood: Mood, rng: random.Random) -> Reply:
    """What a model in *mood* makes of *request*."""
    took = rng.randint(100, 2_500)
    if mood == "slow":
        took = rng.randint(3_000, 25_000)
    if mood == "fickle":
        took = rng.randint(500, 9_000)
    if mood == "brisk":
        took = rng.randint(20, 200)
    if mood == "silent":
        return Reply(GIVES_UP_MS, Failed(job, "the model said nothing until its deadline"))
    if mood == "failing" and rng.random() < 0.7:
        return Reply(took, Failed(job, "the model is not there", retry_ms=rng.choice((0, 500, 2_000))))
    if mood == "garbled" and rng.random() < 0.7:
        return Reply(took, Answered(job, _nonsense(request, rng)))
    answer = _answer(request, mood, rng)
    chunks = tuple(answer.text[i : i + 9] for i in range(0, len(answer.text), 9)) if isinstance(answer, Text) else ()
    return Reply(took, Answered(job, answer), chunks[: rng.randint(0, 3)])


def _answer(request: Request, mood: Mood, rng: random.Random) -> Answer:
    match request:
        case Propose():
            if mood == "contrary" and rng.random() < 0.3:
                return Split(subgoals=(), model=mood)
            count = rng.randint(2, max(2, min(4, request.children_max)))
            words = rng.sample(_WORDS, count * 2)
            heeds = mood not in ("contrary", "brisk")  # others say what is no leaf though they were told to
            return Split(
                subgoals=tuple(
                    Subgoal(
                        title=f"{words[2 * i]} {words[2 * i + 1]}".capitalize(),
                        leaf=(request.leaves_only and heeds) or rng.random() < 0.5,
                        after=(i - 1,) if i and rng.random() < 0.2 else (),
                    )
                    for i in range(count)
                ),
                model=mood,
                usage=Usage(tokens=count * 7, ms=100),
            )
        case Judge():
            low, high = {"even": (0.55, 0.65), "contrary": (0.0, 1.0), "fickle": (0.35, 1.0)}.get(mood, (0.5, 1.0))
            marks = [round(rng.uniform(low, high), 3) for _ in range(3)]
            return Judgement(
                specific=marks[0], disjoint=marks[1], covering=marks[2], critique="more detail", model=mood
            )
        case Execute() | Compose():
            return Text(
                text=f"Finished: {request.place.title[:80]} {rng.randrange(1_000)}",
                model=mood,
                usage=Usage(tokens=9, ms=50),
            )
    raise AssertionError(request)


def _nonsense(request: Request, rng: random.Random) -> Answer:
    """An answer of the wrong kind, or of the right kind without sense."""
    kind = rng.randrange(6)
    if kind == 0:
        return Text(text="\x1b[2J\u202e  ", model="\x00" * 300)
    if kind == 1:
        return Judgement(
            specific=nan, disjoint=-1.0, covering=98989.0, critique="\x1b]0;x\x07" + "é" * 5_000, model="mad"
        )
    if kind == 2:
        return Split(subgoals=(Subgoal(title="TODO"), Subgoal(title="...")), model="mad")
    if kind == 3:
        title = request.place.title[:80]
        return Split(subgoals=tuple(Subgoal(title=title, after=(7, 3, 11)) for _ in range(20)), model="mad")
    if kind == 4:
        return Judgement(specific=None, disjoint=None, covering=None, model="mad")
    return Text(text="word " * 40_000 if rng.random() < 0.1 else "", model="mad")
