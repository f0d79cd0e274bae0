"""What the tiny model imitates: goals with their parts. A copy of one of these is no answer.

The *openers* begin the parts, in the examples and in the answer: the structure is ours, the content the model's. Here
are general examples for every strategy, and the choice among them and those of `domains`.
"""

from collections.abc import Iterable

from msgspec import Struct

from swarmd.llm.domains import DOMAINS, INNER, INNER_GOALS, Domain
from swarmd.roles.checks import stems
from swarmd.roles.work import Place
from swarmd.vocab.text import clean


class Pattern(Struct, frozen=True):
    """How a strategy is shown to the model: *ask* goes before the list. *openers*: one per part of every list."""

    ask: str
    openers: tuple[str, ...]
    endings: tuple[tuple[str, ...], tuple[str, ...]]


EXAMPLE_GOALS = ("Open a second-hand bookshop", "Put on a school play")

PATTERNS: dict[str, Pattern] = {
    "by activity": Pattern(
        "Different kinds of work:",
        ("Choose", "Buy", "Prepare", "Arrange", "Check"),
        (
            (
                "the street and the size of the shop",
                "ten shelves and a cash register",
                "price labels for five hundred novels",
                "a collection of used novels from families",
                "the fire exits and the lamps",
            ),
            (
                "a short comedy with twelve roles",
                "cloth for the costumes and two spotlights",
                "the stage and the painted scenery",
                "two evenings on which the hall is free",
                "that every actor knows the text",
            ),
        ),
    ),
    "by time": Pattern(
        "In order of time:",
        ("First,", "Then,", "Next,", "After that,", "Finally,"),
        (
            (
                "find a shop and sign the lease",
                "collect used novels from local families",
                "build shelves and sort the novels",
                "print posters and invite the village paper",
                "open the door and count the first sales",
            ),
            (
                "choose a comedy and give out the roles",
                "rehearse each scene twice a week",
                "sew the costumes and paint the scenery",
                "print tickets and invite the parents",
                "perform on stage and thank the helpers",
            ),
        ),
    ),
    "by place": Pattern(
        "What to do in each place:",
        ("At home:", "Online:", "In town:", "On the spot:", "Back at home:"),
        (
            (
                "write a budget and a list of novels",
                "register the shop and order a sign",
                "hang posters and visit the bank",
                "put up the shelves and sort the novels",
                "count the sales and plan next week",
            ),
            (
                "learn the text and try on the costumes",
                "get the rights and sell the tickets",
                "buy cloth, paint and two lamps",
                "build the stage and rehearse",
                "wash the costumes and write thank-you cards",
            ),
        ),
    ),
    "by phase": Pattern(
        "Phase by phase:",
        ("Find out", "Decide on", "Prepare", "Carry out", "Review"),
        (
            (
                "which novels people in the village read",
                "the shop, the prices and the hours",
                "the shelves, the labels and the sign",
                "the opening day with tea and music",
                "the first month of sales",
            ),
            (
                "which comedies suit twelve pupils",
                "the roles, the dates and the hall",
                "the costumes, the scenery and the lights",
                "the rehearsals and two performances",
                "the takings and the audience's remarks",
            ),
        ),
    ),
    "by risk": Pattern(
        "What could go wrong, and what to do about it:",
        (
            "If it costs too much:",
            "If time runs short:",
            "If somebody falls ill:",
            "If something breaks:",
            "If nothing else works:",
        ),
        (
            (
                "share the shop with a bakery",
                "open with half of the shelves",
                "train a neighbour at the cash register",
                "keep a second card reader",
                "sell the novels at the weekly market",
            ),
            (
                "borrow the costumes from the theatre",
                "leave out the second act",
                "let an understudy learn each role",
                "keep spare lamps behind the stage",
                "read the comedy aloud to the parents",
            ),
        ),
    ),
    "by people": Pattern(
        "Who does what:",
        ("The organiser:", "A friend:", "An expert:", "The family:", "The neighbours:"),
        (
            (
                "sign the lease and set the prices",
                "sort the novels by author",
                "check the wiring and the fire exits",
                "bake cakes for the opening day",
                "bring boxes of used novels",
            ),
            (
                "choose the comedy and lead rehearsals",
                "play the piano between the acts",
                "teach the pupils to speak loudly",
                "sew the costumes",
                "lend chairs for the audience",
            ),
        ),
    ),
    "by resource": Pattern(
        "What is needed, and how to get it:",
        ("Money:", "Time:", "Knowledge:", "Tools:", "Helpers:"),
        (
            (
                "borrow four thousand from the savings bank",
                "keep two months for building the shelves",
                "ask the librarian which novels sell",
                "buy a cash register and a label printer",
                "pay two students on Saturdays",
            ),
            (
                "sell cakes to pay for the costumes",
                "rehearse on Tuesdays and Fridays",
                "invite an actor to teach the pupils",
                "borrow two spotlights and a microphone",
                "ask the parents to build the scenery",
            ),
        ),
    ),
}

_GOAL_BYTES_MAX = 300  # of a goal in which its kind is looked for
_EXACT_MAX = 3  # letters of a cue that must be a whole word: "car" is not in "care"


class Shown(Struct, frozen=True):
    """What a split imitates: *ask* goes before each list; *examples*: goals with their parts; *openers* begin the parts
    of the answer."""

    ask: str
    examples: tuple[tuple[str, tuple[str, ...]], ...]
    openers: tuple[str, ...]


def shown(strategy: str, place: Place) -> Shown:
    """The examples for a task: of its goal's kind where there is one, and small ones for tasks below a goal. A strategy
    that has none is shown as kinds of work."""
    pattern = PATTERNS.get(strategy, PATTERNS["by activity"])
    general = tuple(
        (goal, _lines(zip(pattern.openers, endings, strict=True)))
        for goal, endings in zip(EXAMPLE_GOALS, pattern.endings, strict=True)
    )
    if not place.is_root and strategy in INNER:
        lists = [[_parted(line) for line in lines] for lines in INNER[strategy]]
        examples = tuple((goal, _lines(parts)) for goal, parts in zip(INNER_GOALS, lists, strict=True))
        return Shown(pattern.ask, examples, tuple(opener for opener, _ in lists[0]))
    kind = domain(place.goal)
    if kind is None or strategy not in kind.lists:
        return Shown(pattern.ask, general, pattern.openers)
    parts = [_parted(line) for line in kind.lists[strategy]]
    return Shown(pattern.ask, (general[0], (kind.goal, _lines(parts))), tuple(opener for opener, _ in parts))


def domain(goal: str) -> Domain | None:
    """The kind of goal, by the words that tell it; None if none does."""
    words = stems(clean(goal, _GOAL_BYTES_MAX))
    hits = [(sum(any(_cues(word, cue) for cue in kind.cues) for word in words), kind) for kind in DOMAINS]
    most, kind = max(hits, key=lambda hit: hit[0])
    return kind if most else None


def _cues(word: str, cue: str) -> bool:
    return word == cue or (len(cue) > _EXACT_MAX and word.startswith(cue))


def _parted(line: str) -> tuple[str, str]:
    opener, _, ending = line.partition("|")
    return opener, ending.strip()


def _lines(parts: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{opener} {ending}" for opener, ending in parts)


_PARTS = (
    *(
        part
        for pattern in PATTERNS.values()
        for endings in pattern.endings
        for part in zip(pattern.openers, endings, strict=True)
    ),
    *(_parted(line) for kind in DOMAINS for lines in kind.lists.values() for line in lines),
    *(_parted(line) for pair in INNER.values() for lines in pair for line in lines),
)
OPENERS = tuple(dict.fromkeys(opener for opener, _ in _PARTS))
"""How the parts of all examples begin."""
ENDINGS = tuple(dict.fromkeys(ending for _, ending in _PARTS))
"""What they go on with: what must not be copied."""
