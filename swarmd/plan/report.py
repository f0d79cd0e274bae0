"""A goal as a Markdown document to hand to the family: what was worked out, by whom, and how it came to be decided.

Structure is the report's alone. Texts by people and models may use lists, tables, emphasis and code, but no heading,
HTML, image or unclosed fence of theirs reaches outside their section.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from swarmd.plan.views import GoalView, ProposalView, ResultView, TaskView
from swarmd.vocab.ids import short

_PUNCTUATION = re.compile(r"([\\`*_\[\]<>#|~&!])")  # what CommonMark 0.31 gives a meaning inside a line
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
_LANGUAGE = re.compile(r"^\s*([\w+.#-]*)")
_HEADING = re.compile(r"((?:[\s>]|(?:[-*+]|\d{1,9}[.)])(?=\s))*)#{1,6}(?=\s|$)")  # also inside quotes and lists
_UNDERLINE = re.compile(r"([\s>]*)(=+|-+)\s*$")
_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_HEADING_LEVEL_MAX = 6

_UNFINISHED = {
    "draft": "only a draft so far",
    "open": "nobody has looked at this yet",
    "deliberating": "the swarm is still deciding how to split this",
    "split": "its parts are still under way",
    "ready": "nobody has taken this yet",
    "waiting": "waits for other parts",
    "claimed": "being written right now",
    "cancelled": "cancelled",
}


def report(goal: GoalView) -> str:
    """The goal as Markdown (CommonMark with GitHub's tables); an unfinished goal is reported as it stands."""
    title, _, wishes = goal.text.strip().partition("\n")
    lines = [f"# {_line(title)}", ""]
    if wishes.strip():
        lines += [*_body(wishes.strip()), ""]
    if goal.status != "open":
        lines += [f"*{_ended(goal)}*", ""]
    else:
        lines += [f"*Not finished yet: {goal.done} of {goal.tasks} tasks are done.*", ""]
    if _is_tiny(goal):
        lines += [
            "> A tiny model drafted this, so read it as a first sketch. For a better one install Ollama on one machine "
            "and run `ollama pull qwen3:4b`; swarmd finds it by itself.",
            "",
        ]
    if _has_checklist(goal):
        lines += [
            "> No model at home could work on all of this in its language: what is marked as a checklist says what to "
            "think of, not what to do. A larger model knows more languages: run `ollama pull qwen3:4b` on one machine.",
            "",
        ]
    root = counting(goal.root)
    if root is not None and root.status == "done":
        lines += [*_body(root.text), "", _written(root, goal), ""]
    for number, child in enumerate(goal.root.children, 1):
        lines += _section(child, str(number), 2, goal)
    lines += _failures(goal)
    lines += _making(goal)
    return "\n".join(lines).rstrip() + "\n"


def counting(task: TaskView) -> ResultView | None:
    """The result that is the task's, if it has one."""
    return next((result for result in task.results if result.counts), None)


def winner(task: TaskView) -> ProposalView | None:
    """The accepted split, if there is one."""
    return next((proposal for proposal in task.proposals if proposal.accepted), None)


class Tally(NamedTuple):
    """Votes on one split in the last *ballot* that it stood in."""

    ballot: int
    approved: int
    refused: int


def tally(task: TaskView, proposal: ProposalView) -> Tally:
    """How *task*'s scorers voted on *proposal*; void votes do not count."""
    cast = [vote for vote in task.votes if vote.proposal == proposal.id and not vote.void]
    last = max((vote.ballot for vote in cast), default=0)
    cast = [vote for vote in cast if vote.ballot == last]
    approved = len({vote.scorer for vote in cast if vote.approve})
    return Tally(last, approved, len({vote.scorer for vote in cast if not vote.approve}))


def walk(task: TaskView) -> Iterator[TaskView]:
    """*task* and everything below it, as the tree is read."""
    yield task
    for child in task.children:
        yield from walk(child)


def name(goal: GoalView, peer: str) -> str:
    """A peer as people call it."""
    return goal.names.get(peer) or short(peer)


# --- what was worked out -------------------------------------------------------------------------------------------


def _ended(goal: GoalView) -> str:
    seconds = max(0, (goal.ended_ms or goal.created_ms) - goal.created_ms) // 1000
    took = f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"
    if goal.status == "done":
        return f"{goal.tasks} tasks, worked out in {took}."
    reason = f": {_line(goal.cancel_reason)}" if goal.cancel_reason else ""
    return f"{goal.status.capitalize()} after {took}, with {goal.done} of {goal.tasks} tasks finished{reason}."


def _section(task: TaskView, number: str, level: int, goal: GoalView) -> list[str]:
    lines = [f"{'#' * min(level, _HEADING_LEVEL_MAX)} {number} {_line(task.title)}", ""]
    result = counting(task)
    if result is None or task.status == "cancelled":
        lines += [f"*({_UNFINISHED.get(task.status, task.status)})*", ""]
    elif result.status == "failed":
        lines += [f"*(could not be done: {_line(result.text) or 'no reason given'})*", ""]
    else:
        lines += [*_body(result.text), "", _written(result, goal), ""]
    for index, child in enumerate(task.children, 1):
        lines += _section(child, f"{number}.{index}", level + 1, goal)
    return lines


def _written(result: ResultView, goal: GoalView) -> str:
    model = f", {_line(result.model)}" if result.model else ""
    return f"*— {_line(name(goal, result.executor))}{model}*"


def _failures(goal: GoalView) -> list[str]:
    failed = [task for task in walk(goal.root) if task.status == "failed"]
    if not failed:
        return []
    lines = ["## What could not be done", ""]
    for task in failed:
        result = counting(task) or (task.results[-1] if task.results else None)
        reason = _line(result.text) if result is not None else ""
        lines.append(f"- **{_line(task.title)}**: {reason or 'no reason given'}")
    return [*lines, ""]


# --- how it was made -----------------------------------------------------------------------------------------------


def _making(goal: GoalView) -> list[str]:
    lines = ["## How this was made", ""]
    decided = [
        (task, accepted, tally(task, accepted)) for task in walk(goal.root) if (accepted := winner(task)) is not None
    ]
    if decided:
        rows = [
            [
                task.title,
                (accepted.strategy or "whole") + (", below the threshold" if task.below_threshold else ""),
                "–" if accepted.mean is None else f"{accepted.mean:.2f}",
                f"{votes.approved} of {len(goal.electorate)}, ballot {votes.ballot}",
                str(len(task.proposals)),
                name(goal, accepted.author),
            ]
            for task, accepted, votes in decided
        ]
        lines += _table(["Task", "Split that won", "Mark", "Approved by", "Splits proposed", "Proposed by"], rows)
    rows = _peer_rows(goal)
    if rows:
        lines += _table(["Peer", "Models", "Splits", "Marks", "Votes", "Texts", "Tokens"], rows)
    notes = [
        f"Goal `{goal.id}`, {goal.events} events, plan digest `{goal.digest}`.",
        f"A split was accepted when {goal.quorum} of {len(goal.electorate)} scorers approved it.",
    ]
    if goal.forced_amend:
        notes.append("The scorers of this goal were replaced by force; earlier decisions may have been lost.")
    return [*lines, *notes, ""]


def _peer_rows(goal: GoalView) -> list[list[str]]:
    splits, marks, votes, texts, tokens = (Counter[str]() for _ in range(5))
    models: dict[str, set[str]] = {}
    for task in walk(goal.root):
        for proposal in task.proposals:
            splits[proposal.author] += 1
            models.setdefault(proposal.author, set()).add(proposal.model)
            for score in proposal.scores:
                marks[score.scorer] += 1
                models.setdefault(score.scorer, set()).add(score.model)
        for vote in task.votes:
            votes[vote.scorer] += 1
            models.setdefault(vote.scorer, set())
        for result in task.results:
            texts[result.executor] += result.status == "done"
            tokens[result.executor] += result.tokens
            models.setdefault(result.executor, set()).add(result.model)
    return [
        [
            name(goal, peer),
            ", ".join(sorted(models[peer] - {""})) or "–",
            *(str(count[peer]) for count in (splits, marks, votes, texts, tokens)),
        ]
        for peer in sorted(models, key=lambda peer: (name(goal, peer), peer))
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    ruler = "|" + " --- |" * len(head)
    return [
        "| " + " | ".join(head) + " |",
        ruler,
        *("| " + " | ".join(_line(cell) for cell in row) + " |" for row in rows),
        "",
    ]


def _is_tiny(goal: GoalView) -> bool:
    """Whether every text so far came from a tiny model."""
    results = (counting(task) for task in walk(goal.root))
    models = {result.model.lower() for result in results if result is not None and result.model}
    return bool(models) and all("tiny" in model or "embedded" in model for model in models)


def _has_checklist(goal: GoalView) -> bool:
    results = (counting(task) for task in walk(goal.root))
    return any(result is not None and "no model" in result.model for result in results)


# --- other people's words ------------------------------------------------------------------------------------------


def _line(text: str) -> str:
    """*text* as one line of plain words."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))


def _body(text: str) -> list[str]:
    """*text* as Markdown that stays within its section."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence) and not opened[2].strip():
                lines.append(fence)
                fence = ""
            else:
                lines.append(line)
        elif opened:
            # at the margin, so that no list around it can end it early, and with the language only, since some readers
            # take a fence with a bar in it for a table
            fence = opened[1]
            lines.append(fence + _LANGUAGE.findall(opened[2])[0])
        else:
            lines.append(_tame(line))
    if fence:
        lines.append(fence)
    return lines


def _tame(line: str) -> str:
    """A line outside code that can be no heading, HTML or image."""
    if heading := _HEADING.match(line):
        words = line[heading.end() :].strip().rstrip("#").rstrip().replace("*", "")
        line = heading[1] + (f"**{words}**" if words else "")
    elif underline := _UNDERLINE.match(line):
        # under a paragraph it would make a heading of it; three stars always are a ruler
        rule = "***" if underline[2].startswith("---") else "\\" + underline[2]
        line = underline[1] + rule
    return _HTML.sub("&lt;", line).replace("![", "!\\[")
