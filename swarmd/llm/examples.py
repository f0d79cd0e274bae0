"""What the tiny model imitates: for each strategy one goal with its parts. A copy of one of these is no answer.

The *openers* begin the parts, in the examples and in the answer: the structure is ours, the content the model's.
"""

from msgspec import Struct


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
