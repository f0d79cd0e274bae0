"""`swarmctl goal` and `swarmctl cancel`: what changes the swarm's mind."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from swarmd.cli.follow import follow
from swarmd.cli.keys import single_keys
from swarmd.cli.screen import Lines, shown
from swarmd.cli.session import FAILED, Json, Socket, ask, note, print_json, print_line
from swarmd.cli.watch import until_left
from swarmd.control.api import GoalRequest, goal_text
from swarmd.control.client import Client
from swarmd.events.kinds import Limits, Policy
from swarmd.plan.views import GoalView
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake
from swarmd.vocab.ids import short

_LIMITS, _POLICY = Limits(), Policy()


def goal(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help='What you want planned; "-" reads it from standard input.')
    ] = "",
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", readable=False, help="Read the goal from a file.")
    ] = None,
    quorum: Annotated[
        int | None,
        typer.Option(min=1, max=limits.ELECTORATE_MAX, help="Approvals that accept a split; a majority if not given."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Let a task wait rather than take a split that nobody finds good enough.")
    ] = False,
    depth: Annotated[
        int, typer.Option(min=0, max=limits.DEPTH_MAX, help="Levels of tasks below the goal.")
    ] = _LIMITS.depth,
    children: Annotated[
        int, typer.Option(min=1, max=limits.CHILDREN_MAX, help="Parts that a task is split into, at most.")
    ] = _LIMITS.children,
    wait: Annotated[
        bool, typer.Option("--wait", help="Return when the goal has ended: 0 if done, 1 if failed or cancelled.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Like --wait, and show the plan grow; q leaves.")] = False,
    json: Json = False,
    socket: Socket = None,
) -> None:
    """Set a goal, and print its id.

    Once the id is printed, the goal is safe on this machine's disk, and every peer that is reachable works on it.
    """
    request = GoalRequest(
        text=goal_text(_text(text, file)),
        quorum=quorum,
        limits=Limits(depth=depth, children=children, tasks=_LIMITS.tasks),
        policy=Policy(strict=strict),
    )

    async def errand(client: Client) -> GoalView | None:
        identifier = await client.set_goal(request)
        if not json:
            print_line(identifier)
        if watch and not json:
            with single_keys() as keys, shown(sys.stdout, full=True) as show:
                return await until_left(lambda: follow(client, identifier, show), keys=keys)
        if wait or watch:
            return await follow(client, identifier, Lines(note, story=False))
        if json:
            print_json({"goal": identifier, "status": "open"})
        else:
            note(f"watch it with: swarmctl watch {short(identifier)}")
        return None

    ended = ask(socket, errand)
    if ended is not None:
        if json:
            print_json({"goal": ended.id, "status": ended.status})
        if ended.status != "done":
            raise typer.Exit(FAILED)


def cancel(
    goal: Annotated[str, typer.Argument(metavar="GOAL", help="First characters of the goal's id.")],
    reason: Annotated[str, typer.Option("--reason", help="Why, for everyone who looks at it later.")] = "",
    json: Json = False,
    socket: Socket = None,
) -> None:
    """Stop all work on a goal. What is finished stays."""
    identifier = ask(socket, lambda client: client.cancel(goal, reason))
    if json:
        print_json({"goal": identifier, "status": "cancelled"})
    else:
        print_line(f"cancelled {short(identifier)}")


def _text(text: str, file: Path | None) -> str:
    if file is not None and text:
        raise LocalMistake("a goal was given both as text and by --file\nGive one of them.")
    if file is None and text != "-":
        return text
    # one character more than fits, so that what is too long is seen to be so
    bytes_max = limits.GOAL_BYTES_MAX + 1
    try:
        if file is None:
            return sys.stdin.buffer.read(bytes_max).decode("utf-8", "replace")
        with file.open("rb") as source:
            return source.read(bytes_max).decode("utf-8", "replace")
    except OSError as error:
        raise LocalMistake(
            f"cannot read the goal from {file or 'standard input'}: {error.strerror}\n"
            "Name a file that you may read, or give the goal as text."
        ) from error
