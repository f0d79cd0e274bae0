"""Peers of the same swarm on the same LAN find each other by multicast DNS (RFC 6762, service discovery RFC 6763).

Each announces its peer id, its addresses and a digest of the swarm's id; other swarms are not even looked at. zeroconf
runs in threads of its own, and what it finds is handed to trio. An interface that is missing, or comes and goes, is a
matter of waiting, never an error: static peers and remembered addresses work without any of this.
"""

import hashlib
import logging
from collections.abc import Callable, Sequence

import trio
from multiaddr import Multiaddr
from zeroconf import IPVersion, ServiceBrowser, ServiceInfo, ServiceStateChange, Zeroconf

from swarmd.net.addresses import expanded, lan_addresses
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.ids import PeerId, public_key

__all__ = ["Discovery", "lan_addresses"]

SERVICE = "_swarmd._tcp.local."
LOOK_S = 5.0  # between looks at this machine's addresses: a cable plugged in is noticed within that
ANSWER_MS = 3_000  # for a peer's addresses, after its name was heard
GOODBYE_S = 1.5  # to take back the announcement when stopping
ADDRESSES_MAX = 8  # of one peer that are tried

Found = Callable[[PeerId, Sequence[tuple[str, int]]], None]
Lost = Callable[[PeerId], None]

_log = logging.getLogger("swarmd.net.discovery")


class Discovery:
    """Announces this peer and looks for others."""

    def __init__(
        self,
        own: PeerId,
        swarm_id: str,
        listening: Sequence[Multiaddr],
        *,
        interfaces: Sequence[str] | None,
        found: Found,
        lost: Lost,
    ) -> None:
        """*listening*: where this peer accepts connections. *interfaces*: names (or addresses) of those to use; None:
        those of the LAN, as they come and go."""
        self._own = own
        self._swarm = hashlib.sha256(f"swarmd/mdns/1 {swarm_id}".encode()).hexdigest()[:16]
        self._listening = listening
        self._interfaces = interfaces
        self._found = found
        self._lost = lost
        self._zeroconf: Zeroconf | None = None
        self._token: trio.lowlevel.TrioToken | None = None

    async def run(self) -> None:
        """Announce and look until cancelled; then say goodbye."""
        self._token = trio.lowlevel.current_trio_token()
        current: tuple[str, ...] = ()
        silent_before = False
        try:
            while True:
                wanted = await trio.to_thread.run_sync(self._addresses, abandon_on_cancel=True)
                if wanted != current:
                    current = wanted if await self._start(wanted) else ()
                if not wanted and not silent_before:
                    _log.warning("no LAN interface is up: other peers cannot be discovered until one is")
                silent_before = not wanted
                await trio.sleep(LOOK_S)
        finally:
            with trio.move_on_after(GOODBYE_S, shield=True):
                await trio.to_thread.run_sync(self._stop, abandon_on_cancel=True)

    def _addresses(self) -> tuple[str, ...]:
        addresses = lan_addresses(self._interfaces)
        return tuple(address for address in addresses if ":" not in address)  # multicast over IPv4 reaches every home

    async def _start(self, addresses: Sequence[str]) -> bool:
        await trio.to_thread.run_sync(self._stop, abandon_on_cancel=True)
        if not addresses:
            return True
        try:
            await trio.to_thread.run_sync(self._announce, addresses, abandon_on_cancel=True)
        except Exception as error:  # the library raises OSError, its own errors, and plain Exception
            _log.warning("discovery on %s failed, trying again: %s", ", ".join(addresses), error)
            return False
        _log.info("discovering peers on %s", ", ".join(addresses))
        return True

    def _announce(self, addresses: Sequence[str]) -> None:
        """In a thread: open sockets, browse, announce."""
        zeroconf = Zeroconf(interfaces=list(addresses), ip_version=IPVersion.V4Only)
        self._zeroconf = zeroconf
        ServiceBrowser(zeroconf, SERVICE, handlers=[self._changed])
        sockets = [(_ip(each), int(each.value_for_protocol("tcp"))) for each in expanded(self._listening, addresses)]
        reachable = [(ip, port) for ip, port in sockets if ip in addresses]
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

    def _stop(self) -> None:
        """In a thread: take back the announcement, close sockets."""
        zeroconf, self._zeroconf = self._zeroconf, None
        if zeroconf is not None:
            try:
                zeroconf.close()
            except Exception as error:  # closing what never opened, or a network that is gone
                _log.debug("discovery did not close cleanly: %s", error)

    def _changed(self, zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange) -> None:
        """In zeroconf's thread."""
        peer = PeerId(name.removesuffix("." + SERVICE))
        if peer == self._own or not _is_peer(peer):
            return
        if state_change is ServiceStateChange.Removed:
            self._tell(lambda: self._lost(peer))
            return
        try:
            info = zeroconf.get_service_info(service_type, name, timeout=ANSWER_MS)
        except Exception as error:  # closed in the middle of it, or a malformed answer
            _log.debug("no answer about %s: %s", peer, error)
            return
        if info is None or info.port is None or info.properties.get(b"swarm") != self._swarm.encode():
            return
        port = info.port
        found = [(ip, port) for ip in info.parsed_addresses()[:ADDRESSES_MAX]]
        self._tell(lambda: self._found(peer, found))

    def _tell(self, news: Callable[[], None]) -> None:
        assert self._token is not None
        try:
            self._token.run_sync_soon(news)
        except trio.RunFinishedError:
            _log.debug("news after the end")


def _ip(address: Multiaddr) -> str:
    return str(address.value_for_protocol(address.protocols()[0].name))


def _is_peer(name: str) -> bool:
    try:
        public_key(PeerId(name))
    except RemoteFault:
        return False
    return True
