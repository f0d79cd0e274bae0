"""Several booted hosts whose daemons are one swarm, and what a test asks of them.

Daemons are asked over their control sockets from outside, which costs a host nothing that would spoil a measurement.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import trio
from msgspec import Struct

from swarmd.control.api import GoalRequest
from swarmd.control.client import SYSTEM_SOCKET, Client
from swarmd.events.kinds import Limits, Policy
from swarmd.plan.report import walk
from swarmd.plan.views import GoalView, TaskView
from swarmd.replica.status import PeerView, StatusView
from swarmd.vocab.faults import RemoteFault, UnknownId, Unreachable
from tests.hosts.command import until
from tests.hosts.host import Host
from tests.hosts.lan import Lan
from tests.hosts.packages import suites

NAMES = ("kitchen", "study", "attic", "cellar", "porch")
WORK_MS = (
    2_000  # what the scripted model takes for each answer: a fault hits in its midst, and a goal takes half a minute
)
AT_WORK = f"""\
[model]
backend = "scripted"
delay_ms = {WORK_MS}
[timing]
presence_s = 1.0
deliberation_s = 2.0
ballot_s = 1.0
"""
TASKS = 5  # of a goal of these tests: four leaves and the composition
LEASE_S = 10.0  # of the goals of these tests: a tenth of a test's time, where a home waits for a minute
PATIENCE_S = 180.0  # for a goal's end on a loaded machine; an idle one takes a quarter

_T = TypeVar("_T")


class Work(Struct, frozen=True):
    """A leaf that a host holds now. *text*: what has been seen of it so far."""

    host: Host
    task: str
    text: str


class Swarm:
    """*deployed*: for a suite, the disk that the playbook leaves; *folder*: a new one, for the hosts' settings."""

    def __init__(self, home: Lan, deployed: Callable[[str], Path], folder: Path) -> None:
        self.home = home
        self.goals: list[str] = []  # all that were acknowledged
        self._deployed = deployed
        self._folder = folder

    @property
    def hosts(self) -> list[Host]:
        """All of them, those that are off included."""
        return self.home.hosts

    def add(self, name: str, settings: str = AT_WORK, *layers: Path, suite: str = "") -> Host:
        """One more machine, off, deployed with these *settings*. The third of three is of another *suite* if none is
        asked for and there is a package for it."""
        layer = self._folder / f"{name}-{len(list(self._folder.glob('*')))}"
        told = layer / "etc/swarmd/config.d/fleet.toml"  # the playbook's file for them
        told.parent.mkdir(parents=True)
        told.write_text(settings)
        suite = suite or suites()[len(self.hosts) // 2 % len(suites())]
        return self.home.host(name, suite, *layers, layer, self._deployed(suite), boot=False)

    def replace(self, host: Host, *layers: Path) -> Host:
        """Another machine in the place of *host*, off, with the same name, and nothing of its disk but *layers*."""
        self.hosts.remove(host)
        host.remove()
        return self.add(host.name, AT_WORK, *layers)

    # --- questions -------------------------------------------------------------------------------------------------

    def status(self, host: Host) -> StatusView | None:
        """What `swarmctl status` shows; None while it does not answer."""
        return _ask(host, Client.status)

    def peers(self, host: Host) -> tuple[PeerView, ...]:
        """What `swarmctl peers` shows."""
        return _ask(host, Client.peers) or ()

    def view(self, host: Host, goal: str) -> GoalView | None:
        """What `swarmctl show` shows; None while it knows nothing of the goal."""
        return _ask(host, lambda client: client.goal(goal))

    def names(self) -> dict[str, Host]:
        """The hosts that answer, by their ids as peers."""
        return {status.id: host for host in self.hosts if (status := self.status(host)) is not None}

    def done(self, goal: str, hosts: Iterable[Host] = ()) -> bool:
        """Whether *hosts*, or all, see the goal done."""
        views = [self.view(host, goal) for host in hosts or self.hosts]
        return all(view is not None and view.status == "done" for view in views)

    def level(self, hosts: Iterable[Host] = ()) -> bool:
        """Whether *hosts*, or all, have the same events and show the same plan, and may speak."""
        statuses = [self.status(host) for host in hosts or self.hosts]
        return len({s and (s.digest, s.fingerprint) for s in statuses}) == 1 and all(
            s and s.caught_up for s in statuses
        )

    def work(self, goal: str, seen_by: Host) -> Iterator[Work]:
        """Who works on what now, as *seen_by* sees it."""
        view, names = self.view(seen_by, goal), self.names()
        for task in tasks(view) if view is not None else ():
            if task.leaf and task.status == "claimed" and task.claim is not None and task.claim.executor in names:
                yield Work(names[task.claim.executor], task.id, task.stream)

    # --- what is done ----------------------------------------------------------------------------------------------

    def meet(self, hosts: Iterable[Host] = (), seconds: float = PATIENCE_S) -> float:
        """Wait until each of *hosts*, or all, hears all others and has caught up; the seconds that it took."""
        waited = list(hosts or self.hosts)
        return self.until(
            lambda: all(
                (status := self.status(host)) is not None and status.caught_up and status.peers_alive == len(waited) - 1
                for host in waited
            ),
            seconds,
        )

    def give(self, host: Host, text: str = "A birthday party for a ten-year-old") -> str:
        """Set a goal of one split, four leaves and a composition; its id. From now on it must end."""
        policy = Policy(lease_ms=int(LEASE_S * 1_000))
        request = GoalRequest(text=text, limits=Limits(depth=1), policy=policy)
        goal = _ask(host, lambda client: client.set_goal(request))
        assert goal is not None, f"{host.name} does not answer"
        self.goals.append(goal)
        return goal

    def caught(self, goal: str, seen_by: Host, *, but: Iterable[Host] = (), writing: bool = True) -> Work:
        """Wait until a host other than *but* holds a leaf, and is in the midst of *writing* it."""
        caught: list[Work] = []

        def is_caught() -> bool:
            caught.extend(
                work for work in self.work(goal, seen_by) if work.host not in but and (work.text or not writing)
            )
            return bool(caught)

        self.until(is_caught)
        return caught[0]

    def end(self, goal: str, hosts: Iterable[Host] = ()) -> float:
        """Wait until *hosts*, or all, see the goal done; the seconds that it took."""
        return self.until(lambda: self.done(goal, hosts))

    def cut_power(self, *hosts: Host) -> None:
        """Let *hosts* go dark at once. Their links break first: the kernel, which lives on, would say goodbye."""
        for host in hosts:
            self.home.cable(host, whole=False)
        for host in hosts:
            host.kill()
            self.home.cable(host, whole=True)

    def until(self, condition: Callable[[], object], seconds: float = PATIENCE_S) -> float:
        """Wait until *condition* holds; the seconds that it took. Fails with what every host says of itself."""
        return until(condition, seconds, why=self.story)

    def pass_by(self, seconds: float) -> None:
        """Let a fault last for so long."""
        ends = time.monotonic() + seconds
        until(lambda: time.monotonic() >= ends, seconds + 5)

    def story(self) -> str:
        """How every host does, and the end of its log."""
        return "\n".join(f"--- {host.name}: {self._told(host)}" for host in self.hosts)

    def _told(self, host: Host) -> str:
        if not host.on:
            return "off"
        states = [f"{goal[:8]} {_states(self.view(host, goal))}" for goal in self.goals]
        return f"{self.status(host)}\n{states}\n{host.log()[-3000:]}"


def tasks(view: GoalView) -> list[TaskView]:
    """All tasks of a goal."""
    return list(walk(view.root))


def task_of(view: GoalView, task: str) -> TaskView:
    """One task of a goal."""
    return next(each for each in tasks(view) if each.id == task)


def _states(view: GoalView | None) -> str:
    return ", ".join(f"{task.title}: {task.status}" for task in tasks(view)) if view is not None else "unknown"


def _ask(host: Host, question: Callable[[Client], Awaitable[_T]]) -> _T | None:
    root = host.root()
    if root is None:
        return None

    async def asked() -> _T:
        async with Client(root / SYSTEM_SOCKET.relative_to("/")) as client:
            return await question(client)

    try:
        return trio.run(asked)
    except (Unreachable, RemoteFault, UnknownId):
        return None
