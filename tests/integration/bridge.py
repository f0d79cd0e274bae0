"""A home network on one machine: network namespaces on a bridge, one for each host, with real daemons in them.

Nothing is ever left behind, whatever happens to the test: see tests.namespaces. Needs root and iproute2.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from swarmd.control.api import GoalRequest
from swarmd.control.client import Client
from swarmd.plan.views import GoalView
from swarmd.replica.status import PeerView, StatusView
from swarmd.store.keys import write_key
from swarmd.vocab.faults import RemoteFault, UnknownId, Unreachable
from tests.namespaces import WITH_US, Namespace

HOME_KEY, NEIGHBOUR_KEY = b"h" * 32, b"n" * 32
PATIENCE_S = 60.0  # a loaded machine; most waits take two seconds

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

CONFIG = """\
name = "{name}"
swarm_key = "{folder}/swarm.key"
state_dir = "{folder}/state"
roles = {roles}

[control]
socket = "{folder}/c.sock"

[net]
listen = {listen}
peers = {peers}

[model]
backend = "scripted"
delay_ms = {delay_ms}

[timing]
presence_s = 1.0
deliberation_s = 2.0
ballot_s = 1.0
settle_ms = 200
"""


class Host:
    """A machine on the bridge, and its daemon."""

    def __init__(self, bridge: Namespace, number: int, folder: Path, *, key: bytes) -> None:
        self.name = f"host{number}"
        self.port = f"port{number}"
        self.folder = folder / self.name
        self.folder.mkdir()
        write_key(self.folder / "swarm.key", key)
        self.net = Namespace()
        self._bridge = bridge
        bridge.ip("link", "add", self.port, "type", "veth", "peer", "name", "lan0", "netns", str(self.net.pid))
        bridge.ip("link", "set", self.port, "master", "br0", "up")
        self.daemon: subprocess.Popen[bytes] | None = None

    def address(self, *addresses: str) -> None:
        """Give the LAN interface these addresses, and take all others away."""
        self.net.ip("addr", "flush", "dev", "lan0", "scope", "global")
        for address in addresses:
            self.net.ip("addr", "add", address, "dev", "lan0", *(["nodad"] if ":" in address else []))

    def link(self, *, up: bool) -> None:
        """Bring the LAN interface up or down."""
        self.net.ip("link", "set", "lan0", "up" if up else "down")

    def cable(self, *, plugged: bool) -> None:
        """Cut the wire at the bridge, in silence: the host's own interface stays up."""
        self._bridge.ip("link", "set", self.port, *(["master", "br0"] if plugged else ["nomaster"]))

    def start(
        self,
        *peers: str,
        listen: tuple[str, ...] = ("/ip4/0.0.0.0/tcp/4001", "/ip6/::/tcp/4001"),
        delay_ms: int = 20,
        roles: str = '["decomposer", "scorer", "executor"]',
    ) -> None:
        """Start the daemon and wait until it answers."""
        config = CONFIG.format(
            name=self.name, folder=self.folder, listen=json.dumps(listen), peers=json.dumps(peers), delay_ms=delay_ms,
            roles=roles,
        )  # fmt: skip
        (self.folder / "config.toml").write_text(config)
        with (self.folder / "log").open("ab") as log:
            self.daemon = subprocess.Popen(
                [
                    *WITH_US, *self.net.inside, sys.executable, "-m", "swarmd", "run", "--verbose",
                    "--config", str(self.folder / "config.toml"),
                ],
                stderr=log,
            )  # fmt: skip
        self.until(lambda: self.status() is not None)

    def kill(self) -> None:
        """End the daemon as a power cut would."""
        if self.daemon is not None:
            self.daemon.kill()
            self.daemon.wait()
            self.daemon = None

    def log(self) -> str:
        """What the daemon has said so far."""
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

    def peers(self) -> tuple[PeerView, ...]:
        """What `swarmctl peers` shows."""
        return self.ask(Client.peers) or ()

    def linked(self) -> set[str]:
        """Names of the peers that are connected and alive."""
        return {peer.name for peer in self.peers() if peer.connected and peer.alive}

    def give(self, text: str) -> str:
        """Set a goal; its id."""
        request = msgspec.convert({"text": text, "limits": {"depth": 1, "children": 5, "tasks": 12}}, GoalRequest)
        goal: str = self.ask(lambda client: client.set_goal(request))
        return goal

    def goal(self, identifier: str) -> GoalView | None:
        """What `swarmctl show` shows; None while this host has not heard of the goal."""
        try:
            view: GoalView | None = self.ask(lambda client: client.goal(identifier))
        except UnknownId:
            return None
        return view

    def received_bytes(self) -> int:
        """What the LAN interface has received, headers and all."""
        for line in Path(f"/proc/{self.net.pid}/net/dev").read_text().splitlines():
            if line.strip().startswith("lan0:"):
                return int(line.split(":")[1].split()[0])
        raise AssertionError("no lan0")

    def busy_s(self) -> float:
        """Processor time that the daemon has used, seconds."""
        assert self.daemon is not None
        fields = Path(f"/proc/{self.daemon.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def until(self, condition: Callable[[], Any], seconds: float = PATIENCE_S) -> float:
        """Wait until *condition* holds; how long it took. Fails with the log after *seconds*."""

        async def wait() -> float:
            started = trio.current_time()
            while trio.current_time() - started < seconds:
                if await trio.to_thread.run_sync(condition):
                    return trio.current_time() - started
                assert self.daemon is None or self.daemon.poll() is None, f"{self.name} ended\n{self.log()[-4000:]}"
                await trio.sleep(0.1)
            raise AssertionError(f"{self.name} did not get there in {seconds} s\n{self.log()[-4000:]}")

        return trio.run(wait)


class Lan:
    """A switch with hosts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.hosts: list[Host] = []
        self.bridge = Namespace()
        self.bridge.ip("link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        self.bridge.ip("link", "set", "br0", "up")

    def host(self, *addresses: str, key: bytes = HOME_KEY, up: bool = True) -> Host:
        """One more machine; without addresses it gets the next one of 10.77.0.0/24."""
        number = len(self.hosts) + 1
        host = Host(self.bridge, number, self._folder, key=key)
        self.hosts.append(host)
        host.address(*(addresses or (f"10.77.0.{number}/24",)))
        if up:
            host.link(up=True)
        return host

    def drop_multicast(self) -> None:
        """Let no multicast pass between hosts, as some routers' Wi-Fi does."""
        for host in self.hosts:
            self.bridge.ip("link", "set", host.port, "type", "bridge_slave", "mcast_flood", "off")

    def end(self) -> None:
        """End every daemon, then every namespace, and with them all that is in them."""
        for host in self.hosts:
            host.kill()
            host.net.end()
        self.bridge.end()


@contextmanager
def lan(folder: Path) -> Iterator[Lan]:
    """A LAN for the length of a block."""
    assert shutil.which("ip"), "the tests in network namespaces need iproute2: apt install iproute2"
    built = Lan(folder)
    try:
        yield built
    finally:
        built.end()
