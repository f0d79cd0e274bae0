"""Links to other peers: made, remade, and given up when nobody answers, by a rhythm of our own.

Whoever is known by a static address, by discovery or from before is dialled again until it answers. A link is dead when
nothing was heard over it for 26 seconds, pongs included, or when this machine has lost the address that it began at; a
peer that is merely slow, or a stall of this machine, does not count against it.
"""

import logging
import re
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

import trio
from libp2p.abc import INetConn, INetStream, INetwork, INotifee
from libp2p.custom_types import TProtocol
from libp2p.network.stream.exceptions import StreamEOF
from libp2p.peer.id import ID
from libp2p.transport.exceptions import OpenConnectionError
from multiaddr import Multiaddr

from swarmd.net.addresses import is_link_local, multiaddress, socket_text
from swarmd.net.containment import local_ip, zones
from swarmd.net.host import Host
from swarmd.ports import Deliver
from swarmd.replica.inputs import Connected, Disconnected
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake
from swarmd.vocab.ids import PeerId, short

PING = TProtocol("/ipfs/ping/1.0.0")  # libp2p ping specification: 32 bytes, echoed
PING_BYTES = 32
DIAL_S = 6.0  # one address: a handshake on a starved Raspberry Pi takes two
DIALS_MAX = 8  # at the same time
BACKOFF_FIRST_S, BACKOFF_LAST_S = 1.0, 30.0
LATER_S = 1.0  # of two peers that find each other the one with the greater id waits, so that one link is made
FORGET_AFTER = 30_000  # failures, a week: whoever is neither a static peer nor announced has gone
ADDRESSES_MAX = 8  # remembered of one peer
LOOK_S = 2.0  # between looks at who is silent
QUIET_S = 6.0  # silence after which a peer is pinged; presence comes more often
DEAD_S = 22.0  # silence after which a link is dropped: found well within 30 s, and time for a pong that takes 14
STRANGE_AFTER = 2  # handshakes in a row that a peer broke off: a peer that is just ending breaks off one
SAY_AGAIN_S = 60.0  # the same trouble is in the log once a minute at most
NOTICES_MAX = 4  # addresses with trouble that are named to people
SETTLED_S = 5.0  # a peer that connects anew later than this after its last connection has lost that one

_ZONE = re.compile(r"/ip6zone/([^/]+)(?=/)")
_log = logging.getLogger("swarmd.net.links")


class Backoff:
    """Waits between attempts: doubling from 1 s to 30 s, each shortened by up to half at random.

    ("Equal jitter", AWS Architecture Blog, Exponential Backoff And Jitter, 2015.)
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def after(self, failures: int) -> float:
        """Seconds to wait after that many failures in a row, from 1."""
        whole = min(BACKOFF_LAST_S, BACKOFF_FIRST_S * 2.0 ** min(failures - 1, 16))
        return max(BACKOFF_FIRST_S, whole * self._rng.uniform(0.5, 1.0))


@dataclass
class _Target:
    """Someone to be linked with. *peer* is None while only an address is known."""

    peer: ID | None
    next_at: float
    static: list[Multiaddr] = field(default_factory=list)
    discovered: list[Multiaddr] = field(default_factory=list)
    remembered: list[Multiaddr] = field(default_factory=list)
    failures: int = 0
    dialling: bool = False
    strange: dict[Multiaddr, int] = field(default_factory=dict)
    """Where somebody answers who breaks off the handshake, and how often it did in a row."""

    def addresses(self) -> list[Multiaddr]:
        return list(dict.fromkeys([*self.remembered[:1], *self.discovered, *self.static, *self.remembered]))


class Links(INotifee):  # type: ignore[misc]
    """Who is linked with this peer, and the tasks that keep it so."""

    def __init__(
        self,
        own: PeerId,
        static_peers: Sequence[str],
        rng: Random,
        counters: "Counter[str]",
        *,
        remembered: Mapping[PeerId, Sequence[Multiaddr]] = MappingProxyType({}),
        remember: Callable[[Mapping[PeerId, Sequence[Multiaddr]]], None] = lambda known: None,
    ) -> None:
        """*remembered*: where peers were reached before the start; *remember* is called when that changes.

        Raises LocalMistake for a static peer that is no multiaddress.
        """
        self._own = ID.from_base58(own)
        self._rng = rng
        self._backoff = Backoff(rng)
        self._counters = counters
        self._targets: dict[str, _Target] = {}
        self._up: set[ID] = set()
        self._heard_at: dict[ID, float] = {}
        self._since: dict[INetConn, float] = {}
        self._pinging: set[ID] = set()
        self._deaf_since: dict[ID, float] = {}  # linked, but gossip does not reach them
        self._wake = trio.Event()
        self._remember_all = remember
        self._said_at = float("-inf")
        for known, addresses in remembered.items():
            other = ID.from_base58(known)
            self._target(known, other, 0.0).remembered = [each for each in addresses if _dialable(each)][:ADDRESSES_MAX]
        self.also(static_peers)

    def also(self, static_peers: Sequence[str]) -> None:
        """Keep links with these peers as well. Raises LocalMistake for one that is no multiaddress."""
        for text in static_peers:
            address, peer = _static(text)
            target = self._target(str(peer) if peer else text, peer, 0.0)
            if address not in target.static:
                target.static.append(address)
        self._stir()

    async def run(
        self, host: Host, deliver: Deliver, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Keep links until cancelled."""
        self._host, self._deliver = host, deliver
        async with trio.open_nursery() as self._nursery:
            host.network.register_notifee(self)
            self._nursery.start_soon(self._redial)
            self._nursery.start_soon(self._watch)
            task_status.started()

    def found(self, peer: PeerId, sockets: Sequence[tuple[str, int]]) -> None:
        """Discovery says where *peer* is."""
        if peer not in self._targets and len(self._targets) >= limits.PEERS_MAX:
            self._counters["discovered_ignored"] += 1  # anyone on the LAN can announce as many as it likes
            return
        other = ID.from_base58(peer)
        first = trio.current_time() + (LATER_S if other.to_bytes() < self._own.to_bytes() else 0)
        target = self._target(str(other), other, first)
        for ip, _ in sockets:
            _note_zone(ip)
        addresses = [multiaddress(ip, port) for ip, port in sockets]
        if addresses != target.discovered:
            target.discovered = addresses
            target.next_at = min(target.next_at, first)
            self._stir()

    def lost(self, peer: PeerId) -> None:
        """*peer* has taken back its announcement."""
        target = self._targets.get(peer)
        if target is not None:
            target.discovered = []

    def moved(self, lost: Sequence[str]) -> None:
        """This machine's addresses have changed; those in *lost* are gone, and what began there is dead. Whoever is
        away may be near now."""
        for peer in list(self._up):
            for conn in self._host.network.get_connections(peer):
                if local_ip(conn) in lost:
                    self._counters["links_moved"] += 1
                    self._nursery.start_soon(_close, conn)
        for target in self._targets.values():
            target.next_at = min(target.next_at, trio.current_time() + self._rng.uniform(0, BACKOFF_FIRST_S))
            target.failures = min(target.failures, 1)
        self._stir()

    def notices(self) -> tuple[str, ...]:
        """What a person should know of peers that cannot be reached."""
        said = []
        for target in self._targets.values():
            if target.peer in self._up:
                continue
            strange = [address for address, times in target.strange.items() if times >= STRANGE_AFTER]
            if strange:
                said.append(_wrong_key(strange[0]))
            elif target.static and target.failures >= STRANGE_AFTER:
                said.append(f"{socket_text(target.static[0])} does not answer: is it up, and the address right?")
        return tuple(said[:NOTICES_MAX])

    def heard(self, peer: ID) -> None:
        """A sign of life from *peer*."""
        if peer in self._up:
            self._heard_at[peer] = trio.current_time()

    # --- what the library tells --------------------------------------------------------------------------------

    async def connected(self, network: INetwork, conn: INetConn) -> None:
        """A connection came up."""
        peer, now = conn.muxed_conn.peer_id, trio.current_time()
        self._since[conn] = now
        self._settle(peer)
        self.heard(peer)
        for old in self._host.network.get_connections(peer):
            if old is not conn and now - self._since.get(old, now) > SETTLED_S:
                self._nursery.start_soon(_close, old)

    async def disconnected(self, network: INetwork, conn: INetConn) -> None:
        """A connection went down."""
        self._since.pop(conn, None)
        self._settle(conn.muxed_conn.peer_id)

    async def opened_stream(self, network: INetwork, stream: INetStream) -> None:
        """Nothing."""

    async def closed_stream(self, network: INetwork, stream: INetStream) -> None:
        """Nothing."""

    async def listen(self, network: INetwork, multiaddr: Multiaddr) -> None:
        """Nothing."""

    async def listen_close(self, network: INetwork, multiaddr: Multiaddr) -> None:
        """Nothing."""

    def _settle(self, peer: ID) -> None:
        """Compare what is with what was said of it, so that each change is said once, whatever the library tells."""
        up = any(not conn.is_closed for conn in self._host.network.get_connections(peer))
        if up and peer not in self._up:
            self._up.add(peer)
            _log.info("linked with %s", short(str(peer)))
            self._deliver(Connected(PeerId(str(peer))))
        elif not up and peer in self._up:
            self._up.discard(peer)
            self._heard_at.pop(peer, None)
            self._deaf_since.pop(peer, None)
            _log.info("lost the link to %s", short(str(peer)))
            self._remember(peer)
            self._deliver(Disconnected(PeerId(str(peer))))

    # --- dialling ----------------------------------------------------------------------------------------------

    def _target(self, key: str, peer: ID | None, first_at: float) -> _Target:
        return self._targets.setdefault(key, _Target(peer, first_at))

    def _remember(self, peer: ID) -> None:
        """Dial *peer* again where it was, and where it said that it listens."""
        target = self._target(str(peer), peer, 0.0)
        target.failures = 0
        target.next_at = trio.current_time() + self._rng.uniform(0.2, BACKOFF_FIRST_S)
        self._learn(target)
        self._stir()

    def _learn(self, target: _Target) -> None:
        """Note where a peer says that it listens, so that one that called us can be called."""
        peer = target.peer
        try:
            said = self._host.libp2p.get_peerstore().addrs(peer)
        except Exception:  # the library has an error of its own for "none"
            said = []
        kept = [*target.remembered, *(address for address in said if _dialable(address))]
        target.remembered = list(dict.fromkeys(map(_bare, kept)))[:ADDRESSES_MAX]
        self._keep()

    def _keep(self) -> None:
        known = {
            PeerId(str(target.peer)): [address for address in target.remembered if _dialable(address)]
            for target in self._targets.values()
            if target.peer is not None and target.remembered
        }
        self._remember_all(known)

    def _stir(self) -> None:
        self._wake.set()
        self._wake = trio.Event()

    async def _redial(self) -> None:
        while True:
            now = trio.current_time()
            wait = BACKOFF_LAST_S
            for key, target in list(self._targets.items()):
                if target.peer == self._own:
                    del self._targets[key]
                elif target.dialling or target.peer in self._up:
                    continue
                elif not target.addresses() or (
                    target.failures > FORGET_AFTER and not target.static and not target.discovered
                ):
                    del self._targets[key]
                elif target.next_at > now:
                    wait = min(wait, target.next_at - now)
                elif sum(other.dialling for other in self._targets.values()) < DIALS_MAX:
                    target.dialling = True
                    self._nursery.start_soon(self._dial, target)
            wake = self._wake
            with trio.move_on_after(wait):
                await wake.wait()

    async def _dial(self, target: _Target) -> None:
        try:
            for address in target.addresses():
                if await self._dial_address(target, address):
                    target.remembered = list(dict.fromkeys([address, *target.remembered]))[:ADDRESSES_MAX]
                    target.failures = 0
                    target.strange.clear()
                    self._keep()
                    return
            target.failures += 1
            self._counters["dials_failed"] += 1
        finally:
            target.next_at = trio.current_time() + self._backoff.after(max(1, target.failures))
            target.dialling = False
            self._stir()

    async def _dial_address(self, target: _Target, address: Multiaddr) -> bool:
        # an id that nobody has, to learn who answers; Noise tells, and the library then refuses the connection
        expected = target.peer or ID(b"\x00\x24\x08\x01\x12\x20" + secrets.token_bytes(32))
        with trio.move_on_after(DIAL_S):
            try:
                await self._host.network.dial_addr(address, expected)
                return True
            except Exception as error:  # the library raises whatever its layers raise
                _log.debug("dialling %s failed: %r, since %r", address, error, error.__cause__)
                self._note(target, address, error)
        met = self._host.met.pop(expected, None)
        if met is None:
            return False
        target.strange.pop(address, None)
        if target.peer is not None:
            if address not in target.static:
                target.remembered = [each for each in target.remembered if each != address]  # it is another's now
            elif target.failures == 0:
                _log.warning("%s answers at %s, not %s: correct the static peer line", met, address, target.peer)
            return False
        target.peer = met
        return met == self._own or met in self._up or await self._dial_address(target, address)

    def _note(self, target: _Target, address: Multiaddr, error: BaseException) -> None:
        """Tell a stranger from silence: who cannot be reached is not asked for its key."""
        if _unreachable(error):
            target.strange.pop(address, None)
            return
        target.strange[address] = target.strange.get(address, 0) + 1
        now = trio.current_time()
        if target.strange[address] >= STRANGE_AFTER and now - self._said_at >= SAY_AGAIN_S:
            self._said_at = now
            _log.warning("%s", _wrong_key(address))

    # --- signs of life -----------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        while True:
            planned = trio.current_time() + LOOK_S
            await trio.sleep_until(planned)
            now = trio.current_time()
            stall = now - planned
            if stall > 1:  # this machine stood still: nobody could be heard
                for peer in self._heard_at:
                    self._heard_at[peer] += stall
            self._since = {conn: since for conn, since in self._since.items() if not conn.is_closed}
            for peer in list(self._up):
                self._settle(peer)
                target = self._target(str(peer), peer, 0.0)
                if not target.remembered:
                    self._learn(target)
                self._mind_gossip(peer, now)
                silence = now - self._heard_at.setdefault(peer, now)
                if silence > DEAD_S:
                    _log.warning("%s has been silent for %.0f s: dropping the link", short(str(peer)), silence)
                    self._counters["links_dropped"] += 1
                    for conn in self._host.network.get_connections(peer):
                        self._nursery.start_soon(_close, conn)
                elif silence > QUIET_S and peer not in self._pinging:
                    self._pinging.add(peer)
                    self._nursery.start_soon(self._ping, peer)

    def _mind_gossip(self, peer: ID, now: float) -> None:
        """A peer whose subscriptions the library does not know hears nothing of us, and neither side would ever notice.
        Such a link is dropped, and made anew; but a starved peer has time to say what it subscribes to."""
        gossip = self._host.pubsub
        if peer in gossip.peers and any(peer in listeners for listeners in gossip.peer_topics.values()):
            self._deaf_since.pop(peer, None)
        elif now - self._deaf_since.setdefault(peer, now) > DEAD_S:
            _log.info("gossip does not reach %s: linking anew", short(str(peer)))
            self._counters["links_dropped"] += 1
            for conn in self._host.network.get_connections(peer):
                self._nursery.start_soon(_close, conn)

    async def _ping(self, peer: ID) -> None:
        """Hear from *peer* once, however late it answers."""
        try:
            with trio.move_on_after(DEAD_S):
                await self._echo(peer)
                self.heard(peer)
        except Exception as error:  # the library raises whatever its layers raise; silence will tell
            _log.debug("no pong from %s: %r", peer, error)
        finally:
            self._pinging.discard(peer)

    async def _echo(self, peer: ID) -> None:
        stream = await self._host.libp2p.new_stream(peer, [PING])
        try:
            await stream.write(secrets.token_bytes(PING_BYTES))
            missing = PING_BYTES
            while missing:
                piece = await stream.read(missing)
                if not piece:
                    raise StreamEOF
                missing -= len(piece)
            await stream.close()
        except BaseException:
            with trio.move_on_after(1, shield=True):
                await stream.reset()
            raise


async def _close(conn: INetConn) -> None:
    with trio.move_on_after(2):
        try:
            await conn.close()
        except Exception as error:  # it is over either way
            _log.debug("a connection did not close: %r", error)


def _unreachable(error: BaseException | None) -> bool:
    """Whether a dial failed before anybody answered."""
    while error is not None:
        if isinstance(error, OpenConnectionError | trio.Cancelled):
            return True
        error = error.__cause__ or error.__context__
    return False


def _wrong_key(address: Multiaddr) -> str:
    where = socket_text(address)
    return f"{where} answers, but not with this swarm's key: compare `swarmd key fingerprint` there and here"


def _static(text: str) -> tuple[Multiaddr, ID | None]:
    zone = _ZONE.match(text)
    try:
        address = Multiaddr(text[zone.end() :] if zone else text)
        if zone:
            _note_zone(f"{address.value_for_protocol('ip6')}%{zone[1]}")
        names = [protocol.name for protocol in address.protocols()]
        assert "tcp" in names
        peer = ID.from_base58(address.value_for_protocol("p2p")) if "p2p" in names else None
    except Exception as error:
        raise LocalMistake(f"static peer {text!r} is no address: write it like /ip4/192.168.1.20/tcp/7400") from error
    return _bare(address), peer


def _bare(address: Multiaddr) -> Multiaddr:
    """*address* without a peer id."""
    return Multiaddr(str(address).split("/p2p/")[0])


def _dialable(address: Multiaddr) -> bool:
    """Whether *address* leads somewhere, now and later: not to every address, nor by a link known today only."""
    family, host, transport = (*str(address).split("/")[1:4], "", "", "")[:3]
    return (
        family in ("ip4", "ip6")
        and transport == "tcp"
        and host not in ("0.0.0.0", "::")
        and not is_link_local(host)
    )  # fmt: skip


def _note_zone(ip: str) -> None:
    host, _, zone = ip.partition("%")
    if zone and is_link_local(host) and (host in zones or len(zones) < ADDRESSES_MAX * limits.PEERS_MAX):
        zones[host] = zone
