"""`swarmd demo`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from swarmd.cli.demo.journey import demonstrate
from swarmd.cli.demo.layout import NODES_MAX, NODES_MIN
from swarmd.cli.session import complete, print_line
from swarmd.control.api import goal_text


def demo(
    text: Annotated[str, typer.Argument(metavar="GOAL", help="What to plan.")] = "Plan a two-week trip to Japan",
    nodes: Annotated[int, typer.Option(min=NODES_MIN, max=NODES_MAX, help="How many daemons.")] = 5,
    model: Annotated[
        Literal["auto", "ollama", "embedded", "scripted"],
        typer.Option(help="auto: Ollama where one answers, else the embedded tiny model. scripted: canned answers."),
    ] = "auto",
    report: Annotated[Path, typer.Option("--report", metavar="FILE", help="Where to write the report.")] = Path(
        "demo-report.md"
    ),
    kill_one: Annotated[bool, typer.Option("--kill-one", help="Kill a daemon (-9) in the middle of its work.")] = False,
) -> None:
    """Watch a whole swarm plan a goal on this machine.

    Starts several real daemons on loopback, each with its own identity, lets them find each other, and gives one of
    them the goal. What you see is what the last one, which only listens, has understood. Ctrl-C stops them all.
    """
    goal = goal_text(text)
    complete(lambda: demonstrate(goal, nodes=nodes, model=model, report_file=report, kill_one=kill_one, say=print_line))
