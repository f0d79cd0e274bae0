"""Reading a model's answer. What it said is taken as said or not at all: nothing is guessed into it.

Closed think blocks and fences are stripped, then the first JSON object is decoded strictly. One repair pass mends
trailing commas, doubled braces and Python literals, since models write these out of habit; a truncated answer is never
repaired, because the repair would invent the missing half.
"""

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from swarmd.events.kinds import Subgoal
from swarmd.roles.checks import check_split, tidy
from swarmd.roles.language import strays
from swarmd.roles.work import Place, Propose
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.text import clean

ANSWER_BYTES_MAX = 64 * 1024  # ten times the longest sensible split; decoding stays cheap and shallow
_ITEMS_MAX = 20  # more is a list that ran away
_ITEMS_KEPT = 7
_DEPTH_MAX = 8  # of brackets; a split needs four

_THINK = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_THINK_OPEN = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"^\s*```[a-zA-Z0-9]*[ \t]*\n?|\n?\s*```\s*$")
_STRING_OR = r'("(?:[^"\\]|\\.)*")|'
_TRAILING_COMMA = re.compile(_STRING_OR + r",(?=\s*[}\]])")
_LITERAL = re.compile(_STRING_OR + r"\b(None|True|False)\b")
_LITERALS = {"None": "null", "True": "true", "False": "false"}


class Unreadable(RemoteFault):
    """The answer is no answer; asking again may help."""


class Truncated(Unreadable):
    """The answer stops in the middle; asking again with more room may help."""


class Empty(Unreadable):
    """There is no answer at all."""


class Refused(RemoteFault):
    """The answer is readable and of no use; asking again would get the same."""


class _Item(msgspec.Struct):
    title: str
    detail: str = ""
    leaf: bool = False
    after: list[int] = msgspec.field(default_factory=list)


class _Parts(msgspec.Struct):
    subgoals: list[_Item]


class Marks(msgspec.Struct, frozen=True):
    """A model's marks, None where it gave something that is no mark."""

    specific: float | None
    disjoint: float | None
    covering: float | None
    critique: str


def read_split(raw: str, request: Propose) -> tuple[Subgoal, ...]:
    """The subgoals that *raw* states, tidied. Empty if the model says that the task is best done whole.

    Raises Unreadable (or Truncated) if asking again may help, Refused if nothing usable is left of a readable answer.
    """
    items = _convert(read_object(raw), _Parts).subgoals
    if not items:
        return ()
    subgoals = [
        Subgoal(
            title=clean(item.title, limits.TITLE_BYTES_MAX) or "…",  # an empty title is a flaw, which `tidy` removes
            detail=clean(item.detail, limits.DETAIL_BYTES_MAX, lines=True),
            leaf=item.leaf or request.leaves_only,
            # asked for as the numbers people see, from 1
            after=tuple(n - 1 for n in item.after[: limits.CHILDREN_MAX] if 1 <= n <= limits.CHILDREN_MAX),
        )
        for item in items[: 4 * _ITEMS_MAX]
    ]
    if strays(". ".join(subgoal.title for subgoal in subgoals), request.place.goal):
        raise Unreadable("the model answered in another language than the goal's")
    children_max = request.children_max
    if len(items) > _ITEMS_MAX:
        subgoals = _best(subgoals, request.place)
        children_max = min(children_max, _ITEMS_KEPT)
    tidied = tidy(subgoals, request.place, children_max)
    if len(tidied) < min(2, request.children_max):
        raise Refused("the model's parts only repeat the task or each other")
    return tidied


def read_marks(raw: str) -> Marks:
    """The marks that *raw* states. A mark out of 0..1, NaN or a fraction such as "7/10" is void, not guessed.

    Raises Unreadable if there is no such object, or no mark of it is valid.
    """
    found = read_object(raw)
    specific, disjoint, covering = (_mark(found.get(name)) for name in ("specific", "disjoint", "covering"))
    if specific is disjoint is covering is None:
        raise Unreadable("the model gave no valid mark")
    said = found.get("critique", "")
    critique = clean(said, limits.CRITIQUE_BYTES_MAX) if isinstance(said, str) else ""
    return Marks(specific, disjoint, covering, critique)


def read_text(raw: str) -> str:
    """A finished text, without think blocks and fences, cut to what a result may hold.

    Raises Unreadable if nothing is left.
    """
    text = clean(_FENCE.sub("", _thought_out(raw)), limits.RESULT_BYTES_MAX, lines=True)
    if not text:
        raise Empty("the model wrote nothing")
    return text


def read_object(raw: str) -> dict[str, Any]:
    """The first JSON object in *raw*. Raises Unreadable, or Truncated if the object does not end."""
    if len(raw.encode("utf-8", "surrogatepass")) > ANSWER_BYTES_MAX:
        raise Unreadable(f"the model's answer is over {ANSWER_BYTES_MAX} bytes")
    text = _FENCE.sub("", _thought_out(raw)).strip()
    if not text:
        raise Empty("the model answered nothing")
    start = text.find("{")
    if start < 0:
        raise Unreadable("the model answered without JSON")
    body, depth_max = _balanced(text[start:])
    if depth_max > _DEPTH_MAX:
        raise Unreadable("the model's answer is nested too deeply")
    if body is None:
        raise Truncated("the model's answer stops in the middle")
    try:
        return _decode(body)
    except ValueError:
        pass
    try:
        return _decode(_repaired(body))
    except ValueError as error:
        raise Unreadable(f"the model's answer is no JSON: {error}") from error


def _thought_out(raw: str) -> str:
    text = _THINK.sub("", raw)
    if _THINK_OPEN.search(text):
        raise Unreadable("the model did not finish thinking")
    # some templates open the block themselves, so that only its end is seen
    return re.split(r"</think(?:ing)?>", text, flags=re.IGNORECASE)[-1].strip()


def _balanced(text: str) -> tuple[str | None, int]:
    """The object at the beginning of *text*, or None if it does not end, and how deep brackets went."""
    depth = deepest = 0
    in_string = escaped = False
    for at, character in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "}]":
            depth -= 1
            if depth == 0:
                return text[: at + 1], deepest
    return None, deepest


def _decode(body: str) -> dict[str, Any]:
    found = json.loads(body, object_pairs_hook=_unique, parse_constant=_no_constant)
    if not isinstance(found, dict):
        raise ValueError("no object")
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair stands alone") from None
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _no_constant(name: str) -> float:
    return math.nan  # NaN and Infinity: no mark is read from it, and the rest of the answer stands


def _repaired(body: str) -> str:
    if body.startswith("{{") and body.endswith("}}"):
        body = body[1:-1]
    body = _TRAILING_COMMA.sub(lambda match: match[1] or "", body)
    return _LITERAL.sub(lambda match: match[1] or _LITERALS[match[2]], body)


def _convert(found: dict[str, Any], kind: type[_Parts]) -> _Parts:
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        raise Unreadable(f"the model's answer has another form: {error}") from error


def _mark(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        return None
    return float(value)


def _best(subgoals: Sequence[Subgoal], place: Place) -> list[Subgoal]:
    """The first seven without a flaw: a model says what matters first."""
    kept: list[Subgoal] = []
    for subgoal in subgoals:
        if not check_split(place, [*kept, subgoal]).flaws[-1]:
            kept.append(msgspec.structs.replace(subgoal, after=()))
        if len(kept) == _ITEMS_KEPT:
            break
    return kept
