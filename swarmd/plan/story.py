"""The plan's events as a story: one plain line each, in words that a person understands, safe to print."""

from collections.abc import Callable

from swarmd.events.envelope import Opened
from swarmd.events.kinds import (
    Amend,
    Cancel,
    Claim,
    Event,
    Goal,
    Member,
    Nomination,
    Promise,
    Proposal,
    Result,
    Score,
    Unknown,
    Vote,
)
from swarmd.plan.plan import Plan, Shift
from swarmd.plan.show import below_threshold
from swarmd.plan.views import Change, ChangeKind
from swarmd.vocab import hlc
from swarmd.vocab.hlc import Hlc
from swarmd.vocab.ids import GoalId, PeerId, TaskId, short
from swarmd.vocab.text import clean

_TITLE_BYTES_MAX = 80  # enough to recognise a task in a log line
_CRITIQUE_BYTES_MAX = 160

Name = Callable[[PeerId], str]


def of_event(opened: Opened, plan: Plan, name: Name) -> Change | None:
    """What an event that was just folded says; None for what only machines care about."""
    event = opened.event
    if isinstance(event, Unknown):
        return None
    goal, task = _where(opened)
    said = _words(opened, event, plan, goal, task, name)
    if said is None:
        return None
    kind, words = said
    who = event.peer if isinstance(event, Member) else event.author
    return Change(
        kind=kind,
        text=f"{name(who)} {words}",
        goal=goal,
        task=task,
        peer=who,
        wall_ms=hlc.wall_ms(Hlc(event.hlc)),
        event=opened.id,
    )


def of_shift(shift: Shift, plan: Plan, wall_ms: int) -> Change | None:
    """What a move of the fold says."""
    known = plan.goals.get(GoalId(shift.goal))
    if known is None:
        return None
    where = title(plan, shift.goal, shift.task)
    if shift.kind == "ended":
        return Change(
            kind="ended", text=f"the goal “{where}” has ended: {known.status}", goal=shift.goal, wall_ms=wall_ms
        )
    if shift.kind != "accepted":
        return None
    task = known.tasks.get(TaskId(shift.task))
    if task is None or task.accepted is None:
        return None  # of several events that were folded at once, a later one took it back
    book = known.book(task.id)
    proposal = book.proposals[task.accepted.proposal]
    parts = (
        f"split {proposal.strategy} into {len(task.children)} parts" if task.children else "done whole, without a split"
    )
    weak = (
        ", below the threshold for want of a better one" if below_threshold(known, book, task.accepted.proposal) else ""
    )
    ballot = f" in ballot {task.accepted.ballot}" if task.accepted.ballot else ""
    text = f"accepted{ballot}: “{where}” is {parts}{weak}"
    return Change(kind="accepted", text=text, goal=shift.goal, task=shift.task, wall_ms=wall_ms)


def title(plan: Plan, goal: str, task: str) -> str:
    """A task's title, or its short id while the tree has not reached it."""
    known = plan.goals.get(GoalId(goal))
    found = known.tasks.get(TaskId(task)) if known else None
    return brief(found.title) if found else short(task)


def brief(text: str) -> str:
    """A beginning of *text* that fits a log line."""
    whole = clean(text, 1 << 20)
    cut = clean(whole, _TITLE_BYTES_MAX)
    return cut if cut == whole else cut.rstrip(" ,.;:") + "…"


def _where(opened: Opened) -> tuple[str, str]:
    event = opened.event
    if isinstance(event, Goal):
        return opened.id, opened.id
    return getattr(event, "goal", ""), getattr(event, "task", "")


def _words(opened: Opened, event: Event, plan: Plan, goal: str, task: str, name: Name) -> tuple[ChangeKind, str] | None:
    where = title(plan, goal, task)
    match event:
        case Goal():
            return "goal", f"set a goal: “{brief(event.text)}”"
        case Proposal():
            if event.refines:
                return "proposal", f"polishes a split of “{where}” into {len(event.subgoals)} parts"
            if not event.subgoals:
                return "proposal", f"proposes to do “{where}” whole"
            return "proposal", f"proposes to split “{where}” {event.strategy} into {len(event.subgoals)} parts"
        case Score():
            critique = clean(event.critique, _CRITIQUE_BYTES_MAX)
            return "score", f"marks a split of “{where}” {event.mark:.2f}" + (f": {critique}" if critique else "")
        case Promise():
            return "promise", f"moves to ballot {event.ballot} for “{where}”"
        case Nomination():
            strategy = _strategy(plan, goal, task, event.proposal)
            return "nomination", f"puts a split of “{where}” to the vote ({strategy}, ballot {event.ballot})"
        case Vote() if _voted_twice(plan, event):
            return "equivocation", f"has voted twice in ballot {event.ballot} for “{where}”: both votes are void"
        case Vote():
            return "vote", f"votes {'for' if event.approve else 'against'} that split of “{where}”"
        case Claim():
            again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
            return "claim", f"claims “{where}”{again}"
        case Result() if event.status == "done":
            return "result", f"finishes “{where}” ({len(event.text.split())} words, {event.model or 'no model'})"
        case Result():
            return "result", f"fails at “{where}”: {brief(event.text)}"
        case Cancel():
            return "cancel", "cancels the goal" + (f": {brief(event.reason)}" if event.reason else "")
        case Amend():
            how = "forces a new electorate" if event.forced else "names the electorate"
            return "amend", f"{how} of {len(event.electorate)} scorers"
        case Member():
            return "member", f"is a member of the swarm ({short(event.peer)})"
    return None


def _strategy(plan: Plan, goal: str, task: str, proposal: str) -> str:
    known = plan.goals.get(GoalId(goal))
    book = known.books.get(TaskId(task)) if known else None
    found = book.proposals.get(proposal) if book else None  # type: ignore[call-overload]
    return found.strategy if found else "not heard yet"


def _voted_twice(plan: Plan, vote: Vote) -> bool:
    known = plan.goals.get(vote.goal)
    book = known.books.get(vote.task) if known else None
    return book is not None and (vote.ballot, vote.author) in book.ballots.equivocators()
