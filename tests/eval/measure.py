"""What makes a plan good, as far as it can be counted. Shares are fractions 0..1, None where there is nothing to count.

The text checks and the tiny model's relevance also steer the swarm, so columns that rest on them say how well it does
what it means to do; whether a subgoal makes sense only people can judge.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from swarmd.events.kinds import Subgoal
from swarmd.llm import tiny
from swarmd.llm.embedded import EmbeddedLlm
from swarmd.llm.examples import ENDINGS
from swarmd.plan.report import counting, walk, winner
from swarmd.plan.views import GoalView, TaskView
from swarmd.roles.checks import alike, check_split, is_looping, likeness
from swarmd.roles.language import language, strays
from swarmd.roles.work import Place
from tests.eval.goals import Wish
from tests.eval.pipeline import Meter
from tests.eval.single import Single

_COPY = 0.6  # a part this like an example's is a copy
_TEXT_CHARACTERS_MIN = 60  # of a leaf's text; in dense scripts a third


@dataclass(frozen=True, slots=True)
class Row:
    """*parsed*: answers that could be read at the first try. *valid*: splits of three or more parts that pass the text
    checks. *distinct*: parts unlike every sibling. *on_topic*: parts that the goal makes likelier. *original*: parts
    that copy no example. *executable*: leaves with a whole text that passes the checks. *in_language*: parts and texts
    in the goal's language. *parts*: in the goal's own split."""

    parsed: float | None
    valid: float | None
    distinct: float | None
    on_topic: float | None
    original: float | None
    executable: float | None
    in_language: float | None
    parts: float
    seconds: float


COLUMNS = tuple(field.name for field in fields(Row))


async def of_single(wish: Wish, single: Single, judge: EmbeddedLlm | None) -> Row:
    """How good the model is by itself."""
    place = Place(goal=wish.text, title=wish.text)
    return Row(
        parsed=float(len(single.parts) >= 2),
        valid=float(_is_valid(place, single.parts)),
        distinct=_distinct([single.parts]),
        on_topic=await _on_topic(wish, [(place, single.parts)], judge),
        original=_original(single.parts),
        executable=_share(_is_whole(text) for text in single.texts),
        in_language=_share(_is_in(wish, text) for text in (*single.parts, *single.texts)),
        parts=len(single.parts),
        seconds=single.seconds,
    )


async def of_swarm(wish: Wish, view: GoalView, meter: Meter, judge: EmbeddedLlm | None, seconds: float) -> Row:
    """How good the swarm's plan is."""
    splits = [(place, titles) for place, titles in splits_of(view) if titles]
    leaves = [task for task in walk(view.root) if not task.children]
    texts = [_text(leaf) for leaf in leaves]
    titles = [title for _, parts in splits for title in parts]
    calls = sum(spent.calls for spent in meter.spent.values())
    return Row(
        parsed=sum(spent.first for spent in meter.spent.values()) / calls if calls else None,
        valid=_share(_is_valid(place, parts) for place, parts in splits),
        distinct=_distinct([parts for _, parts in splits]),
        on_topic=await _on_topic(wish, splits, judge),
        original=_original(titles),
        executable=_share(map(_is_whole, texts)),
        in_language=_share(_is_in(wish, text) for text in (*titles, *texts)),
        parts=len(view.root.children),
        seconds=seconds,
    )


def overall(rows: Sequence[Row]) -> Row:
    """The mean of each column, of the rows that have something to count."""
    means: dict[str, float | None] = {}
    for column in COLUMNS:
        known = [value for row in rows if (value := getattr(row, column)) is not None]
        means[column] = sum(known) / len(known) if known else None
    return Row(**means)  # type: ignore[arg-type]


def splits_of(view: GoalView) -> list[tuple[Place, tuple[str, ...]]]:
    """Every accepted split, with the place of its task."""
    found: list[tuple[Place, tuple[str, ...]]] = []

    def visit(task: TaskView, above: tuple[TaskView, ...]) -> None:
        accepted = winner(task)
        if accepted is not None:
            place = Place(goal=view.text, path=tuple(t.title for t in above[1:]), title=task.title)
            found.append((place, tuple(subgoal.title for subgoal in accepted.subgoals)))
        for child in task.children:
            visit(child, (*above, task))

    visit(view.root, ())
    return found


def _is_valid(place: Place, titles: Sequence[str]) -> bool:
    return len(titles) >= 3 and not check_split(place, [Subgoal(title=title or " ") for title in titles]).flagged


def _distinct(splits: Sequence[Sequence[str]]) -> float | None:
    return _share(
        not any(alike(title, other) for at, other in enumerate(titles) if at != index)
        for titles in splits
        for index, title in enumerate(titles)
    )


def _original(titles: Sequence[str]) -> float | None:
    return _share(
        not any(likeness(said, example) >= _COPY for said in (title, tiny.core(title)) for example in ENDINGS)
        for title in titles
    )


async def _on_topic(
    wish: Wish, splits: Sequence[tuple[Place, Sequence[str]]], judge: EmbeddedLlm | None
) -> float | None:
    """By the tiny model's PMI where it reads the language; elsewhere nothing is counted."""
    if judge is None or wish.language != "en":
        return None
    marks: list[bool] = []
    for place, titles in splits:
        if titles:
            marks += [pmi >= tiny.RELEVANT_MIN for pmi in await judge._relevance(tiny.subject(place), titles)]
    return _share(marks)


def _text(task: TaskView) -> str:
    result = counting(task)
    return result.text if result is not None and result.status == "done" else ""


def _is_whole(text: str) -> bool:
    long_enough = len(text) >= (_TEXT_CHARACTERS_MIN if text.isascii() else _TEXT_CHARACTERS_MIN // 3)
    return long_enough and not is_looping(text) and text.rstrip()[-1] in ".!?。！？؟:）)»”\"'"


def _is_in(wish: Wish, text: str) -> bool:
    return language(text) in ("", wish.language) and not strays(text, wish.text)


def _share(values: Iterable[bool]) -> float | None:
    held = list(values)
    return sum(held) / len(held) if held else None
