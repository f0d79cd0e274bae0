"""A switch with booted hosts on it, and the weather between them.

The bridge lies in a network namespace of its own, so two runs never meet, and the machine's own network sees nothing.
"""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.hosts.base import base
from tests.hosts.cgroup import Cgroup
from tests.hosts.command import run
from tests.hosts.host import LAN_INTERFACE, Host
from tests.namespaces import WITH_US, Namespace

PREFIX = "10.77.0."
OUR_ADDRESS = f"{PREFIX}1"  # of the machine that deploys, which is the bridge itself
_RULES = """\
table bridge weather
delete table bridge weather
table bridge weather {{
    chain forward {{
        type filter hook forward priority 0
        {rules}
    }}
}}
"""


class Lan:
    """Made empty. *name*: of its control group, unique on this machine; *folder*: for the disks."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder
        self._ports: dict[str, str] = {}  # by host
        self._rules: list[str] = []
        self._number = 1
        self.hosts: list[Host] = []
        self.bridge = Namespace()
        self.bridge.ip("link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        self.bridge.ip("addr", "add", f"{OUR_ADDRESS}/24", "dev", "br0")
        self.bridge.ip("link", "set", "br0", "up")

    def host(self, name: str, suite: str = "bookworm", *layers: Path, boot: bool = True) -> Host:
        """One more machine, with the next address of the LAN. *layers*: what is on its disk beyond the suite's base."""
        self._number += 1
        net = Namespace()
        host = Host(name, suite, [*layers, base(suite)], self._folder / name, net, Cgroup(f"{self._name}/{name}"))
        self.hosts.append(host)
        port = self._ports[name] = f"port{self._number}"
        self.bridge.ip("link", "add", port, "type", "veth", "peer", "name", LAN_INTERFACE, "netns", str(net.pid))
        self.bridge.ip("link", "set", port, "master", "br0", "up")
        net.ip("link", "set", LAN_INTERFACE, "up")
        self.address(host, f"{PREFIX}{self._number}")
        if boot:
            host.boot()
        return host

    def boot(self) -> None:
        """Switch on all that are off, at once."""
        off = [host for host in self.hosts if not host.on]
        for host in off:
            host.boot(wait=False)
        for host in off:
            host.wait_booted()

    def run(self, *command: str, check: bool = True, seconds: float = 600.0) -> str:
        """What *command* prints on the machine that deploys: this one, with the LAN as its only network."""
        return run(*self.bridge.inside, *command, check=check, seconds=seconds)

    @contextmanager
    def serve(self, *command: str) -> Iterator[None]:
        """Let *command* serve the LAN from the machine that deploys for the length of a block, which begins with its
        first line."""
        server = subprocess.Popen([*WITH_US, *self.bridge.inside, *command], stdout=subprocess.PIPE)
        assert server.stdout is not None
        try:
            assert server.stdout.readline(), f"{command} ended"
            yield
        finally:
            server.kill()
            server.wait()
            server.stdout.close()

    def address(self, host: Host, address: str) -> None:
        """Give *host* this IPv4 address instead of the one that it has."""
        host.net.ip("-4", "addr", "flush", "dev", LAN_INTERFACE)
        host.net.ip("addr", "add", f"{address}/24", "broadcast", f"{PREFIX}255", "dev", LAN_INTERFACE)
        host.net.ip("route", "replace", "default", "via", OUR_ADDRESS)
        host.address = address

    def remove(self) -> None:
        """End all, leave no trace."""
        for host in self.hosts:
            host.remove()
        self.bridge.end()

    # --- faults of the wire ----------------------------------------------------------------------------------------

    def plug(self, host: Host, *, into_switch: bool) -> None:
        """Pull the cable, or put it back: the host sees its link go down."""
        self.bridge.ip("link", "set", self._ports[host.name], "up" if into_switch else "down")

    def cable(self, host: Host, *, whole: bool) -> None:
        """Break the cable behind the wall, or mend it: the host's link stays up, and nothing comes through."""
        self.bridge.ip("link", "set", self._ports[host.name], *(["master", "br0"] if whole else ["nomaster"]))

    def bandwidth(self, host: Host, kilobits_s: int | None) -> None:
        """Let no more than this through to *host*; None: all."""
        device = ["dev", self._ports[host.name], "root"]
        if kilobits_s is None:
            run(*self.bridge.inside, "tc", "qdisc", "del", *device)
        else:
            shape = ["rate", f"{kilobits_s}kbit", "burst", "16kb", "latency", "400ms"]
            run(*self.bridge.inside, "tc", "qdisc", "replace", *device, "tbf", *shape)

    def partition(self, *sides: Sequence[Host]) -> None:
        """From now on, frames pass only between hosts of one side. In silence: every link stays up."""
        for side in sides:
            others = [host for other in sides if other is not side for host in other]
            if side and others:
                self._rules.append(f"iifname {self._set(side)} oifname {self._set(others)} drop")
        self._apply()

    def lose(self, percent: int) -> None:
        """From now on, lose so many of a hundred frames between hosts, by chance."""
        self._rules.append(f"numgen random mod 100 < {percent} drop")
        self._apply()

    def drop_multicast(self) -> None:
        """From now on, no multicast passes, as on some routers' Wi-Fi. ARP and IPv6 neighbour discovery do."""
        self._rules += ["ip daddr 224.0.0.0/4 drop", "ip6 daddr ff02::fb drop"]
        self._apply()

    def heal(self) -> None:
        """Fair weather: no partition, no loss, multicast passes."""
        self._rules = []
        self._apply()

    def _set(self, hosts: Sequence[Host]) -> str:
        return "{ " + ", ".join(self._ports[host.name] for host in hosts) + " }"

    def _apply(self) -> None:
        rules = _RULES.format(rules="\n        ".join(self._rules))
        run(*self.bridge.inside, "nft", "--file", "-", feed=rules)


@contextmanager
def lan(name: str, folder: Path) -> Iterator[Lan]:
    """A LAN for the length of a block."""
    built = Lan(name, folder)
    try:
        yield built
    finally:
        built.remove()
