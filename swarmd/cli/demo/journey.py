"""One goal from its first word to its report, seen through the observer's eyes."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from swarmd.cli.demo.household import Household, Peer, started
from swarmd.cli.demo.layout import household
from swarmd.cli.follow import OnUpdate, Sight, follow
from swarmd.cli.render import goal_tree
from swarmd.cli.screen import shown, signs_for, wall_ms
from swarmd.cli.words import console
from swarmd.control.api import GoalRequest
from swarmd.events.kinds import Limits, Policy
from swarmd.hardware import probe, room_of
from swarmd.plan.report import report
from swarmd.plan.views import GoalView, TaskView
from swarmd.replica.status import StatusView
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.ids import short

_LIMITS = Limits(depth=2, children=4, tasks=40)  # what a tiny model and two cores do in under three minutes
_POLICY = Policy(lease_ms=12_000, polish=1)
_LEVEL_S_MAX = 20.0  # reconciliation repairs within seconds
_KILL_AFTER_DONE = 2  # tasks finished before a peer is killed, so that it dies in the middle of the work


async def demonstrate(
    text: str, *, nodes: int, model: str, report_file: Path, kill_one: bool, say: Callable[[str], None]
) -> GoalView:
    """Start a household, plan *text*, show it, write the report; the ended goal as the observer has it.

    Raises LocalMistake if the household does not come together, RemoteFault if what it did is not right.
    """
    residents = household(nodes)
    began = time.monotonic()
    say(f"Starting {nodes} peers on this machine: {', '.join(resident.name for resident in residents)}")
    async with started(residents, model, say=say) as home:
        statuses = await home.together()
        how = "mDNS on loopback" if home.by_multicast else "static addresses, since loopback carries no multicast"
        say(f"All found each other ({how}) in {time.monotonic() - began:.1f} s:")
        for peer in home.peers:
            say(f"  {peer.name:<10}{', '.join(peer.resident.roles) or 'observer, says nothing'}")
        _say_model(list(statuses.values()), say)
        async with home.peers[0].client() as client:
            goal = await client.set_goal(GoalRequest(text=text, limits=_LIMITS, policy=_POLICY))
        say(f"Goal {short(goal)}, given to {home.peers[0].name}: “{text}”")
        await home.heard(goal, _LEVEL_S_MAX)
        with shown(sys.stdout) as show:
            async with home.observer.client() as client:
                ended = await follow(client, goal, _killing(home, show, say) if kill_one else show)
        digests = await home.level(goal, _LEVEL_S_MAX)
        async with home.observer.client() as client:
            ended = await client.goal(goal)
            watched = await client.status()
        signs = signs_for(sys.stdout)
        screen = console(sys.stdout, signs)
        screen.print()
        screen.print(goal_tree(ended, now_ms=wall_ms(), signs=signs))
        report_file.parent.mkdir(parents=True, exist_ok=True)
        report_file.write_text(report(ended), "utf-8")
        _check(ended, digests, watched)
        say(f"Plan digest at {', '.join(digests)}: {short(ended.digest)}. All equal.")
        say(f"The observer published {watched.published} messages.")
        say(f"Report: {report_file} ({time.monotonic() - began:.0f} s in all)")
        _say_model(list(statuses.values()), say)
        return ended


def _check(goal: GoalView, digests: dict[str, str], observer: StatusView) -> None:
    """The demo's own promises; what is not so is said, not glossed over."""
    if len(set(digests.values())) != 1:
        raise RemoteFault(f"the peers do not hold the same plan: {digests}")
    if observer.published:
        raise RemoteFault(f"the observer published {observer.published} messages")
    missing = [task.title for task in _leaves(goal.root) if task.status != "done"]
    if goal.status != "done" or missing:
        raise RemoteFault(f"the goal is {goal.status}; without a result: {missing}")


def _leaves(task: TaskView) -> list[TaskView]:
    return [leaf for child in task.children for leaf in _leaves(child)] if task.children else [task]


def _killing(home: Household, show: OnUpdate, say: Callable[[str], None]) -> OnUpdate:
    """Show, and once work is under way kill -9 a peer that holds a claim."""

    def update(sight: Sight) -> None:
        show(sight)
        if len(home.alive) == len(home.peers) and sight.goal.done >= _KILL_AFTER_DONE:
            victim = _holder(home, sight.goal)
            if victim is not None:
                victim.kill()
                say(f"kill -9 {victim.name} (process {victim.process.pid}), in the middle of its work")

    return update


def _holder(home: Household, goal: GoalView) -> Peer | None:
    def claims(task: TaskView) -> list[str]:
        own = [task.claim.executor] if task.status == "claimed" and task.claim else []
        return own + [executor for child in task.children for executor in claims(child)]

    names = {goal.names[executor] for executor in claims(goal.root)}
    return next((peer for peer in home.alive if peer.name in names), None)


def _say_model(statuses: list[StatusView], say: Callable[[str], None]) -> None:
    models = sorted({status.model for status in statuses if status.model})
    say(f"Model: {', '.join(models)}")
    if any(status.tier == "tiny" for status in statuses):
        suggestion = room_of(probe()).suggestion
        pull = f", run `ollama pull {suggestion}`, and start the demo again" if suggestion else " on a larger machine"
        say(
            "A tiny model drafts this plan, so take its words as a sketch. For a better one, install Ollama"
            f" (https://ollama.com){pull}."
        )
