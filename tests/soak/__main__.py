"""`make soak`: six daemons on loopback, a goal a minute, every half a minute one of them dies and starts again.

The last one is never killed: its memory and its descriptors are what is watched over the whole time. Ends with status 1
if an acknowledged goal is lost or unfinished, or if the daemons do not come to one digest.
"""

import argparse
import functools
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio

from swarmd.control.api import GoalRequest
from swarmd.control.client import Client
from swarmd.events.kinds import Limits
from swarmd.replica.status import StatusView
from swarmd.store.keys import write_key
from swarmd.vocab.faults import LocalMistake, RemoteFault, Unreachable

GOAL_S, KILL_S, SAMPLE_S = 60.0, 30.0, 5.0
WARM_S = 60.0  # caches fill and modules load before memory is worth a look
SETTLE_S = 240.0  # after the last kill, for all goals to end and all digests to be equal
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

CONFIG = """\
name = "{name}"
swarm_key = "{folder}/../swarm.key"
state_dir = "{folder}/state"
roles = ["decomposer", "scorer", "executor"]
[control]
socket = "{folder}/c.sock"
[net]
listen = ["/ip4/127.0.0.1/tcp/{port}"]
interfaces = ["127.0.0.1"]
peers = {peers}
mdns = false
[model]
backend = "scripted"
delay_ms = 200
[timing]
presence_s = 2.0
deliberation_s = 6.0
ballot_s = 2.0
settle_ms = 300
"""


class Daemon:
    """One `swarmd run`."""

    def __init__(self, folder: Path, name: str, port: int, others: list[int]) -> None:
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        peers = json.dumps([f"/ip4/127.0.0.1/tcp/{other}" for other in others])
        config = CONFIG.format(name=name, folder=self.folder, port=port, peers=peers)
        (self.folder / "config.toml").write_text(config)
        self.kills = 0
        self.samples: list[tuple[float, int, int]] = []  # seconds, resident bytes, descriptors
        self.start()

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *("setpriv", "--pdeathsig", "KILL", sys.executable, "-m", "swarmd", "run"),
                    *("--config", str(self.folder / "config.toml")),
                ],
                stderr=log,
            )

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def sample(self) -> None:
        """Note memory and descriptors now."""
        proc = Path("/proc") / str(self.process.pid)
        resident = int((proc / "statm").read_text().split()[1]) * PAGE_BYTES
        self.samples.append((time.monotonic(), resident, len(os.listdir(proc / "fd"))))

    async def ask(self, question: Callable[[Client], Any]) -> Any:
        """None if it does not answer."""
        try:
            async with Client(self.folder / "c.sock") as client:
                return await question(client)
        except (Unreachable, RemoteFault, LocalMistake):
            return None


class Soak:
    """One run."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        write_key(folder / "swarm.key", rng.randbytes(32))
        ports = [free_port() for _ in range(6)]
        self.rng = rng
        self.daemons = [
            Daemon(folder, f"peer{n}", port, [other for other in ports if other != port])
            for n, port in enumerate(ports, 1)
        ]
        self.given: list[str] = []

    async def live(self, seconds: float) -> None:
        """Give goals and kill, for so long."""
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._give)
                nursery.start_soon(self._kill)
                nursery.start_soon(self._sample)

    async def _give(self) -> None:
        number = 0
        while True:
            number += 1
            daemon = self.rng.choice(self.daemons)
            request = GoalRequest(text=f"Prepare party number {number}", limits=Limits(depth=1, children=5, tasks=12))
            goal = await daemon.ask(functools.partial(Client.set_goal, request=request))
            if goal is not None:
                self.given.append(goal)
                await trio.sleep(GOAL_S)
            else:
                await trio.sleep(1)  # it was just killed: nothing was acknowledged

    async def _kill(self) -> None:
        while True:
            await trio.sleep(KILL_S)
            daemon = self.rng.choice(self.daemons[:-1])
            daemon.kill()
            daemon.kills += 1
            daemon.start()

    async def _sample(self) -> None:
        while True:
            await trio.sleep(SAMPLE_S)
            self.daemons[-1].sample()

    async def settle(self) -> tuple[list[str], list[StatusView | None]]:
        """Wait until everything has ended and is equal; the goals that are lost or open, and every peer's status."""
        with trio.move_on_after(SETTLE_S):
            while True:
                statuses = [await daemon.ask(Client.status) for daemon in self.daemons]
                whole = all(statuses) and len({status.digest for status in statuses}) == 1
                if whole and not await self._unfinished():
                    return [], statuses
                await trio.sleep(2)
        return await self._unfinished(), [await daemon.ask(Client.status) for daemon in self.daemons]

    async def _unfinished(self) -> list[str]:
        done: dict[str, str] = {}
        for line in await self.daemons[-1].ask(Client.goals) or ():
            done[line.id] = line.status
        return [goal for goal in self.given if done.get(goal) != "done"]

    def end(self) -> None:
        for daemon in self.daemons:
            daemon.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def slope(samples: list[tuple[float, int]]) -> float:
    """Growth a minute, by least squares."""
    return statistics.linear_regression([at / 60 for at, _ in samples], [value for _, value in samples]).slope


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        soak = Soak(Path(folder), random.Random(options.seed))
        try:
            trio.run(soak.live, options.minutes * 60)
            began = time.monotonic()
            lost, statuses = trio.run(soak.settle)
            settled = time.monotonic() - began
            return report(soak, lost, statuses, settled)
        finally:
            soak.end()


def report(soak: Soak, lost: list[str], statuses: list[StatusView | None], settled: float) -> int:
    """Print the figures; the exit status."""
    watched = soak.daemons[-1].samples
    warm = [sample for sample in watched if sample[0] - watched[0][0] >= WARM_S] or watched
    digests = {status.digest if status else "no answer" for status in statuses}
    kills = sum(daemon.kills for daemon in soak.daemons)
    print(f"goals acknowledged {len(soak.given)}, lost or unfinished {len(lost)}; kills {kills}")
    print(f"digests at the end {len(digests)}; settled {settled:.0f} s after the last kill")
    events = statuses[-1].events if statuses[-1] else 0
    first, last = warm[0], warm[-1]
    print(
        f"resident memory {first[1] / 2**20:.1f} -> {last[1] / 2**20:.1f} MiB over {(last[0] - first[0]) / 60:.1f} min"
    )
    print(f"  slope {slope([(at, rss) for at, rss, _ in warm]) / 1024:+.0f} KiB a minute, with {events} events")
    print(f"descriptors {first[2]} -> {last[2]}, most {max(fds for _, _, fds in warm)}")
    print(f"  slope {slope([(at, fds) for at, _, fds in warm]):+.2f} a minute")
    for daemon, status in zip(soak.daemons, statuses, strict=True):
        print(f"{daemon.name}: {daemon.kills} kills; {status.refused if status else 'no answer'}")
    return int(bool(lost) or len(digests) != 1)


if __name__ == "__main__":
    sys.exit(main())
