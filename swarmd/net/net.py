"""The port `Net` on libp2p: one object that the daemon builds once and runs once."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import trio
from multiaddr import Multiaddr

from swarmd.events.envelope import Envelope, Identity, Swarm
from swarmd.gossip.frames import Frame, Live, Presence
from swarmd.net import remembered
from swarmd.net.addresses import expanded, lan_addresses
from swarmd.net.containment import contained
from swarmd.net.discovery import Discovery
from swarmd.net.host import Host, open_host
from swarmd.net.links import Links
from swarmd.net.sync import Sessions
from swarmd.net.topics import Topics
from swarmd.net.wall import Wall
from swarmd.ports import Deliver
from swarmd.vocab.ids import PeerId

LOOK_S = 3.0  # between looks at this machine's addresses, and the longest that a peer's new address is not on disk

_log = logging.getLogger("swarmd.net")


class Libp2pNet:
    """Implements `ports.Net`."""

    def __init__(
        self,
        identity: Identity,
        swarm: Swarm,
        *,
        listen: Sequence[str],
        static_peers: Sequence[str],
        interfaces: Sequence[str],
        mdns: bool,
        psk: bool,
        silent: bool,
        rng: Random,
        memory: Path | None = None,
    ) -> None:
        """*listen*, *static_peers*: multiaddresses, the latter with or without a peer id. *interfaces*: names (or
        addresses) of this machine's interfaces to discover on and to advertise; none: those of the LAN. *silent*: an
        observer, which says nothing. *memory*: the file in which peers' addresses outlive this process.

        Raises LocalMistake for a static peer that is no multiaddress.
        """
        self._identity = identity
        self._swarm = swarm
        self._listen = listen
        self._interfaces = interfaces
        self._mdns = mdns
        self._psk = psk
        self._silent = silent
        self._counters: Counter[str] = Counter()
        self._topics = Topics(swarm.id, identity.peer, silent=silent, counters=self._counters)
        self._memory = memory
        self._known: Mapping[PeerId, Sequence[Multiaddr]] = {}
        if memory is not None:
            self._known = remembered.load(memory)
        self._kept: Mapping[PeerId, Sequence[Multiaddr]] = self._known
        self._links = Links(
            identity.peer, static_peers, rng, self._counters, remembered=self._known, remember=self._note_known
        )
        self._lan = lan_addresses(interfaces)
        self._discovery: Discovery | None = None
        self._host: Host | None = None
        self._sessions: Sessions | None = None

    async def run(self, deliver: Deliver, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """See `ports.Net.run`. Raises LocalMistake if an address cannot be listened on."""
        async with open_host(
            self._identity,
            self._swarm,
            listen=self._listen,
            psk=self._psk,
            silent=self._silent,
            advertise=self._advertised,
        ) as host:
            self._host = host
            self._sessions = Sessions(host.libp2p, deliver, silent=self._silent, counters=self._counters)
            async with trio.open_nursery() as nursery:
                await nursery.start(self._sessions.run)
                await nursery.start(self._links.run, host, deliver)
                await nursery.start(self._topics.run, host.pubsub, deliver, self._links.heard)
                if self._mdns:
                    self._discovery = self._discoverer(host)
                    nursery.start_soon(self._discovery.run)
                nursery.start_soon(self._look)
                _log.info("listening on %s", ", ".join(self.addresses()) or "no address of the LAN yet")
                task_status.started()

    def also(self, static_peers: Sequence[str]) -> None:
        """Keep links with these peers as well. Raises LocalMistake for one that is no multiaddress."""
        self._links.also(static_peers)

    def publish(self, envelopes: Sequence[Envelope]) -> None:
        """See `ports.Net.publish`. Raises LocalMistake for an event over the limit."""
        self._topics.publish(envelopes)

    def announce(self, presence: Presence) -> None:
        """See `ports.Net.announce`. Raises LocalMistake for a presence over the limit."""
        self._topics.announce(presence)

    def stream(self, live: Live) -> None:
        """See `ports.Net.stream`. Raises LocalMistake for a chunk over the limit."""
        self._topics.stream(live)

    def sync_open(self, session: int, peer: PeerId) -> None:
        """See `ports.Net.sync_open`."""
        self._running().open(session, peer)

    def sync_send(self, session: int, frame: Frame) -> None:
        """See `ports.Net.sync_send`."""
        self._running().send(session, frame)

    def sync_close(self, session: int) -> None:
        """See `ports.Net.sync_close`."""
        self._running().close(session)

    def addresses(self) -> tuple[str, ...]:
        """See `ports.Net.addresses`."""
        return tuple(map(str, self._host.libp2p.get_addrs())) if self._host is not None else ()

    def counters(self) -> dict[str, int]:
        """See `ports.Net.counters`. Sorted by name; faults that were contained count for the whole process."""
        return dict(
            sorted((name, count) for name, count in (self._counters + contained + Wall.refused).items() if count)
        )

    def notices(self) -> tuple[str, ...]:
        """See `ports.Net.notices`."""
        return (self._discovery.notices() if self._discovery is not None else ()) + self._links.notices()

    async def _look(self) -> None:
        """Notice interfaces and addresses that come, go or change, and keep what was learnt of peers."""
        while True:
            await trio.sleep(LOOK_S)
            before, self._lan = self._lan, await trio.to_thread.run_sync(lan_addresses, self._interfaces)
            if self._lan != before:
                _log.info("this machine is now at %s", ", ".join(self._lan) or "no address of the LAN")
                if self._discovery is not None:
                    self._discovery.use(self._lan)
                self._links.moved([address.partition("%")[0] for address in before if address not in self._lan])
            if self._memory is not None and self._known != self._kept:
                self._kept = self._known
                await trio.to_thread.run_sync(remembered.save, self._memory, self._known)

    def _note_known(self, known: Mapping[PeerId, Sequence[Multiaddr]]) -> None:
        self._known = known

    def _running(self) -> Sessions:
        assert self._sessions is not None, "sync was used before the network ran"
        return self._sessions

    def _advertised(self, listening: list[Multiaddr]) -> list[Multiaddr]:
        return expanded(listening, self._lan)

    def _discoverer(self, host: Host) -> Discovery:
        listening = host.libp2p.get_transport_addrs()
        discovery = Discovery(
            self._identity.peer, self._swarm.id, listening, found=self._links.found, lost=self._links.lost
        )
        discovery.use(self._lan)
        return discovery
