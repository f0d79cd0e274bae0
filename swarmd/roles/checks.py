"""What arithmetic can see in a split is not left to a model: repeats, placeholders, loops and emptiness.

Pure functions of text in any script. Likeness is the higher of Jaccard similarity over word stems and Dice similarity
over character trigrams (Jaccard 1901, Dice 1945); on labelled pairs of subgoals neither alone did as well.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import isfinite
from typing import Literal, TypeAlias

from msgspec import Struct

from swarmd.events.kinds import Subgoal
from swarmd.roles.language import NAMES, language, strays
from swarmd.roles.work import Judgement, Place
from swarmd.vocab import limits
from swarmd.vocab.text import clean, cut

Flaw: TypeAlias = Literal[
    "empty",
    "short",
    "placeholder",
    "looping",
    "another language",
    "repeats the task",
    "repeats the plan",
    "repeats a part",
]

_ALIKE = 0.72  # from here two titles say nearly the same
_ALIKE_TASK = 0.8  # a part shares its task's subject, so it must come closer to count as a repeat
_ALIKE_WORDS = 0.5  # differing words less alike than this make two otherwise equal titles speak of two things
_SAY = {"tiny": 0.4, "small": 0.5, "good": 0.65}  # a model's share in a mark beside the text's, by its class
_TEXTS_KEPT = 256  # a split is compared part by part, so each of its few texts is taken apart again and again
_SPOKEN_MAX = 6  # critique lines in a finding; a reader polishes no more at once

_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be by can do each every for from get in into is it its make of on or our out set that"
        " the their this to up we will with you your",
    )
) | frozenset("のをにはがとでへもや")
_PARTICLES = "的了之"  # Chinese writes them between words without a space
_PLACEHOLDER = re.compile(
    r"\[[^\]]*\]|<[^>]*>|\{[^}]*\}|\b(?:tbd|tba|todo|lorem ipsum|n/a|x{3,})\b"
    r"|^\W*(?:sub-?goal|sub-?task|task|step|part|item|phase)\s*#?\d*\W*$|^\W*(?:\.{3}|…)\W*$",
    re.IGNORECASE,
)
_IDLE = frozenset({"do nothing", "nothing", "nichts tun", "нічого не робити", "không làm gì", "何もしない", "لا شيء"})
_STUTTER = re.compile(r"(.)\1{6,}|(.{2,24}?)\2{3,}", re.DOTALL)
_TASHKIL = dict.fromkeys([0x0640, *range(0x064B, 0x0653)])  # Arabic vowel signs and stretching, which writers leave out


class Findings(Struct, frozen=True, kw_only=True):
    """What the checks say of a split. *flaws*: per subgoal. *lines*: the same for people. Marks are fractions 0..1;
    *covering* only knows how many sound parts there are, since no arithmetic sees what is missing."""

    flaws: tuple[tuple[Flaw, ...], ...]
    lines: tuple[str, ...]
    specific: float
    disjoint: float
    covering: float

    @property
    def flagged(self) -> tuple[int, ...]:
        """Indices of the subgoals with a flaw."""
        return tuple(index for index, flaws in enumerate(self.flaws) if flaws)


def check_split(place: Place, subgoals: Sequence[Subgoal]) -> Findings:
    """Check a split of the task at *place*. Reads at most `CHILDREN_MAX` subgoals."""
    subgoals = subgoals[: limits.CHILDREN_MAX]
    titles = [subgoal.title for subgoal in subgoals]
    flaws: list[tuple[Flaw, ...]] = []
    lines: list[str] = []
    wanted = NAMES.get(language(place.goal), "the goal's language")
    for index, subgoal in enumerate(subgoals):
        own = list(_own_flaws(subgoal))
        if not own and strays(subgoal.title, place.goal):
            own.append("another language")
        elif not own and repeats_task(subgoal.title, place):
            own.append("repeats the task")
        elif not own and any(alike(subgoal.title, title) for title in (*place.siblings, *place.around)):
            own.append("repeats the plan")
        number = index + 1
        lines += [_SAID[flaw].format(number, wanted) for flaw in own]
        twin = next((j for j in range(index) if "empty" not in flaws[j] and alike(titles[j], subgoal.title)), None)
        if twin is not None and "empty" not in own:
            own.append("repeats a part")
            lines.append(f"parts {twin + 1} and {number} say nearly the same")
        flaws.append(tuple(own))
    sound = [title for title, flaw in zip(titles, flaws, strict=True) if not flaw]
    if len(sound) == 1:
        lines.append("a single part is no split")
    # a title may be too short to tell its language; all of them together do
    foreign = strays(". ".join(titles), place.goal)
    if foreign:
        lines.insert(0, f"the parts are not in {wanted}")
    return Findings(
        flaws=tuple(flaws),
        lines=tuple(lines[:_SPOKEN_MAX]),
        specific=0.0 if foreign else _specific(place, titles, flaws),
        disjoint=_disjoint(titles),
        covering=0.0 if foreign else _covering(len(sound)),
    )


def join_marks(judgement: Judgement | None, findings: Findings, tier: str) -> tuple[float, float, float]:
    """Marks 0..1 for specific, disjoint and covering: of text and model, where the model, of class *tier*, has a usable
    mark. The better its class, the more it has to say.

    A flaw that the text shows is not outvoted: then the text's mark is the ceiling.
    """
    text = (findings.specific, findings.disjoint, findings.covering)
    if judgement is None:
        return text
    model = (judgement.specific, judgement.disjoint, judgement.covering)
    say = _SAY.get(tier, _SAY["tiny"])
    specific, disjoint, covering = (
        _joined(said, seen, say, flawed=bool(findings.flagged)) for said, seen in zip(model, text, strict=True)
    )
    return specific, disjoint, covering


def is_mark(said: float | None) -> bool:
    """Whether a model's mark is one: what is out of 0..1 is void, not corrected."""
    return said is not None and isfinite(said) and 0 <= said <= 1


def critique(judgement: Judgement | None, findings: Findings) -> str:
    """What to do better, in one line: failed checks first, then the model's word. Empty if there is nothing to say."""
    said = clean(judgement.critique, limits.CRITIQUE_BYTES_MAX) if judgement else ""
    return cut("; ".join([*findings.lines, *([said] if said else [])]), limits.CRITIQUE_BYTES_MAX).rstrip()


def tidy(subgoals: Sequence[Subgoal], place: Place, children_max: int) -> tuple[Subgoal, ...]:
    """Whatever a model said, as subgoals that a `Proposal` may hold: clean and bounded text, without the flawed ones,
    at most *children_max*, each *after* only earlier ones that are still there."""
    cleaned = [
        Subgoal(
            title=clean(subgoal.title, limits.TITLE_BYTES_MAX),
            detail=clean(subgoal.detail, limits.DETAIL_BYTES_MAX, lines=True),
            leaf=subgoal.leaf,
            after=subgoal.after,
        )
        for subgoal in subgoals[: limits.CHILDREN_MAX]
    ]
    findings = check_split(place, cleaned)
    kept = [index for index, flaws in enumerate(findings.flaws) if not flaws]
    kept = kept[: max(0, min(children_max, limits.CHILDREN_MAX))]
    place_of = {old: new for new, old in enumerate(kept)}
    return tuple(
        Subgoal(
            title=cleaned[old].title,
            detail=cleaned[old].detail,
            leaf=cleaned[old].leaf,
            after=tuple(sorted({place_of[a] for a in cleaned[old].after if a in place_of and a < old})),
        )
        for old in kept
    )


def alike(one: str, other: str) -> bool:
    """Whether two titles say nearly the same."""
    return likeness(one, other) >= _ALIKE


def likeness(one: str, other: str) -> float:
    """0..1. Titles that differ in a word on either side ("Book a hotel in Tokyo", "… in Kyoto") count by words alone,
    since their letters are nearly equal although they speak of two things."""
    words, others = stems(one), stems(other)
    jaccard = len(words & others) / len(words | others) if words | others else float(one.strip() == other.strip())
    ours, theirs = words - others, others - words
    if ours and theirs and _dice(" ".join(sorted(ours)), " ".join(sorted(theirs))) < _ALIKE_WORDS:
        return jaccard
    return max(jaccard, _dice(one, other))


def repeats_task(title: str, place: Place) -> bool:
    """Whether *title* says again what the task, the goal or a task between them says."""
    words = stems(title)
    for said in {place.goal, place.title, *place.path}:
        theirs = stems(said)
        says_no_more = len(words) >= 2 and words <= theirs and len(words) >= 0.7 * len(theirs)
        if says_no_more or likeness(title, said) >= _ALIKE_TASK:
            return True
    return False


def asks_nothing(goal: str) -> bool:
    """Whether a goal holds no word, or says that nothing is to be done."""
    return not _words(goal) or goal.strip(" .!").casefold() in _IDLE


def is_looping(text: str) -> bool:
    """Whether *text* repeats itself as a model does that has lost the thread."""
    if _STUTTER.search(text):
        return True
    words = _words(text)
    if 4 <= len(words) <= 30 and len(set(words)) < 0.6 * len(words):
        return True
    triples = Counter(zip(words, words[1:], words[2:], strict=False))
    return bool(triples) and triples.most_common(1)[0][1] >= max(3, len(words) // 12)


@lru_cache(_TEXTS_KEPT)
def stems(text: str) -> frozenset[str]:
    """The words of *text* that carry meaning, without their endings."""
    words = [_stem(word) for word in _words(text)]
    return frozenset(word for word in words if word not in _STOP_WORDS) or frozenset(words)


_SAID: dict[Flaw, str] = {
    "empty": "part {} says nothing",
    "short": "part {} is too short to act on",
    "placeholder": "part {} is a placeholder",
    "looping": "part {} repeats itself",
    "another language": "part {} is not in {}",
    "repeats the task": "part {} only says the task again",
    "repeats the plan": "part {} is done elsewhere in the plan",
}


def _own_flaws(subgoal: Subgoal) -> Iterable[Flaw]:
    title = subgoal.title
    words = _words(title)
    letters = sum(map(len, words))
    if not letters:
        yield "empty"
    elif _PLACEHOLDER.search(title):
        yield "placeholder"
    elif letters < (2 if any(map(_is_dense, title)) else 4) or (len(words) == 1 and letters < 8 and title.isascii()):
        yield "short"
    elif is_looping(title) or is_looping(subgoal.detail):
        yield "looping"


def _specific(place: Place, titles: Sequence[str], flaws: Sequence[tuple[Flaw, ...]]) -> float:
    known = stems(place.title)
    marks = []
    for title, flaw in zip(titles, flaws, strict=True):
        if set(flaw) - {"repeats a part"}:
            marks.append(0.0)
            continue
        new = len(stems(title) - known)  # words that the task did not say
        marks.append(0.5 + 0.1 * min(new, 4))
    return sum(marks) / len(marks) if marks else 0.0


def _disjoint(titles: Sequence[str]) -> float:
    if not titles:
        return 0.0
    nearest = [
        max((likeness(title, other) for j, other in enumerate(titles) if j != i), default=0.0)
        for i, title in enumerate(titles)
    ]
    # a shared subject alone gives a likeness of about 0.3
    return sum(1 - min(1.0, max(0.0, near - 0.3) / (_ALIKE - 0.3)) for near in nearest) / len(nearest)


def _covering(sound: int) -> float:
    return (0.0, 0.2, 0.5, 0.7, 0.8, 0.8, 0.8, 0.8)[sound] if sound < 8 else 0.7


def _joined(said: float | None, seen: float, say: float, *, flawed: bool) -> float:
    if said is None or not is_mark(said):
        return seen
    mean = say * said + (1 - say) * seen
    return min(mean, seen) if flawed else mean


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().translate(_TASHKIL)


@lru_cache(_TEXTS_KEPT)
def _words(text: str) -> tuple[str, ...]:
    """Runs of letters, marks and digits. Scripts written without spaces are cut where the script changes, and a long
    run of Han or Thai into overlapping pairs, which serve as words."""
    words: list[str] = []
    spaced = "".join(c if unicodedata.category(c)[0] in "LNM" and c not in _PARTICLES else " " for c in _folded(text))
    for run in spaced.split():
        start = 0
        for index, (before, after) in enumerate(pairwise(run), start=1):
            if _dense_script(before) != _dense_script(after):
                words += _pieces(run[start:index])
                start = index
        words += _pieces(run[start:])
    return tuple(words)


def _pieces(run: str) -> list[str]:
    if len(run) <= 2 or _dense_script(run[0]) not in ("han", "thai"):
        return [run]
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _dense_script(character: str) -> str:
    code = ord(character)
    if 0x3040 <= code <= 0x309F:
        return "hiragana"
    if 0x30A0 <= code <= 0x30FF:
        return "katakana"
    if 0x3400 <= code <= 0x9FFF or 0x20000 <= code <= 0x3FFFF:
        return "han"
    if 0x0E00 <= code <= 0x0EFF or 0x1000 <= code <= 0x109F or 0x1780 <= code <= 0x17FF:
        return "thai"  # and Lao, Burmese, Khmer: the same habit
    return ""


def _is_dense(character: str) -> bool:
    return bool(_dense_script(character))


def _stem(word: str) -> str:
    if word.isascii():
        for ending in ("ings", "ing", "ies", "es", "ed", "s"):
            if len(word) > len(ending) + 3 and word.endswith(ending):
                return word[: -len(ending)]
        return word
    # inflected alphabets (Ukrainian, Greek, Turkish …): the last two letters of a long word are mostly its ending
    return word[:-2] if len(word) > 5 and not _is_dense(word[0]) else word


@lru_cache(_TEXTS_KEPT)
def _trigrams(text: str) -> frozenset[str]:
    padded = f" {' '.join(_words(text)) if text.isascii() else ' '.join(_folded(text).split())} "
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def _dice(one: str, other: str) -> float:
    ones, others = _trigrams(one), _trigrams(other)
    return 2 * len(ones & others) / (len(ones) + len(others)) if ones and others else 0.0
