"""`make soak`: six daemons on loopback, a goal a minute, every half a minute one of them dies and starts again.

The last one is never killed. In the last quarter nobody gives goals or kills: what still grows then leaks, while before
that every event takes its room. Memory and descriptors of every process are watched all the time. Ends with status 1
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
from typing import Any, NamedTuple

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
QUIET = 0.25  # of the whole time, at its end
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


class Sample(NamedTuple):
    """Of one process. *at*: seconds."""

    at: float
    resident_bytes: int
    files: int


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
        self.samples: list[Sample] = []  # of the present process
        self.start()

    def start(self) -> None:
        self.samples = []
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
        """Note memory and descriptors now, unless it does not run any more."""
        proc = Path("/proc") / str(self.process.pid)
        resident = int((proc / "statm").read_text().split()[1]) * PAGE_BYTES
        self.samples.append(Sample(time.monotonic(), resident, len(os.listdir(proc / "fd"))))

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

    async def rest(self, seconds: float) -> None:
        """Only watch, for so long."""
        with trio.move_on_after(seconds):
            await self._sample()

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
            for daemon in self.daemons:
                daemon.sample()

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


def slopes(samples: list[Sample]) -> str:
    """Growth by least squares: MiB and descriptors an hour."""
    hours = [sample.at / 3_600 for sample in samples]
    memory = statistics.linear_regression(hours, [sample.resident_bytes / 2**20 for sample in samples]).slope
    files = statistics.linear_regression(hours, [sample.files for sample in samples]).slope
    first, last = samples[0], samples[-1]
    return (
        f"{first.resident_bytes / 2**20:.1f} -> {last.resident_bytes / 2**20:.1f} MiB, {memory:+.1f} MiB an hour; "
        f"{first.files} -> {last.files} descriptors, {files:+.1f} an hour; {(last.at - first.at) / 60:.1f} min"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        soak = Soak(Path(folder), random.Random(options.seed))
        try:
            trio.run(soak.live, options.minutes * 60 * (1 - QUIET))
            began = time.monotonic()
            lost, statuses = trio.run(soak.settle)
            settled = time.monotonic() - began
            quiet_from = time.monotonic()
            trio.run(soak.rest, options.minutes * 60 * QUIET)
            return report(soak, lost, statuses, settled, quiet_from)
        finally:
            soak.end()


def report(soak: Soak, lost: list[str], statuses: list[StatusView | None], settled: float, quiet_from: float) -> int:
    """Print the figures; the exit status."""
    digests = {status.digest if status else "no answer" for status in statuses}
    kills = sum(daemon.kills for daemon in soak.daemons)
    events = statuses[-1].events if statuses[-1] else 0
    print(f"goals acknowledged {len(soak.given)}, lost or unfinished {len(lost)}; kills {kills}; events {events}")
    print(f"digests at the end {len(digests)}; settled {settled:.0f} s after the last kill")
    for daemon, status in zip(soak.daemons, statuses, strict=True):
        print(f"{daemon.name}: {daemon.kills} kills; {status.refused if status else 'no answer'}")
        busy = [each for each in daemon.samples if each.at < quiet_from and each.at - daemon.samples[0].at >= WARM_S]
        for name, samples in (("busy", busy), ("quiet", [each for each in daemon.samples if each.at >= quiet_from])):
            if len(samples) > 2:
                print(f"  {name}: {slopes(samples)}")
    return int(bool(lost) or len(digests) != 1)


if __name__ == "__main__":
    sys.exit(main())
