"""`swarmctl events`: the swarm's story, event by event, filtered and followed."""

from typing import Annotated

import trio
import typer

from swarmd.cli.session import Json, Socket, ask, note, print_json, print_line
from swarmd.cli.words import story_line
from swarmd.control.api import STORY_MAX
from swarmd.control.client import Client
from swarmd.plan.views import Change, EventPage
from swarmd.vocab.faults import Unreachable

_AGAIN_S = 1.0  # how often a daemon that went away is looked for
_PATIENCE_S = 30.0  # a restart takes seconds; then say so


def events(
    goal: Annotated[str, typer.Option("--goal", metavar="GOAL", help="Only of this goal.")] = "",
    task: Annotated[str, typer.Option("--task", metavar="TASK", help="Only of this task.")] = "",
    peer: Annotated[str, typer.Option("--peer", metavar="PEER", help="Only by this peer: its name or id.")] = "",
    kind: Annotated[
        list[str] | None, typer.Option("--kind", metavar="KIND", help="Only such as vote or result; may be repeated.")
    ] = None,
    count: Annotated[
        int, typer.Option("--lines", "-n", min=1, max=STORY_MAX, help="How many of the latest to begin with.")
    ] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens from now on.")] = False,
    json: Json = False,
    socket: Socket = None,
) -> None:
    """Print what was said in the swarm, oldest first.

    Followed, it also tells what is no event of its own: splits that are accepted, goals that end, peers that come and
    go.
    """
    kinds = tuple(kind or ())
    say = print_json if json else _print_line

    async def errand(client: Client) -> None:
        if not follow:
            for change in (await client.events(goal=goal, task=task, peer=peer, kinds=kinds, count=count)).events:
                say(change)
            return
        told: set[str] = set()
        reached: float | None = None
        while True:
            try:
                async with client.changes() as changes:  # opened first: nothing falls between the page and the stream
                    page = await client.events(goal=goal, task=task, peer=peer, kinds=kinds, count=count)
                    for change in page.events:
                        if change.event not in told:
                            say(change)
                    told = {change.event for change in page.events}
                    reached = trio.current_time()
                    async for change in changes:
                        if change.event not in told and _passes(change, page, kinds):
                            say(change)
                            told |= {change.event} - {""}
                            reached = trio.current_time()
                note("the daemon has ended; waiting for it")
            except Unreachable:
                if reached is None or trio.current_time() - reached > _PATIENCE_S:
                    raise
            await trio.sleep(_AGAIN_S)

    ask(socket, errand)


def _passes(change: Change, page: EventPage, kinds: tuple[str, ...]) -> bool:
    return (
        page.goal in ("", change.goal)
        and page.task in ("", change.task)
        and page.peer in ("", change.peer)
        and (change.kind in kinds if kinds else change.kind != "live")
    )


def _print_line(change: Change) -> None:
    print_line(story_line(change))
