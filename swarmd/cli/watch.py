"""`swarmctl watch`: a goal as it grows, until it ends."""

import sys

import typer

from swarmd.cli.follow import Sight, follow
from swarmd.cli.screen import shown
from swarmd.cli.session import FAILED, GoalId, Json, Socket, ask, print_json
from swarmd.control.api import LATEST
from swarmd.control.client import Client
from swarmd.plan.views import GoalView


def watch(goal: GoalId = LATEST, json: Json = False, socket: Socket = None) -> None:
    """Watch a goal until it ends.

    On a terminal the plan is drawn and redrawn; elsewhere each thing that happens is one line, and with --json one JSON
    object a line. Exit status: 0 if the goal is done, 1 if it failed or was cancelled.
    """

    async def errand(client: Client) -> GoalView:
        if json:
            return await follow(client, goal, _print_news)
        with shown(sys.stdout) as show:
            return await follow(client, goal, show)

    if ask(socket, errand).status != "done":
        raise typer.Exit(FAILED)


def _print_news(sight: Sight) -> None:
    for change in sight.news:
        print_json(change)
