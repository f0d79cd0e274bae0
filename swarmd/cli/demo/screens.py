"""What the commands look like, captured as text from a real run: `python -m swarmd.cli.demo.screens FILE`.

A household of daemons plans a goal on this machine; the pages are drawn by the commands' own code, 80 cells wide.
"""

import io
import sys
from pathlib import Path

import trio
from rich.console import RenderableType

from swarmd.cli.demo.household import Household, started
from swarmd.cli.demo.layout import household
from swarmd.cli.follow import Sight, follow
from swarmd.cli.live import live_view
from swarmd.cli.render import goal_list, goal_tree, peer_list, status_page
from swarmd.cli.screen import wall_ms
from swarmd.cli.session import note
from swarmd.cli.why import decision
from swarmd.cli.words import UNICODE, console, elapsed_s, story_line
from swarmd.control.api import GoalRequest
from swarmd.events.kinds import Limits, Policy
from swarmd.plan.report import walk
from swarmd.plan.views import GoalView

_WIDTH, _HEIGHT = 80, 24
_NODES = 5
_TEXT = "Plan a two-week trip to Japan"
_LIMITS = Limits(depth=2, children=4, tasks=30)
_LOG_LINES = 25
_HEARD_S_MAX = 20.0  # what reconciliation needs on two busy cores, should gossip miss the observer

_HEAD = f"""\
# What it looks like

Captured by `make screens` from a real run: {_NODES} daemons on one machine, a tiny model inside each that works, one
goal. The terminal is {_WIDTH} × {_HEIGHT}; colours are lost here.
"""


async def captured(model: str) -> str:
    """Run a household to the end of one goal; the document."""
    async with started(household(_NODES), model, say=note) as home:
        await home.together()
        async with home.peers[0].client() as client:
            goal = await client.set_goal(GoalRequest(text=_TEXT, limits=_LIMITS, policy=Policy(polish=1)))
        await home.heard(goal, _HEARD_S_MAX)
        sights: list[Sight] = []
        async with home.observer.client() as client:
            await follow(client, goal, sights.append)
        return await _document(home, goal, _liveliest(sights))


async def _document(home: Household, goal: str, sight: Sight) -> str:
    async with home.observer.client() as client:
        ended, root = await client.goal(goal), await client.task()
        decided = await client.task(_most_debated(ended))
        goals, peers, status = await client.goals(), await client.peers(), await client.status()
        story = await client.events(goal=goal, kinds=("goal", "proposal", "vote", "claim", "result"), count=15)
    now, elapsed = wall_ms(), elapsed_s(sight.goal, sight.story[-1].wall_ms if sight.story else wall_ms())
    live = live_view(sight.goal, sight.peers, sight.story, _WIDTH, _HEIGHT - 1, elapsed, UNICODE)
    folder = home.peers[1].folder
    log = (folder / "log").read_text("utf-8", "replace").replace(str(folder), "/run/swarmd").splitlines()
    pages = {
        "swarmctl watch": _drawn(live),
        "swarmctl show": _drawn(goal_tree(ended, now_ms=now, signs=UNICODE)),
        "swarmctl why": _drawn(decision(root, UNICODE)),
        f"swarmctl why {decided.task.id[:8]}": _drawn(decision(decided, UNICODE)),
        "swarmctl goals": _drawn(goal_list(goals, UNICODE)),
        "swarmctl peers": _drawn(peer_list(peers, UNICODE)),
        "swarmctl status": _drawn(status_page(status, UNICODE)),
        "swarmctl events --kind goal --kind proposal --kind vote --kind claim --kind result -n 15": "\n".join(
            map(story_line, story.events)
        ),
        "journalctl -u swarmd": "\n".join(log[:_LOG_LINES]),
    }
    blocks = [f"## `{command}`\n\n```text\n{text.rstrip()}\n```\n" for command, text in pages.items()]
    return "\n".join([_HEAD, *blocks])


def _liveliest(sights: list[Sight]) -> Sight:
    """The sight in which most happens at once: tasks being written, tasks in debate, tasks done."""

    def life(sight: Sight) -> tuple[int, int]:
        tasks = list(walk(sight.goal.root))
        running = sum(task.status == "claimed" and bool(task.stream) for task in tasks)
        return running + sum(task.status == "deliberating" for task in tasks), min(sight.goal.done, len(tasks) // 3)

    return max(sights, key=life)


def _most_debated(goal: GoalView) -> str:
    """The task below the goal itself about which most was said."""
    below = [task for task in walk(goal.root) if task.depth]
    return max(below, key=lambda task: (len(task.proposals), len(task.votes))).id


def _drawn(picture: RenderableType) -> str:
    paper = io.StringIO()
    console(paper, UNICODE, width=_WIDTH, color_system=None).print(picture)
    return "\n".join(line.rstrip() for line in paper.getvalue().splitlines())


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(trio.run(captured, sys.argv[2] if len(sys.argv) > 2 else "auto"), "utf-8")
