"""The demo's daemons as child processes, each with its own identity, state directory and control socket.

However the demo ends, its children end: by SIGTERM, by SIGKILL after some seconds, and by the kernel if the demo
itself is killed.
"""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import IO

import trio

from swarmd.cli.demo.layout import Resident
from swarmd.control.client import Client
from swarmd.replica.status import StatusView
from swarmd.store.keys import new_key, write_key
from swarmd.vocab.faults import LocalMistake, RemoteFault

_START_S_MAX = 90.0  # five interpreters and four models starting on two slow cores
_STOP_S_MAX = 3.5  # after which a daemon is killed; Ctrl-C shall take five seconds at most
_POLL_S = 0.25
_REAP_S = 0.05
_PR_SET_PDEATHSIG = 1  # prctl(2)
_MDNS_GROUP = "224.0.0.251"  # RFC 6762


class Peer:
    """One running daemon of the household."""

    def __init__(self, resident: Resident, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.resident = resident
        self.folder = folder
        self.process = process
        self.killed = False

    @property
    def name(self) -> str:
        """What it is called in the swarm."""
        return self.resident.name

    def client(self) -> Client:
        """A client of its control socket."""
        return Client(self.folder / "control.sock")

    def kill(self) -> None:
        """End it as a power cut would (SIGKILL)."""
        self.killed = True
        self.process.kill()

    def last_words(self) -> str:
        """The end of its log."""
        lines = (self.folder / "log").read_text("utf-8", "replace").splitlines()
        return "\n".join(lines[-5:])


class Household:
    """All daemons of one demo, in a directory of their own."""

    def __init__(self, folder: Path, peers: list[Peer], *, by_multicast: bool) -> None:
        self.folder = folder
        self.peers = peers
        self.by_multicast = by_multicast

    @property
    def observer(self) -> Peer:
        """The peer that only listens."""
        return self.peers[-1]

    @property
    def alive(self) -> list[Peer]:
        """Those that were not killed on purpose."""
        return [peer for peer in self.peers if not peer.killed]

    async def together(self) -> dict[str, StatusView]:
        """Wait until every peer hears every other one, is level and knows its model; their status by name.

        Raises LocalMistake with a peer's last log lines if it ends, or does not get there in time.
        """
        speaking = sum(1 for peer in self.peers if peer.resident.roles)
        found: dict[str, StatusView] = {}
        with trio.move_on_after(_START_S_MAX):
            while len(found) < len(self.peers):
                for peer in self.peers:
                    self._must_live(peer)
                    status = await _status(peer)
                    if status is not None and _is_ready(peer, status, speaking):
                        found[peer.name] = status
                    else:
                        found.pop(peer.name, None)
                await trio.sleep(_POLL_S)
        for peer in self.peers:
            if peer.name not in found:
                raise LocalMistake(f"{peer.name} did not join in {_START_S_MAX:.0f} s\n{peer.last_words()}")
        return found

    async def heard(self, goal: str, within_s: float) -> None:
        """Wait until the observer has heard of *goal*. Raises RemoteFault after *within_s*."""
        with trio.move_on_after(within_s):
            async with self.observer.client() as client:
                while not any(line.id == goal for line in await client.goals()):
                    await trio.sleep(_POLL_S)
                return
        raise RemoteFault(f"{self.observer.name} has not heard of the goal in {within_s:.0f} s")

    async def level(self, goal: str, within_s: float) -> dict[str, str]:
        """The digest of *goal* at every living peer, by name; waits up to *within_s* for them to be equal."""
        digests: dict[str, str] = {}
        with trio.move_on_after(within_s):
            while True:
                for peer in self.alive:
                    async with peer.client() as client:
                        digests[peer.name] = (await client.goal(goal)).digest
                if len(set(digests.values())) == 1:
                    break
                await trio.sleep(_POLL_S)
        return digests

    def _must_live(self, peer: Peer) -> None:
        code = peer.process.poll()
        if code is not None:
            raise LocalMistake(f"{peer.name} ended with status {code}\n{peer.last_words()}")


@asynccontextmanager
async def started(
    residents: tuple[Resident, ...], model: str, *, say: Callable[[str], None]
) -> AsyncIterator[Household]:
    """Start a household and end it afterwards. Its directory is removed, or kept and named if something went wrong."""
    folder = Path(tempfile.mkdtemp(prefix="swarmd-demo-"))
    peers: list[Peer] = []
    keep = False  # also after an interruption there is nothing to look into
    try:
        write_key(folder / "swarm.key", new_key())
        multicast = loopback_carries_multicast()
        ports = [_free_port() for _ in residents]
        for index, resident in enumerate(residents):
            others = [] if multicast else [f"/ip4/127.0.0.1/tcp/{p}" for p in ports[:index]]
            peers.append(_start(folder, resident, ports[index], others, model, multicast=multicast))
        yield Household(folder, peers, by_multicast=multicast)
    except Exception:
        say(f"the daemons' logs and journals are kept in {folder}")
        keep = True
        raise
    finally:
        await _end(peers)
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def loopback_carries_multicast() -> bool:
    """Whether a multicast datagram sent on the loopback interface arrives there: then mDNS finds the peers."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as ear:
        try:
            loopback = socket.inet_aton("127.0.0.1")
            ear.bind(("", 0))
            ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(_MDNS_GROUP) + loopback)
            ear.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, loopback)
            ear.settimeout(0.5)
            ear.sendto(b"swarmd", (_MDNS_GROUP, ear.getsockname()[1]))
            return ear.recv(16) == b"swarmd"
        except OSError:
            return False


def _start(folder: Path, resident: Resident, port: int, others: list[str], model: str, *, multicast: bool) -> Peer:
    home = folder / resident.name
    home.mkdir()
    config = home / "config.toml"
    config.write_text(_config(folder, home, resident, port, others, model, multicast=multicast), "utf-8")
    with (home / "log").open("wb") as log:
        process = _spawn(config, log)
    return Peer(resident, home, process)


def _spawn(config: Path, log: IO[bytes]) -> "subprocess.Popen[bytes]":
    # from the main thread: the kernel ends the child with the thread that made it
    parent = os.getpid()
    return subprocess.Popen(
        [sys.executable, "-m", "swarmd", "run", "--config", str(config)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env={key: value for key, value in os.environ.items() if not key.startswith("SWARMD_")},
        start_new_session=True,  # Ctrl-C is for the demo, which ends its children in order
        preexec_fn=lambda: _die_with(parent),
    )


def _die_with(parent: int) -> None:
    """In the child: have the kernel end it when the demo dies (Linux), and end at once if that has happened already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


async def _end(peers: list[Peer]) -> None:
    with trio.CancelScope(shield=True):
        for peer in peers:
            if peer.process.poll() is None:
                peer.process.terminate()
        with trio.move_on_after(_STOP_S_MAX):
            while any(peer.process.poll() is None for peer in peers):
                await trio.sleep(_REAP_S)
        for peer in peers:
            if peer.process.poll() is None:
                peer.process.kill()
            peer.process.wait()


async def _status(peer: Peer) -> StatusView | None:
    try:
        async with peer.client() as client:
            return await client.status()
    except (LocalMistake, RemoteFault):
        return None


def _is_ready(peer: Peer, status: StatusView, speaking: int) -> bool:
    others = speaking - (1 if peer.resident.roles else 0)
    knows_model = not peer.resident.roles or bool(status.model)
    return status.peers_alive >= others and status.caught_up and knows_model


def _config(
    folder: Path, home: Path, resident: Resident, port: int, others: list[str], model: str, *, multicast: bool
) -> str:
    def quoted(value: object) -> str:
        return json.dumps(value)  # TOML's basic strings and arrays of them are JSON's

    return f"""\
name = {quoted(resident.name)}
roles = {quoted(resident.roles)}
swarm_key = {quoted(str(folder / "swarm.key"))}
state_dir = {quoted(str(home / "state"))}

[control]
socket = {quoted(str(home / "control.sock"))}
socket_mode = "0600"

[net]
listen = [{quoted(f"/ip4/127.0.0.1/tcp/{port}")}]
peers = {quoted(others)}
interfaces = ["127.0.0.1"]
mdns = {quoted(multicast)}

[model]
backend = {quoted(model)}
threads = 1
delay_ms = 300

[timing]
presence_s = 1.0
deliberation_s = 25.0
ballot_s = 8.0
settle_ms = 300
"""


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
