"""Answers without a model, for tests, demonstrations and the simulator: equal requests get equal answers, and what is
varied comes from a hash of the request alone."""

import hashlib

from swarmd.events.kinds import Subgoal, Usage
from swarmd.roles.checks import asks_nothing
from swarmd.roles.work import Answer, Compose, Execute, Judge, Judgement, Propose, Request, Split, Text
from swarmd.vocab import limits
from swarmd.vocab.text import cut

MODEL = "scripted"

_WORDING: dict[str, tuple[str, ...]] = {
    "by activity": ("Research options", "Order supplies", "Carry out the main work", "Check the outcome"),
    "by time": ("Early days", "Second week", "Month after", "Closing evening"),
    "by place": ("Kitchen table planning", "Errands around town", "Online bookings", "Visit on site"),
    "by phase": ("Discovery phase", "Design phase", "Delivery phase", "Review phase"),
    "by risk": ("Budget overrun", "Missed deadline", "Bad weather", "Lost documents"),
    "by people": ("Organiser's duties", "Friends who help", "Experts consulted", "Guests informed"),
    "by resource": ("Money secured", "Tools gathered", "Room reserved", "Transport arranged"),
}
_BELOW = ("Gather notes on", "Compare prices around", "Settle dates with", "Finish and sign off")


def answer(request: Request) -> Answer:
    """What the scripted model says."""
    match request:
        case Propose():
            return _propose(request)
        case Judge():
            return _judge(request)
        case Execute():
            text = (
                f"{_subject(request.place.title)} is done as planned, with {_pick(request, 3, 9)} notes taken."
                f" It serves the goal and took {_pick(request, 10, 50)} minutes."
            )
        case Compose():
            said = [f"{part.title}: {part.text if part.status == 'done' else 'not done.'}" for part in request.parts]
            text = cut("\n".join(said), limits.RESULT_BYTES_MAX)
    return Text(text=text, model=MODEL, usage=Usage(tokens=len(text.split())))


def _propose(request: Propose) -> Split:
    place = request.place
    if asks_nothing(place.title):
        return Split(subgoals=(), model=MODEL)  # nothing in it to split
    # below the goal's own parts everything is a leaf
    is_deep = request.leaves_only or not place.is_root
    if place.is_root:
        starts, ending = _WORDING.get(request.strategy, _WORDING["by activity"]), f"for {_subject(place.title)}"
    else:
        # quotes only what the task does not share with its siblings
        starts, ending = _BELOW, f"{_subject(place.title.partition(' for ')[0]).lower()}, {request.strategy}"
    again = " once more" if request.previous else ""
    subgoals = tuple(
        Subgoal(
            title=cut(f"{start}{again} {ending}", limits.TITLE_BYTES_MAX),
            detail=f"What {start.lower()} means here, in one sentence.",
            leaf=is_deep,
            after=(0,) if is_deep and index == 3 else (),
        )
        for index, start in enumerate(starts[: request.children_max])
    )
    return Split(subgoals=subgoals, model=MODEL, usage=Usage(tokens=10 * len(subgoals)))


def _judge(request: Judge) -> Judgement:
    specific, disjoint, covering = (_pick(request, 55, 95, salt) / 100 for salt in ("specific", "disjoint", "covering"))
    marks = {"specific": specific, "disjoint": disjoint, "covering": covering}
    worst = min(marks, key=lambda name: marks[name])
    return Judgement(
        specific=specific, disjoint=disjoint, covering=covering, critique=f"could be more {worst}", model=MODEL
    )


def _pick(request: Request, low: int, high: int, salt: str = "") -> int:
    """A number in [*low*, *high*] that depends on the request and on *salt* only."""
    return low + int.from_bytes(hashlib.sha256(f"{salt} {request!r}".encode()).digest()[:4], "big") % (high - low + 1)


def _subject(title: str) -> str:
    """The title in four words at most: parts that quote more of it would be near-duplicates of each other."""
    return cut(" ".join(title.split()[:4]), 48)
