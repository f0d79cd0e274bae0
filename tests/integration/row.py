"""Daemons on loopback that know each other by static addresses, asked over their sockets."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import trio

from swarmd.control.api import GoalRequest
from swarmd.control.client import Client
from swarmd.events.envelope import Swarm
from swarmd.plan.views import GoalView
from swarmd.replica.status import StatusView
from swarmd.store.keys import swarm_text
from swarmd.vocab.faults import RemoteFault, UnknownId, Unreachable

PATIENCE_S = 60.0  # a loaded machine; most waits take two seconds

CONFIG = """\
name = "{name}"
swarm_key = "{folder}/swarm.key"
state_dir = "{folder}/state"
roles = ["decomposer", "scorer", "executor"]

[control]
socket = "{folder}/c.sock"

[net]
listen = ["/ip4/127.0.0.1/tcp/{port}"]
interfaces = ["127.0.0.1"]
peers = [{peers}]
mdns = false

[model]
backend = "scripted"
delay_ms = {delay_ms}

[timing]
presence_s = {presence_s}
deliberation_s = 2.0
ballot_s = 1.0
settle_ms = 100
"""


class Daemon:
    """One `swarmd run`, or *program* in its place, with all that it owns in one folder."""

    def __init__(self, folder: Path, swarm: Swarm, program: str = "swarmd") -> None:
        folder.mkdir()
        self.name = folder.name
        self.folder = folder
        self.journal = folder / "state" / "journal.db"
        self._program = program
        self._port = 0  # the first one that is free, which it then keeps
        self.process: subprocess.Popen[bytes] | None = None
        self.hold(swarm)

    def hold(self, swarm: Swarm) -> None:
        """Have these keys from the next start on."""
        (self.folder / "swarm.key").touch(mode=0o600)
        (self.folder / "swarm.key").write_text(swarm_text(swarm))

    def start(self, *peers: "Daemon", delay_ms: int = 50, presence_s: float = 0.5) -> "Daemon":
        """Start, and wait until it answers. *peers*: whose addresses it is told."""
        config = CONFIG.format(
            name=self.name, folder=self.folder, port=self._port, delay_ms=delay_ms, presence_s=presence_s,
            peers=", ".join(f'"{peer.address}"' for peer in peers),
        )  # fmt: skip
        (self.folder / "config.toml").write_text(config)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *("setpriv", "--pdeathsig", "KILL", sys.executable, "-m", self._program, "run", "--verbose"),
                    *("--config", str(self.folder / "config.toml")),
                ],
                stderr=log,
            )
        self.until(lambda: self.status() is not None)
        self._port = int(self.address.split("/")[4])
        return self

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    @property
    def address(self) -> str:
        """Where it listens."""
        return self.now().addresses[0]

    @property
    def log(self) -> str:
        """What it has said so far."""
        return (self.folder / "log").read_text("utf-8", "replace")

    def ask(self, question: Callable[[Client], Any]) -> Any:
        """The answer to one question on the control socket; None if nobody answers."""

        async def asked() -> Any:
            async with Client(self.folder / "c.sock") as client:
                return await question(client)

        try:
            return trio.run(asked)
        except (Unreachable, RemoteFault):
            return None

    def status(self) -> StatusView | None:
        """What `swarmctl status` shows."""
        status: StatusView | None = self.ask(Client.status)
        return status

    def now(self) -> StatusView:
        """The same, of a daemon that must answer."""
        status = self.status()
        assert status is not None, self.log[-4000:]
        return status

    def give(self, text: str, depth: int = 1) -> str:
        """Set a goal; its id."""
        request = msgspec.convert({"text": text, "limits": {"depth": depth, "children": 5, "tasks": 40}}, GoalRequest)
        goal: str = self.ask(lambda client: client.set_goal(request))
        assert goal, self.log[-4000:]
        return goal

    def goal(self, identifier: str) -> GoalView | None:
        """What `swarmctl show` shows; None while it has not heard of the goal."""
        try:
            view: GoalView | None = self.ask(lambda client: client.goal(identifier))
        except UnknownId:
            return None
        return view

    def finished(self, identifier: str) -> bool:
        """Whether it sees the goal done."""
        view = self.goal(identifier)
        return view is not None and view.status == "done"

    def resident_bytes(self) -> int:
        """Memory that it takes."""
        return int((self._proc / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def open_files(self) -> int:
        """Descriptors that it holds."""
        return len(os.listdir(self._proc / "fd"))

    def until(self, condition: Callable[[], Any], seconds: float = PATIENCE_S) -> float:
        """Wait until *condition* holds; how long it took. Fails with the log after *seconds*."""
        started = time.monotonic()
        while time.monotonic() - started < seconds:
            if condition():
                return time.monotonic() - started
            assert self.process is None or self.process.poll() is None, f"{self.name} ended\n{self.log[-4000:]}"
            time.sleep(0.05)
        raise AssertionError(f"{self.name} did not get there in {seconds} s\n{self.log[-4000:]}")

    @property
    def _proc(self) -> Path:
        assert self.process is not None
        return Path("/proc") / str(self.process.pid)


@contextmanager
def row(folder: Path, swarm: Swarm, *names: str) -> Iterator[list[Daemon]]:
    """Daemons that are not started yet, and end with the block."""
    assert shutil.which("setpriv"), "daemons that end with their test need util-linux"
    daemons = [Daemon(folder / name, swarm) for name in names]
    try:
        yield daemons
    finally:
        for daemon in daemons:
            daemon.kill()


def meet(daemons: Sequence[Daemon], seconds: float = PATIENCE_S) -> float:
    """Wait until each is linked with each other one and hears it; how long it took."""

    def met(daemon: Daemon) -> bool:
        status = daemon.now()
        return status.peers_connected == status.peers_alive == len(daemons) - 1

    return daemons[0].until(lambda: all(met(daemon) for daemon in daemons), seconds)


def level(daemons: Sequence[Daemon], seconds: float = PATIENCE_S) -> float:
    """Wait until all have one digest; how long it took."""
    return daemons[0].until(lambda: len({daemon.now().digest for daemon in daemons}) == 1, seconds)
