"""`swarmctl watch`: a goal as it grows, until it ends."""

import sys
from collections.abc import Awaitable, Callable

import trio
import typer

from swarmd.cli.follow import Sight, follow
from swarmd.cli.keys import pressed, single_keys
from swarmd.cli.screen import shown
from swarmd.cli.session import FAILED, GoalId, Json, Socket, ask, print_json
from swarmd.control.api import LATEST
from swarmd.control.client import Client
from swarmd.plan.views import GoalView


def watch(goal: GoalId = LATEST, json: Json = False, socket: Socket = None) -> None:
    """Watch a goal until it ends.

    On a terminal the plan fills the screen, and q leaves; elsewhere each thing that happens is one line, and with
    --json one JSON object a line. Exit status: 0 if the goal is done or was left, 1 if it failed or was cancelled.
    """

    async def errand(client: Client) -> GoalView | None:
        if json:
            return await follow(client, goal, _print_news)
        with single_keys() as keys, shown(sys.stdout, full=True) as show:
            return await until_left(lambda: follow(client, goal, show), keys=keys)

    ended = ask(socket, errand)
    if ended is not None and ended.status != "done":
        raise typer.Exit(FAILED)


async def until_left(following: Callable[[], Awaitable[GoalView]], *, keys: bool) -> GoalView | None:
    """What *following* brings, or None if the person pressed q first (where *keys* arrive)."""
    if not keys:
        return await following()
    outcome: list[GoalView | Exception] = []
    async with trio.open_nursery() as nursery:

        async def follow_on() -> None:
            try:
                outcome.append(await following())
            except Exception as error:
                outcome.append(error)  # raised below, out of any exception group
            nursery.cancel_scope.cancel()

        nursery.start_soon(follow_on)
        await pressed(b"qQ")
        nursery.cancel_scope.cancel()
    for found in outcome:
        if isinstance(found, Exception):
            raise found
        return found
    return None


def _print_news(sight: Sight) -> None:
    for change in sight.news:
        print_json(change)
