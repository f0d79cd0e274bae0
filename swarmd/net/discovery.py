"""Peers of the same swarm on the same LAN find each other by multicast DNS (RFC 6762, service discovery RFC 6763).

Each announces its peer id, its addresses and a digest of the swarm's id; other swarms are counted and not looked at.
zeroconf runs in threads of its own, and what it finds is handed to trio. An interface that is missing, or comes and
goes, is a matter of waiting, never an error: static peers and remembered addresses work without any of this.
"""

import hashlib
import ipaddress
import logging
import socket
from collections.abc import Callable, Sequence

import trio
from multiaddr import Multiaddr
from zeroconf import IPVersion, ServiceBrowser, ServiceInfo, ServiceStateChange, Zeroconf

from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.ids import PeerId, public_key

SERVICE = "_swarmd._tcp.local."
AGAIN_S = 5.0  # after an announcement failed: an IPv6 address is not usable for a second or two after it came
ALONE_S = 20.0  # without hearing anybody, after which to begin anew: the library asks ever more rarely, up to an hour
ANSWER_MS = 3_000  # for a peer's addresses, after its name was heard
GOODBYE_S = 1.5  # to take back the announcement when stopping
ADDRESSES_MAX = 8  # of one peer that are tried
DEAF_S = 10.0  # without hearing anybody, after which it is said; answers take one or two

Found = Callable[[PeerId, Sequence[tuple[str, int]]], None]
Lost = Callable[[PeerId], None]

_log = logging.getLogger("swarmd.net.discovery")


class Discovery:
    """Announces this peer and looks for others."""

    def __init__(self, own: PeerId, swarm_id: str, listening: Sequence[Multiaddr], *, found: Found, lost: Lost) -> None:
        """*listening*: where this peer accepts connections."""
        self._own = own
        self._swarm = hashlib.sha256(f"swarmd/mdns/1 {swarm_id}".encode()).hexdigest()[:16]
        self._listening = listening
        self._found = found
        self._lost = lost
        self._zeroconf: Zeroconf | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._wanted: tuple[str, ...] = ()
        self._changed = trio.Event()
        self._since = float("inf")
        self._heard: set[PeerId] = set()
        self._others: dict[PeerId, str] = {}  # of other swarms: where
        self._said: Sequence[str] = ()
        self._unanswered: set[PeerId] = set()  # heard of, but not where they are

    def use(self, addresses: tuple[str, ...]) -> None:
        """Announce these addresses of this machine from now on, and look on their links."""
        self._wanted = addresses
        self._changed.set()

    def notices(self) -> tuple[str, ...]:
        """What a person should know of it now."""
        if not self._wanted:
            return ("no interface of a home network is up: nobody can be discovered until one is",)
        said = []
        if not self._heard and not self._others and trio.current_time() - self._since > DEAF_S:
            said.append("multicast DNS has heard nobody: if others are up, this network drops multicast; name a peer")
        for peer, where in list(self._others.items())[:1]:
            more = f" and {len(self._others) - 1} more" if len(self._others) > 1 else ""
            said.append(f"another swarm is on this network, with {peer[-8:]} at {where}{more}; its key is not this one")
        return tuple(said)

    async def run(self) -> None:
        """Announce and look until cancelled; then say goodbye."""
        self._token = trio.lowlevel.current_trio_token()
        self._since = trio.current_time()
        before: tuple[str, ...] | None = None
        try:
            while True:
                wanted, self._changed = self._wanted, trio.Event()
                whole = await self._start(wanted)
                if not wanted and wanted != before:
                    _log.warning("no LAN interface is up: other peers cannot be discovered until one is")
                before = wanted
                started = trio.current_time()
                while not self._changed.is_set():
                    wait = AGAIN_S if not whole else float("inf") if self._heard or not wanted else ALONE_S
                    if trio.current_time() - started > wait:
                        break
                    with trio.move_on_after(AGAIN_S):
                        await self._changed.wait()
                    for peer in list(self._unanswered):
                        await trio.to_thread.run_sync(self._ask, peer, abandon_on_cancel=True)
        finally:
            with trio.move_on_after(GOODBYE_S, shield=True):
                await trio.to_thread.run_sync(self._stop, abandon_on_cancel=True)

    async def _start(self, addresses: Sequence[str]) -> bool:
        """Announce *addresses*; whether all of them worked. If IPv6 does not (yet), IPv4 does without it."""
        await trio.to_thread.run_sync(self._stop, abandon_on_cancel=True)
        four = [address for address in addresses if ":" not in address]
        for attempt in (addresses, four) if four and len(four) < len(addresses) else (addresses,):
            if not attempt:
                return True
            try:
                await trio.to_thread.run_sync(self._announce, attempt, abandon_on_cancel=True)
            except Exception as error:  # the library raises OSError, its own errors, and plain Exception
                _log.info("discovery on %s failed, trying again: %s", ", ".join(attempt), error)
                await trio.to_thread.run_sync(self._stop, abandon_on_cancel=True)
            else:
                # alone, it begins anew three times a minute
                level = logging.DEBUG if attempt == self._said else logging.INFO
                _log.log(level, "discovering peers on %s", ", ".join(attempt))
                self._said = attempt
                return attempt is addresses
        return False

    def _announce(self, addresses: Sequence[str]) -> None:
        """In a thread: open sockets, browse, announce."""
        zones = {address.partition("%")[2] for address in addresses if "%" in address}  # one for each link with IPv6
        four = [address for address in addresses if ":" not in address]
        zeroconf = Zeroconf(
            interfaces=[*four, *(socket.if_nametoindex(zone) for zone in sorted(zones))],
            ip_version=IPVersion.All if zones else IPVersion.V4Only,
        )
        self._zeroconf = zeroconf
        ServiceBrowser(zeroconf, SERVICE, handlers=[self._happened])
        reachable = self._reachable(addresses)
        if not reachable:
            _log.warning("listening on no address of %s: other peers cannot call this one", ", ".join(addresses))
            return
        zeroconf.register_service(
            ServiceInfo(
                SERVICE,
                f"{self._own}.{SERVICE}",
                port=reachable[0][1],
                parsed_addresses=[ip for ip, port in reachable if port == reachable[0][1]],
                properties={"swarm": self._swarm, "peer": self._own},
                server=f"swarmd-{self._own[-12:].lower()}.local.",
            ),
            allow_name_change=False,
            cooperating_responders=True,  # after a restart our own last announcement may still be in the air
        )

    def _reachable(self, addresses: Sequence[str]) -> list[tuple[str, int]]:
        """Those of *addresses* on which this peer accepts connections, and the port there. Without zones: whoever hears
        of a link-local address knows the link by the interface on which it heard."""
        sockets = []
        for listening in self._listening:
            family = "ip6" if "ip6" in {protocol.name for protocol in listening.protocols()} else "ip4"
            own = ipaddress.ip_address(listening.value_for_protocol(family))
            for address in addresses:
                ip = ipaddress.ip_address(address.partition("%")[0])
                if ip == own or (own.is_unspecified and ip.version == own.version):
                    sockets.append((str(ip), int(listening.value_for_protocol("tcp"))))
        return list(dict.fromkeys(sockets))

    def _stop(self) -> None:
        """In a thread: take back the announcement, close sockets."""
        zeroconf, self._zeroconf = self._zeroconf, None
        if zeroconf is not None:
            try:
                zeroconf.close()
            except Exception as error:  # closing what never opened, or a network that is gone
                _log.debug("discovery did not close cleanly: %s", error)

    def _happened(self, zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange) -> None:
        """In zeroconf's thread."""
        peer = PeerId(name.removesuffix("." + SERVICE))
        if peer == self._own or not _is_peer(peer):
            return
        if state_change is ServiceStateChange.Removed:
            self._tell(lambda: self._gone(peer))
        else:
            self._ask(peer)

    def _ask(self, peer: PeerId) -> None:
        """In a thread: ask where *peer* is. A busy or a far machine may not answer the first time."""
        zeroconf, info = self._zeroconf, None
        try:
            if zeroconf is not None:
                info = zeroconf.get_service_info(SERVICE, f"{peer}.{SERVICE}", timeout=ANSWER_MS)
        except Exception as error:  # closed in the middle of it, or a malformed answer
            _log.debug("no answer about %s: %s", peer, error)
        if info is None or info.port is None:
            self._tell(lambda: self._missed(peer))
            return
        port, ours = info.port, info.properties.get(b"swarm") == self._swarm.encode()
        ips = [ip for ip in info.parsed_scoped_addresses() if "%" in ip or not ipaddress.ip_address(ip).is_link_local
               or ":" not in ip]  # fmt: skip
        sockets = [(ip, port) for ip in ips[:ADDRESSES_MAX]]
        self._tell(lambda: self._came(peer, sockets, ours=ours))

    def _came(self, peer: PeerId, sockets: list[tuple[str, int]], *, ours: bool) -> None:
        self._unanswered.discard(peer)
        if not ours:
            if len(self._others) < limits.PEERS_MAX:
                self._others[peer] = sockets[0][0] if sockets else "no address"
            return
        if len(self._heard) < limits.PEERS_MAX:
            self._heard.add(peer)
        self._found(peer, sockets)

    def _missed(self, peer: PeerId) -> None:
        """Ask again later, if there is room to remember whom."""
        if len(self._unanswered) < limits.PEERS_MAX:
            self._unanswered.add(peer)

    def _gone(self, peer: PeerId) -> None:
        self._unanswered.discard(peer)
        self._others.pop(peer, None)
        self._lost(peer)

    def _tell(self, news: Callable[[], None]) -> None:
        assert self._token is not None
        try:
            self._token.run_sync_soon(news)
        except trio.RunFinishedError:
            _log.debug("news after the end")


def _is_peer(name: str) -> bool:
    try:
        public_key(PeerId(name))
    except RemoteFault:
        return False
    return True
