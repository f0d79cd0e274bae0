"""How a model of a hundred million parameters is made to plan: it continues patterns, it does not obey instructions.

So a split's prompt is a pattern (`examples`) and is continued one part at a time; each part is the one of a few
candidates that says most about this goal and least about any goal (pointwise mutual information). Measured on labelled
subgoals: telling a goal's parts from another's by it reached an AUC of 0.88, with the first four tokens as with twelve.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

from swarmd.events.kinds import Subgoal
from swarmd.llm.examples import ENDINGS, OPENERS, Shown
from swarmd.roles.checks import asks_nothing, check_split, is_looping, likeness, stems
from swarmd.roles.language import may_be_english
from swarmd.roles.work import Part, Place
from swarmd.vocab import limits
from swarmd.vocab.text import clean, cut

GOAL_BYTES_MAX = 300  # of a goal in a prompt; a longer one drowns the pattern
PARTS = 4  # a fifth costs a quarter more time and is the worst one as a rule
SCORED_TOKENS = 4  # of a part when its relevance is measured; AUC 0.88 with four as with twelve
RELEVANT_MIN = 0.0  # mean log odds under which a part has nothing to do with the goal
LEAF_WORDS = (["minutes", "hours", "days"], ["weeks", "months", "years"])

_FLUENCY = 0.4  # weight of a part's own log probability beside its relevance: relevance alone favours odd words
_RELEVANT_ENOUGH = 2.5  # beyond that a part only says the goal again
_NEW_WORDS_MIN = 2  # of a part: with fewer it says no more than the goal
_COPY = 0.6  # a part this like an example's is a copy
_UNCLEAR = re.compile(r"[<>{}()\[\]|=#*_\\@\"“”!?]|https?:|\bI\b|\bI['’]|\bmy\b|\bagain\b|\betc\b|\b[A-Z]{4,}\b")
_TEXT_CHARACTERS_MIN = 60  # of a leaf's text; less is half a sentence
_NULL_GOAL = "Do something"


def can_read(goal: str) -> bool:
    """Whether this model can do anything with *goal*: it has learnt English only."""
    return may_be_english(goal) and not asks_nothing(goal)


def subject(place: Place) -> str:
    """The task in a line, with the goal that it serves."""
    goal = clean(place.goal, GOAL_BYTES_MAX).rstrip(".!")
    return goal if place.is_root else f"{goal}: {act(clean(place.title, GOAL_BYTES_MAX)).rstrip('.!')}"


def list_prompt(shown: Shown, goal: str, parts: Sequence[str], opener: str) -> str:
    """A prompt whose next line is one more part. Everything up to *goal* is the same for each call of a split."""
    blocks = [_block(shown.ask, known, listed) + "\n\n" for known, listed in shown.examples]
    return "".join(blocks) + _block(shown.ask, goal, (*parts, opener)).rstrip()


def relevance_pairs(goal: str, parts: Sequence[str]) -> list[tuple[str, str]]:
    """Prompts and texts whose log probabilities `relevance` compares: first all with the goal, then all without."""
    return [(f"Goal: {said}\nSteps:\n1.", f" {part}") for said in (goal, _NULL_GOAL) for part in parts]


def relevance(logprobs: Sequence[float]) -> list[float]:
    """PMI per part, nats per token: how much likelier the goal makes it."""
    half = len(logprobs) // 2
    return [with_goal - without for with_goal, without in zip(logprobs[:half], logprobs[half:], strict=True)]


def act(title: str) -> str:
    """A title without the words before its colon or comma ("At home: …", "First, …"), which are no part of the deed."""
    head = re.match(r"[^:,]{1,40}[:,]\s+(?=\S+\s+\S)", title)
    return title[head.end() :] if head and len(head[0].split()) <= 5 else title


def core(title: str) -> str:
    """What a title says of its goal: the deed without an opening that belongs to the pattern."""
    deed = act(title)
    opener = next((known for known in OPENERS if deed == title and title.startswith(f"{known} ")), "")
    return deed.removeprefix(opener).strip()


def worth(pmi: float, logprob: float) -> float:
    """What makes one candidate better than another: relevance up to a point, and fluency."""
    return min(pmi, _RELEVANT_ENOUGH) + _FLUENCY * logprob


def relevance_mark(pmi: float) -> float:
    """A mark 0..1: parts of a goal measured about 1.5, parts of another goal about -0.6."""
    return 1 / (1 + math.exp(-1.6 * (pmi - 0.4)))


def leaf_prompt(title: str) -> str:
    """A prompt whose next word is a span of time."""
    return f"Task: {title}\nTime needed: a few"


def whole_line(text: str) -> str:
    """A candidate as a title: one line without list marks or a full stop."""
    return clean(text, limits.TITLE_BYTES_MAX).strip(" .;,:-")


def is_usable(title: str, opener: str, place: Place, parts: Sequence[str], new_words: int = 1) -> bool:
    """Whether *title*, begun by *opener*, may follow *parts*: sound by the text checks, no copy of an example, nothing
    that only looks like a part. *new_words*: so many that neither the task nor a part has said."""
    ending = title.removeprefix(opener).strip()
    if not 2 <= len(ending.split()) <= 12 or _UNCLEAR.search(title):
        return False
    if set(re.findall(r"\d+", ending)) - set(re.findall(r"\d+", place.goal)):
        return False  # numbers that nobody gave are made up
    if any(likeness(ending, part) >= _COPY for part in (*ENDINGS, *map(core, parts), place.goal, place.title)):
        return False
    own = stems(ending) - stems(place.goal) - stems(place.title)
    if len(own) < _NEW_WORDS_MIN or len(own - {word for part in parts for word in stems(part)}) < new_words:
        return False
    if any(count > 1 for count in Counter(map(_only_stem, re.findall(r"[^\W\d_]{4,}", ending))).values()):
        return False  # "buy a train ticket and a train ticket": it goes in circles
    whole = check_split(place, [Subgoal(title=part) for part in (*parts, title)])
    alone = check_split(place, [Subgoal(title=ending)])
    return not whole.flaws[-1] and not alone.flaws[0]


def _only_stem(word: str) -> str:
    return next(iter(stems(word)), word)


def task_beginning(place: Place) -> str:
    """How the text of a leaf begins; put into the model's mouth, it keeps the rest on the subject."""
    task = act(clean(place.title, GOAL_BYTES_MAX)).rstrip(".!?")
    return f"To {task[:1].lower()}{task[1:]},"


def task_prompt(place: Place, inputs: Sequence[Part]) -> str:
    """A prompt whose continuation goes on after `task_beginning`."""
    known = "".join(f"Known: {first_sentence(part.text, 160)}\n" for part in inputs[:2] if part.status == "done")
    return (
        "<|im_start|>system\nYou give short, practical advice.<|im_end|>\n<|im_start|>user\n"
        f"Goal: {clean(place.goal, GOAL_BYTES_MAX).rstrip('.!')}\n{known}Task: {clean(place.title, GOAL_BYTES_MAX)}\n"
        "Explain in four short sentences how to do this task.<|im_end|>\n<|im_start|>assistant\n"
        f"{task_beginning(place)}"
    ).replace("\x00", "")


def finished(text: str) -> str:
    """*text* up to the end of its last whole sentence, in one paragraph; empty if there is none. The full stop of a
    list's number ends no sentence, so "here is a guide: 1. First" is not one."""
    text = clean(text, limits.RESULT_BYTES_MAX)
    ends = [match.end() for match in re.finditer(r"(?<![\s\d]\d)(?<!\s\d\d)[.!?](?=\s|$)", text)]
    return text[: ends[-1]] if ends else ""


def is_degenerate(text: str) -> bool:
    """Whether a leaf's text is not worth keeping."""
    return len(text) < _TEXT_CHARACTERS_MIN or is_looping(text)


def first_sentence(text: str, bytes_max: int) -> str:
    """The first sentence of *text*, or its beginning."""
    line = clean(text, limits.RESULT_BYTES_MAX)
    end = re.search(r"[.!?。！？](?=\s|$)|[。！？]", line)
    return cut(line[: end.end()] if end else line, bytes_max)


def _block(ask: str, goal: str, parts: Sequence[str]) -> str:
    return f"Goal: {goal}\n{ask}\n" + "\n".join(f"{number}. {part}" for number, part in enumerate(parts, start=1))
