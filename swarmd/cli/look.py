"""`swarmctl goals`, `show`, `why`, `report`, `peers`, `status` and `version`: what only looks."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from swarmd import __version__
from swarmd.cli.render import goal_list, goal_tree, peer_list, status_page
from swarmd.cli.screen import signs_for, wall_ms
from swarmd.cli.session import GoalId, Json, Socket, TaskId, ask, note, print_json, print_line
from swarmd.cli.why import decision
from swarmd.cli.words import console
from swarmd.control.api import LATEST
from swarmd.control.client import Client
from swarmd.vocab.faults import LocalMistake, RemoteFault
from swarmd.vocab.text import clean

_REPORT_BYTES_MAX = 64 * 1024 * 1024  # far more than a goal of 2,000 tasks with full texts is likely to have


def goals(json: Json = False, socket: Socket = None) -> None:
    """List all goals, newest last."""
    lines = ask(socket, Client.goals)
    if json:
        print_json(lines)
    elif lines:
        _draw(goal_list(lines, signs_for(sys.stdout)))
    else:
        note('no goals yet; set one: swarmctl goal "A weekend in the mountains"')


def show(goal: GoalId = LATEST, json: Json = False, socket: Socket = None) -> None:
    """Show a goal's tree: what competes, runs and waits."""
    view = ask(socket, lambda client: client.goal(goal))
    if json:
        print_json(view)
    else:
        _draw(goal_tree(view, now_ms=wall_ms(), signs=signs_for(sys.stdout)))


def why(task: TaskId = LATEST, json: Json = False, socket: Socket = None) -> None:
    """Tell how a task was decided: every split, mark, critique and vote, and why one won.

    Without a task: how the newest goal itself was split.
    """
    page = ask(socket, lambda client: client.task(task))
    if json:
        print_json(page)
    else:
        _draw(decision(page, signs_for(sys.stdout)))


def report(
    goal: GoalId = LATEST,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", readable=False, help="Write it to a file.")
    ] = None,
    json: Json = False,
    socket: Socket = None,
) -> None:
    """Print what a goal came to, as a Markdown document."""

    async def errand(client: Client) -> tuple[str, str]:
        view = await client.goal(goal)
        return view.id, await client.report(view.id)

    identifier, text = ask(socket, errand)
    if output is not None:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise LocalMistake(
                f"cannot write the report to {output}: {error.strerror}\nName a file that you may write."
            ) from error
        note(f"wrote {output}")
    if json:
        print_json({"goal": identifier, "report": text})
    elif output is None:
        print_line(clean(text, _REPORT_BYTES_MAX, lines=True))


def peers(json: Json = False, socket: Socket = None) -> None:
    """List the peers of this swarm that were heard from."""
    company = ask(socket, Client.peers)
    if json:
        print_json(company)
    elif company:
        _draw(peer_list(company, signs_for(sys.stdout)))
    else:
        note("nobody else yet; a peer with the same swarm key on this network is found by itself")


def status(json: Json = False, socket: Socket = None) -> None:
    """Show how this machine's peer does."""
    view = ask(socket, Client.status)
    if json:
        print_json(view)
    else:
        _draw(status_page(view, signs_for(sys.stdout)))


def version(json: Json = False, socket: Socket = None) -> None:
    """Print the versions of this command and the daemon."""
    try:
        daemon: str | None = ask(socket, Client.status).version
    except (LocalMistake, RemoteFault):
        daemon = None
    if json:
        print_json({"swarmctl": __version__, "daemon": daemon})
    else:
        print_line(f"swarmctl {__version__}")
        print_line(f"daemon   {clean(daemon, 64) if daemon else 'none answers'}")


def _draw(picture: RenderableType) -> None:
    console(sys.stdout, signs_for(sys.stdout)).print(picture)
