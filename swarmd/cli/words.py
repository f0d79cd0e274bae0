"""The signs, colours and words in which every view of a plan speaks, so that `show` and `watch` look alike.

Whatever peers and models wrote reaches a terminal as plain text only: never as control characters, never as markup.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from msgspec import Struct
from rich.console import Console
from rich.text import Text

from swarmd.plan.report import counting, name, tally, winner
from swarmd.plan.views import Change, GoalView, ProposalView, TaskStatus, TaskView
from swarmd.vocab.ids import short
from swarmd.vocab.text import clean

_SHOWN_BYTES_MAX = 2048  # longer than any title; whole texts belong to the report


class Signs(Struct, frozen=True, kw_only=True):
    """The characters that a terminal can show."""

    status: dict[TaskStatus, str]
    winner: str
    full: str
    empty: str
    alive: str
    silent: str
    arrow: str
    more: str
    none: str
    ascii: bool


UNICODE = Signs(
    status={
        "draft": "·",
        "open": "○",
        "deliberating": "◇",
        "split": "◆",
        "ready": "▷",
        "waiting": "‖",
        "claimed": "▶",
        "done": "✓",
        "failed": "✗",
        "cancelled": "⊘",
    },
    winner="★",
    full="█",
    empty="░",
    alive="●",
    silent="○",
    arrow="→",
    more="…",
    none="–",
    ascii=False,
)
ASCII = Signs(
    status={
        "draft": ".",
        "open": "o",
        "deliberating": "?",
        "split": "#",
        "ready": "-",
        "waiting": "=",
        "claimed": ">",
        "done": "+",
        "failed": "!",
        "cancelled": "x",
    },
    winner="*",
    full="#",
    empty=".",
    alive="*",
    silent="o",
    arrow="->",
    more="...",
    none="-",
    ascii=True,
)

STYLE: dict[str, str] = {
    "draft": "dim",
    "open": "",
    "deliberating": "yellow",
    "split": "",
    "ready": "cyan",
    "waiting": "dim",
    "claimed": "bold blue",
    "done": "green",
    "failed": "bold red",
    "cancelled": "dim strike",
}


class _AsciiConsole(Console):
    """A console that draws its lines and boxes in ASCII, whatever the output could take."""

    @property
    def encoding(self) -> str:
        """What rich asks for when it chooses its characters."""
        return "ascii"


def console(file: TextIO, signs: Signs, **more: Any) -> Console:
    """Where views are printed. Interprets no markup, no emoji names, and guesses no highlights."""
    kind = _AsciiConsole if signs.ascii else Console
    return kind(file=file, markup=False, emoji=False, highlight=False, **more)


def safe(text: str) -> str:
    """*text* as one line that cannot drive a terminal."""
    return clean(text, _SHOWN_BYTES_MAX)


def first_line(text: str) -> str:
    """The first line of *text* that says something."""
    return next((line for raw in text.split("\n") if (line := safe(raw))), "")


def tail(text: str, width: int, signs: Signs) -> str:
    """The end of running *text*, at most *width* cells of one line, from a whole word on."""
    line = " ".join(safe(text[-4 * width :]).split())
    shown = Text(line)
    if shown.cell_len <= width and len(text) <= 4 * width:
        return line
    words: list[str] = []
    room = width - len(signs.more)
    for word in reversed(line.split(" ")):
        room -= Text(word).cell_len + 1
        if room < 0:
            break
        words.insert(0, word)
    return signs.more + " ".join(words)


def bar(done: int, tasks: int, width: int, signs: Signs) -> Text:
    """How much of a goal is done, as a bar of *width* cells."""
    filled = width * min(done, tasks) // max(1, tasks)
    return Text.assemble((signs.full * filled, "green"), (signs.empty * (width - filled), "dim"))


def span(seconds: float) -> str:
    """A span of time as people say it: "42 s", "3 min 5 s", "2 h 10 min"."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def clock(wall_ms: int) -> str:
    """A moment of Unix time as local "HH:MM:SS"."""
    return time.strftime("%H:%M:%S", time.localtime(wall_ms / 1000))


def day(wall_ms: int) -> str:
    """A moment of Unix time as local date and time, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(wall_ms / 1000))


def offset(milliseconds: int) -> str:
    """How far a clock is off: "+12 ms", "-3.5 s"."""
    return f"{milliseconds:+d} ms" if abs(milliseconds) < 1000 else f"{milliseconds / 1000:+.1f} s"


def story_line(change: Change) -> str:
    """A change as one line of the swarm's story."""
    text = safe(change.text)
    return f"{clock(change.wall_ms)} {text}" if change.wall_ms else text


def elapsed_s(goal: GoalView, now_ms: int) -> float:
    """Seconds from when the goal was set to its end, or to now; never negative, whatever the clocks say."""
    ended = goal.ended_ms if goal.ended_ms is not None else now_ms
    return max(0, ended - goal.created_ms) / 1000


def peer_name(goal: GoalView, peer: str) -> str:
    """A peer as people call it."""
    return safe(name(goal, peer))


def named(names: Mapping[str, str], peer: str) -> str:
    """A peer as people call it, of whom only *names* by id are known."""
    return safe(names.get(peer, "")) or short(peer)


def state(task: TaskView, goal: GoalView) -> str:
    """What is going on with a task, in a few words."""
    said = _state(task, goal)
    return said + ", below threshold" if task.below_threshold else said


def _state(task: TaskView, goal: GoalView) -> str:
    waits = safe(task.waits)
    match task.status:
        case "split":
            accepted = winner(task)
            how = safe(accepted.strategy) if accepted is not None else ""
            said = f"split {how}" if how.startswith("by ") else f"split “{how}”" if how else "split"
            return f"{said}, {sum(_is_over(child) for child in task.children)} of {len(task.children)} parts done"
        case "claimed" if task.claim is not None:
            verb = "put together by" if task.children else "claimed by"
            again = f", attempt {task.claim.attempt}" if task.claim.attempt > 1 else ""
            return f"{verb} {peer_name(goal, task.claim.executor)}{again}"
        case "done":
            result = counting(task)
            return "done" if result is None else f"done by {peer_name(goal, result.executor)}"
        case "failed":
            result = counting(task) or (task.results[-1] if task.results else None)
            reason = first_line(result.text) if result is not None else ""
            return f"failed: {reason}" if reason else "failed"
        case "deliberating":
            ballot = f", ballot {task.ballot}" if task.ballot else ""
            return f"deliberating{ballot}" + (f", {_waiting_for(waits)}" if waits else "")
        case "waiting" | "open" | "ready" if waits:
            return _waiting_for(waits) if task.status == "waiting" else f"{task.status}, {_waiting_for(waits)}"
        case _:
            return task.status


def _waiting_for(waits: str) -> str:
    return waits if waits.startswith("wait") else f"waits for {waits}"


def _is_over(task: TaskView) -> bool:
    return task.status in ("done", "failed", "cancelled")


def ranked(proposals: Sequence[ProposalView]) -> list[ProposalView]:
    """Competing splits, the accepted one first, then the best marks."""
    return sorted(proposals, key=lambda split: (not split.accepted, split.mean is None, -(split.mean or 0.0), split.id))


def mark(proposal: ProposalView, signs: Signs) -> str:
    """A split's mean mark, or a dash while nobody has scored it."""
    return signs.none if proposal.mean is None else f"{proposal.mean:.2f}"


def votes(task: TaskView, proposal: ProposalView) -> str:
    """Votes for and against a split, in words; empty if there are none."""
    _, approved, refused = tally(task, proposal)
    parts = [f"{count} {word}" for count, word in ((approved, "for"), (refused, "against")) if count]
    return ", ".join(parts)
