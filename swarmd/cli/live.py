"""A goal while it runs, in exactly as many lines as the terminal has: what runs now on top, what is finished folded.

When there is more than fits, what goes first is what changes least: finished work, then waiting, then draft.
"""

from collections.abc import Sequence

from msgspec import Struct
from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from swarmd.cli.words import (
    STYLE,
    UNICODE,
    Signs,
    bar,
    mark,
    ranked,
    safe,
    span,
    state,
    story_line,
    tail,
    votes,
)
from swarmd.plan.report import walk
from swarmd.plan.views import Change, GoalView, TaskStatus, TaskView
from swarmd.replica.status import PeerView

_BAR_CELLS_MAX = 30
_STORY_LINES_MAX = 12
_FOLDED = ("done", "cancelled")

# what changes soonest is shown first
_RANK: dict[TaskStatus, float] = {
    "claimed": 0,
    "deliberating": 1,
    "ready": 2,
    "open": 3,
    "failed": 4,
    "waiting": 5,
    "split": 6,
    "draft": 7,
    "done": 8,
    "cancelled": 8,
}


class _Row(Struct):
    """One line of the tree. *rank*: the lower, the later it is left out; *tasks*: how many tasks it stands for."""

    text: Text
    rank: float
    tasks: int
    children: "list[_Row]"


def live_view(
    goal: GoalView | None,
    peers: Sequence[PeerView],
    story: Sequence[Change],
    width: int,
    height: int,
    elapsed_s: float,
    signs: Signs = UNICODE,
) -> RenderableType:
    """The goal, the peers and the latest of the *story* in at most *height* lines of at most *width* cells."""
    told = [change for change in story if change.kind != "live" and change.text]
    company = _company(peers, width, max(1, height // 8), signs) if height >= 8 else []
    lines: list[RenderableType] = []
    left = height - 1 - _spaced(len(company))
    if goal is None:
        lines.append(_one_line(Text("waiting for a goal", "dim"), signs))
    else:
        lines.append(_one_line(_progress(goal, width, elapsed_s, signs), signs))
        tree = _row(goal.root, goal, width, signs)
        room = left - _spaced(min(len(told), height // 4))
        if room > 0:
            lines.append(_draw(_chosen(tree, room), signs))
            left -= min(_size(tree), room)
    if company:
        lines += [Text(""), *company]
    told = told[-min(_STORY_LINES_MAX, left - 1) :] if left > 1 else []
    if told:
        lines += [Text(""), *(_one_line(Text(story_line(change), "dim"), signs) for change in told)]
    return Group(*lines)


def _spaced(lines: int) -> int:
    return lines + 1 if lines else 0


def _one_line(text: Text, signs: Signs) -> Text:
    text.no_wrap = True
    text.overflow = "crop" if signs.ascii else "ellipsis"
    return text


def _progress(goal: GoalView, width: int, elapsed_s: float, signs: Signs) -> Text:
    return Text.assemble(
        bar(goal.done, goal.tasks, min(_BAR_CELLS_MAX, max(4, width // 3)), signs),
        f" {goal.done} of {goal.tasks} done, {span(elapsed_s)}, ",
        (goal.status, STYLE.get(goal.status, "bold")),
    )


# --- the tree ------------------------------------------------------------------------------------------------------


def _row(task: TaskView, goal: GoalView, width: int, signs: Signs) -> _Row:
    below = [*walk(task)]
    folded = task.depth > 0 and len(below) > 1 and all(each.status in _FOLDED for each in below)
    text = Text.assemble(
        (signs.status[task.status] + " ", STYLE[task.status]),
        (safe(task.title), "bold" if task.depth == 0 or task.status == "claimed" else ""),
        ("  " + state(task, goal), STYLE[task.status] or "dim"),
        (f", {len(below)} tasks" if folded else "", "dim"),
    )
    row = _Row(_one_line(text, signs), _RANK[task.status], 1, [])
    if folded:
        row.tasks = len(below)
        return row
    row.children += _asides(task, width, signs)
    open_children = [child for child in task.children if child.status not in _FOLDED or _is_running(child)]
    finished = [child for child in task.children if child not in open_children]
    row.children += [_row(child, goal, width, signs) for child in open_children]
    if len(finished) > 1:
        row.children.append(_folded(finished, signs))
    else:
        row.children += [_row(child, goal, width, signs) for child in finished]
    row.children.sort(key=lambda child: child.rank)
    row.rank = min([row.rank, *(child.rank for child in row.children)])
    return row


def _asides(task: TaskView, width: int, signs: Signs) -> list[_Row]:
    """What is being written or decided about a task; left out a little sooner than the task itself."""
    if task.status == "claimed" and task.stream:
        room = max(10, width - 4 * (task.depth + 1))
        return [_Row(_one_line(Text(tail(task.stream, room, signs), "italic dim"), signs), 0.5, 0, [])]
    if task.status in ("open", "deliberating"):
        return [
            _Row(
                _one_line(
                    Text(f"{safe(split.strategy)}  {mark(split, signs)}  {votes(task, split)}".rstrip(), "dim"), signs
                ),
                _RANK[task.status] + 0.5,
                0,
                [],
            )
            for split in ranked(task.proposals)[:3]
        ]
    return []


def _is_running(task: TaskView) -> bool:
    return any(each.status not in _FOLDED for each in walk(task))


def _folded(tasks: Sequence[TaskView], signs: Signs) -> _Row:
    done = [task for task in tasks if task.status == "done"]
    status: TaskStatus = "done" if done else "cancelled"
    titles = ", ".join(safe(task.title) for task in tasks)
    text = Text.assemble(
        (f"{signs.status[status]} {len(tasks)} {status}", STYLE[status]),
        (f"  {titles}", "dim"),
    )
    return _Row(_one_line(text, signs), _RANK[status], sum(len([*walk(task)]) for task in tasks), [])


def _size(row: _Row) -> int:
    return 1 + sum(map(_size, row.children))


def _chosen(tree: _Row, room: int) -> _Row:
    """The *room* lines that matter most. Parents matter at least as much as what is below them, so no line hangs in
    the air; the last line says how many tasks are left out."""
    rows: list[tuple[float, int, int, _Row]] = []

    def collect(row: _Row, depth: int) -> None:
        rows.append((row.rank, depth, len(rows), row))
        for child in row.children:
            collect(child, depth + 1)

    collect(tree, 0)
    if len(rows) <= room:
        return tree
    rows.sort(key=lambda entry: entry[:3])
    kept = {id(row) for *_, row in rows[: max(1, room - 1)]}
    hidden = sum(row.tasks for *_, row in rows if id(row) not in kept)

    def prune(row: _Row) -> _Row:
        return _Row(row.text, row.rank, row.tasks, [prune(child) for child in row.children if id(child) in kept])

    pruned = prune(tree)
    if room > 1:
        note = Text(f"and {hidden} more tasks" if hidden != 1 else "and 1 more task", "dim", no_wrap=True)
        pruned.children.append(_Row(note, 9, 0, []))
    return pruned


def _draw(row: _Row, signs: Signs) -> Tree:
    tree = Tree(row.text, guide_style="dim", highlight=False)
    tree.children += [_draw(child, signs) for child in row.children]
    return tree


# --- the company ---------------------------------------------------------------------------------------------------


def _company(peers: Sequence[PeerView], width: int, lines_max: int, signs: Signs) -> list[RenderableType]:
    """The peers side by side: who lives, with which model, how busy."""
    lines: list[Text] = []
    for peer in sorted(peers, key=lambda peer: (not peer.alive, peer.name, peer.id)):
        piece = _peer(peer, signs)
        if lines and lines[-1].cell_len + 3 + piece.cell_len <= width:
            lines[-1].append("   ").append_text(piece)
        else:
            lines.append(piece)
    hidden = len(lines) - lines_max
    if hidden > 0:
        lines = [*lines[: lines_max - 1], Text(f"{len(peers)} peers, see `swarmctl peers`", "dim")]
    return [_one_line(line, signs) for line in lines]


def _peer(peer: PeerView, signs: Signs) -> Text:
    if not peer.alive:
        return Text.assemble(
            (f"{signs.silent} {safe(peer.name)}", "red"), (f" silent {span(peer.seen_ms / 1000)}", "dim")
        )
    model = f" {safe(peer.model)}" if peer.model else ""
    busy = f" {peer.running}/{peer.slots}" if peer.slots else " observes"
    return Text.assemble((f"{signs.alive} ", "green"), safe(peer.name), (f"{model}{busy}", "dim"))
