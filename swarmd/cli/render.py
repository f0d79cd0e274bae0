"""A goal, its peers and the daemon's status as a person would draw them. Pure: views in, something rich can print out.

Nothing is cut: long lines wrap under their own branch, so that what is printed can be searched and kept.
"""

from collections.abc import Iterator, Sequence

from rich.box import ASCII2, SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from swarmd.cli.words import (
    STYLE,
    Signs,
    bar,
    day,
    elapsed_s,
    first_line,
    mark,
    offset,
    peer_name,
    ranked,
    safe,
    span,
    state,
    tail,
    votes,
)
from swarmd.plan.report import counting
from swarmd.plan.views import GoalLine, GoalView, ProposalView, TaskView
from swarmd.replica.status import PeerView, StatusView
from swarmd.vocab.ids import short

_BAR_CELLS = 30
_STREAM_CELLS = 120  # two lines of running text say that it runs, and where
_WRAPPED = ("Roles", "Model", "Goal")  # columns that give way on a narrow terminal
_UNDECIDED = ("draft", "open", "deliberating")


def goal_tree(goal: GoalView, *, now_ms: int, signs: Signs) -> RenderableType:
    """The whole goal: how far it is, and its tree with everything that competes, waits, runs and failed."""
    lines = [
        Text.assemble(
            bar(goal.done, goal.tasks, _BAR_CELLS, signs),
            f"  {goal.done} of {goal.tasks} tasks done, {span(elapsed_s(goal, now_ms))}, ",
            (goal.status, STYLE.get(goal.status, "bold")),
        ),
        Text(f"goal {short(goal.id)}, set by {peer_name(goal, goal.author)}; {_electorate(goal)}", "dim"),
        *(Text(safe(warning), "yellow") for warning in _warnings(goal)),
        Text(""),
    ]
    tree = _branch(goal.root, goal, signs)
    return Group(*lines, tree)


def _branch(task: TaskView, goal: GoalView, signs: Signs) -> Tree:
    tree = Tree(Group(*_label(task, goal, signs)), guide_style="dim", highlight=False)
    for child in task.children:
        tree.children.append(_branch(child, goal, signs))
    return tree


def _label(task: TaskView, goal: GoalView, signs: Signs) -> Iterator[RenderableType]:
    style = STYLE[task.status]
    yield Text.assemble(
        (signs.status[task.status] + " ", style),
        (safe(task.title), "strike" if task.status == "cancelled" else "bold" if task.depth == 0 else ""),
        "  ",
        (state(task, goal), style or "dim"),
        (f"  {short(task.id)}", "dim") if task.depth else "",
    )
    yield from map(_Indented, _asides(task, goal, signs))


class _Indented:
    """Text that wraps two cells in, and is not filled up to the width as rich's own padding is."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for line in self._text.wrap(console, max(1, options.max_width - 2)):
            line.rstrip()
            yield Text.assemble("  ", line)


def _asides(task: TaskView, goal: GoalView, signs: Signs) -> Iterator[Text]:
    """What was proposed for a task, what is being written, what came of it."""
    yield from _splits(task, goal, signs)
    if task.status == "claimed" and task.stream:
        yield Text(f"{tail(task.stream, _STREAM_CELLS, signs)}", "italic")
    result = counting(task)
    if result is not None and task.status == "done" and (said := first_line(result.text)):
        yield Text(f"{signs.arrow} {_excerpt(said.lstrip('#> '), signs)}", "dim")
    for claim in task.superseded:
        written = f": {tail(claim.text, _STREAM_CELLS, signs)}" if claim.text else ""
        yield Text(
            f"superseded: attempt {claim.attempt} by {peer_name(goal, claim.executor)}, unfinished{written}", "dim"
        )
    for other in task.results:
        if not other.counts:
            yield Text(
                f"superseded: attempt {other.attempt} by {peer_name(goal, other.executor)}, {other.status}", "dim"
            )


def _splits(task: TaskView, goal: GoalView, signs: Signs) -> Iterator[Text]:
    proposals = ranked(task.proposals)
    widest = max((len(safe(proposal.strategy)) for proposal in proposals), default=0)
    for proposal in proposals:
        yield Text.assemble(
            (f"{signs.winner if proposal.accepted else ' '} ", "yellow"),
            (f"{safe(proposal.strategy):<{widest}}  {mark(proposal, signs):>4}", "" if proposal.accepted else "dim"),
            (f"  {_facts(task, proposal, goal)}", "dim"),
        )
        if task.status in _UNDECIDED and proposal.subgoals:
            parts = f" {'|' if signs.ascii else '·'} ".join(safe(part.title) for part in proposal.subgoals)
            yield Text(f"    draft: {parts}", "dim")


def _facts(task: TaskView, proposal: ProposalView, goal: GoalView) -> str:
    parts = [votes(task, proposal), f"by {peer_name(goal, proposal.author)}"]
    if proposal.generation:
        parts.append("polished" if proposal.generation == 1 else f"polished {proposal.generation} times")
    if proposal.mean is None:
        parts.append("not scored yet")
    if not proposal.subgoals:
        parts.append("do it whole")
    if any(vote.void for vote in task.votes if vote.proposal == proposal.id):
        parts.append("a double vote is void")
    return ", ".join(part for part in parts if part)


def _excerpt(text: str, signs: Signs) -> str:
    return text if len(text) <= _STREAM_CELLS else text[: _STREAM_CELLS - len(signs.more)].rstrip() + signs.more


def _electorate(goal: GoalView) -> str:
    if not goal.electorate:
        return "no scorers yet"
    names = ", ".join(peer_name(goal, scorer) for scorer in goal.electorate)
    return f"{goal.quorum} of {len(goal.electorate)} scorers decide ({names})"


def _warnings(goal: GoalView) -> Iterator[str]:
    if goal.status == "cancelled":
        yield f"cancelled: {goal.cancel_reason or 'no reason given'}"
    if not goal.electorate and goal.status == "open":
        yield "It waits for a peer that can judge splits; see `swarmctl peers`."
    if goal.forced_amend:
        yield "Its scorers were replaced by force; earlier decisions may have been lost."


# --- lists ---------------------------------------------------------------------------------------------------------


def goal_list(goals: Sequence[GoalLine], signs: Signs) -> RenderableType:
    """All goals, one a line, newest last."""
    table = _table(signs, "ID", "Set", "State", "Tasks", "Goal")
    for goal in goals:
        table.add_row(
            short(goal.id),
            day(goal.created_ms),
            Text(goal.status, STYLE.get(goal.status, "")),
            f"{goal.done}/{goal.tasks}",
            Text(first_line(goal.text)),
        )
    return table


def peer_list(peers: Sequence[PeerView], signs: Signs) -> RenderableType:
    """Everyone heard from: whether they live, what they do and whether they know what we know."""
    table = _table(signs, "Name", "State", "Roles", "Model", "Busy", "Heard", "Clock")
    for peer in sorted(peers, key=lambda peer: (not peer.alive, peer.name, peer.id)):
        table.add_row(
            Text(safe(peer.name) or short(peer.id)),
            Text(*_peer_state(peer)),
            Text(_roles(peer.roles)),
            Text(safe(peer.model) or signs.none),
            f"{peer.running}/{peer.slots}",
            f"{span(peer.seen_ms / 1000)} ago",
            offset(peer.clock_offset_ms),
        )
    return table


def _roles(roles: Sequence[str]) -> str:
    """Roles in words; nearly every peer has all three."""
    return "all" if len(roles) == 3 else ", ".join(map(safe, roles)) or "observer"


def _peer_state(peer: PeerView) -> tuple[str, str]:
    if not peer.alive:
        return "silent", "red"
    if not peer.connected:
        return "relayed", "yellow"
    return ("level", "green") if peer.level else ("catching up", "yellow")


def status_page(status: StatusView, signs: Signs) -> RenderableType:
    """How this machine's peer does."""
    if status.model:
        speed = f", {status.tokens_per_s} tokens a second" if status.tokens_per_s else ""
        model = f"{safe(status.model)} ({status.backend}, {status.tier}{speed})"
    else:
        model = f"none: {safe(status.no_model)}" if status.no_model else "none; this peer only listens"
    refused = ", ".join(f"{safe(reason)}: {count}" for reason, count in sorted(status.refused.items()))
    rows = {
        "peer": f"{safe(status.name)} ({short(status.id)}), version {safe(status.version)}",
        "up for": span(status.uptime_ms / 1000),
        "swarm": f"{short(status.swarm)}, {status.peers_connected} peers connected, {status.peers_alive} alive",
        "at": safe(", ".join(status.addresses)) or "no address of a home network",
        "roles": _roles(status.roles),
        "model": model,
        "busy": f"{status.running} of {status.slots} slots",
        "goals": f"{status.goals_open} open of {status.goals}; {status.events} events",
        "plan": f"{short(status.digest)}, {'level with everyone' if status.caught_up else 'catching up'}",
        "sent": f"{status.published} messages",
        "refused": refused or "nothing",
        "disk": safe(status.trouble)
        or f"{status.disk_bytes / 1_000_000:.1f} MB, {status.forgotten} old goals forgotten",
        "clock": f"{offset(status.clock_offset_ms)} against the swarm",
    }
    grid = Table.grid(padding=(0, 2))
    for label, value in rows.items():
        grid.add_row(Text(label, "dim"), Text(value))
    for number, reason in enumerate(status.reasons):
        grid.add_row(Text("because" if number == 0 else "", "dim"), Text(safe(reason)))
    for notice in status.notices:
        grid.add_row(Text("notice", "yellow"), Text(safe(notice)))
    return grid


def _table(signs: Signs, *headers: str) -> Table:
    table = Table(box=ASCII2 if signs.ascii else SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(header, overflow="fold", no_wrap=header not in _WRAPPED)
    return table
