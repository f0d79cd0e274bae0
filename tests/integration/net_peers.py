"""Real peers on loopback for the tests of the network: one `Libp2pNet` each, its inputs kept in a list."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any, TypeVar

import trio
from libp2p.abc import IHost
from libp2p.network.swarm import Swarm as Network
from libp2p.peer.id import ID
from libp2p.pubsub.pubsub import Pubsub

from swarmd.events.envelope import Envelope, Identity, Swarm
from swarmd.gossip.frames import Live, Presence
from swarmd.net import Libp2pNet
from swarmd.replica.inputs import Connected, Heard, Input
from swarmd.vocab.ids import EventId

HOME = Swarm.of_key(b"h" * 32)
NEIGHBOUR = Swarm.of_key(b"n" * 32)
PATIENCE_S = 20.0  # a loaded machine; a pass takes a tenth of a second
_T = TypeVar("_T")


class Peer:
    """A running peer."""

    def __init__(self, name: str, swarm: Swarm = HOME, static: Sequence["Peer | str"] = (), **options: Any) -> None:
        self.identity = Identity(name.encode().ljust(32, b"."))
        self.inputs: list[Input] = []
        self.scope = trio.CancelScope()
        settings: dict[str, Any] = {"listen": ["/ip4/127.0.0.1/tcp/0"], "mdns": False, "psk": False, "silent": False}
        addresses = [peer if isinstance(peer, str) else peer.address for peer in static]
        self.net = Libp2pNet(
            self.identity,
            swarm,
            static_peers=addresses,
            interfaces=["127.0.0.1"],
            rng=Random(name),
            **(settings | options),
        )

    @property
    def address(self) -> str:
        return self.net.addresses()[0]

    @property
    def id(self) -> ID:
        return ID.from_base58(self.identity.peer)

    @property
    def libp2p(self) -> IHost:
        assert self.net._host is not None
        return self.net._host.libp2p

    @property
    def network(self) -> Network:
        assert self.net._host is not None
        return self.net._host.network

    @property
    def pubsub(self) -> Pubsub:
        assert self.net._host is not None
        return self.net._host.pubsub

    def of(self, kind: type[_T]) -> list[_T]:
        return [each for each in self.inputs if isinstance(each, kind)]

    def links(self) -> set[str]:
        return {each.peer for each in self.of(Connected)}

    def events(self) -> set[bytes]:
        return {envelope.payload for heard in self.of(Heard) for envelope in heard.envelopes}

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Peer"]:
        async with trio.open_nursery() as nursery:
            await nursery.start(self.live)
            yield self
            self.scope.cancel()

    async def live(self, *, task_status: trio.TaskStatus[None]) -> None:
        """The same in a task, for lives that do not end in the reverse order of their beginnings."""
        with self.scope:
            await self.net.run(self.inputs.append, task_status=task_status)


async def until(
    condition: Callable[[], Any], seconds: float = PATIENCE_S, doing: Callable[[], object] = lambda: None
) -> None:
    """Wait until *condition* holds, doing something at every look. Fails loudly after *seconds*."""
    with trio.fail_after(seconds):
        while not condition():
            doing()
            await trio.sleep(0.05)


def envelope(text: str) -> Envelope:
    return Envelope(text.encode(), b"s" * 64)


def presence(name: str) -> Presence:
    return Presence(name=name, roles=("scorer",), wall_ms=1, hlc=1, fingerprint=b"f" * 16, run=b"r" * 16)


def live(text: str, offset: int = 0) -> Live:
    return Live(goal="a" * 64, task="b" * 64, claim=EventId("c" * 64), offset=offset, text=text)
