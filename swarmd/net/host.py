"""This peer on the network: one libp2p host that only holders of the swarm key can shake hands with.

TCP, Noise and Yamux alone. The swarm key is bound into every Noise handshake as its prologue, so a stranger gets no
further than two messages that hold nothing of the plan; a pre-shared key on TCP can be put in front of that.
"""

import hmac
import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio
from libp2p import new_host
from libp2p.abc import IHost, IListener, INetConn, IRawConnection, ISecureConn
from libp2p.crypto.ed25519 import create_new_key_pair
from libp2p.crypto.keys import KeyPair
from libp2p.crypto.x25519 import create_new_key_pair as create_noise_key_pair
from libp2p.custom_types import TProtocol
from libp2p.network.config import ConnectionConfig, RetryConfig
from libp2p.network.swarm import Swarm as Network
from libp2p.peer.id import ID
from libp2p.pubsub.gossipsub import GossipSub
from libp2p.pubsub.pb import rpc_pb2
from libp2p.pubsub.pubsub import Pubsub
from libp2p.rcmgr import ResourceManager
from libp2p.rcmgr.manager import ResourceLimits
from libp2p.security.noise.patterns import PatternXX
from libp2p.security.noise.transport import Transport as NoiseTransport
from libp2p.stream_muxer.yamux.yamux import PROTOCOL_ID as YAMUX
from libp2p.stream_muxer.yamux.yamux import Yamux
from libp2p.tools.anyio_service import background_trio_service
from multiaddr import Multiaddr

from swarmd.events.envelope import Identity, Swarm
from swarmd.net.containment import contain
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake

CONNECTIONS_MAX = limits.PEERS_MAX + 64  # every peer once, and room for both ends dialling at the same time
STREAMS_MAX = 16 * limits.PEERS_MAX  # a peer has two for gossip, two for a sync, and a few short ones
MESHSUB = (TProtocol("/meshsub/1.1.0"),)  # 1.2 adds one "I have it" per message and peer: more than our messages weigh
# GossipSub v1.0 names these; the heartbeat of the specification, where the library has two minutes
DEGREE, DEGREE_LOW, DEGREE_HIGH, HEARTBEAT_S = 6, 4, 12, 1
GOODBYE_S = 1.0  # to close what is open when stopping

_log = logging.getLogger("swarmd.net.host")


@dataclass(frozen=True)
class Host:
    """What the other parts of the adapter need of libp2p."""

    libp2p: IHost
    network: Network
    pubsub: Pubsub
    met: dict[ID, ID]
    """Who answered where another id was expected, by the expected id. Emptied by whoever dialled."""


class SwarmNoise(NoiseTransport):  # type: ignore[misc]
    """Noise XX (libp2p noise specification) with the swarm key in the prologue.

    Both sides must have the same prologue or the second message does not decrypt (Noise framework, section 6).
    """

    def __init__(self, key_pair: KeyPair, prologue: bytes, met: dict[ID, ID]) -> None:
        super().__init__(key_pair, noise_privkey=create_noise_key_pair().private_key)
        self._prologue = prologue
        self._met = met

    def get_pattern(self) -> PatternXX:
        """The handshake, bound to the swarm."""
        return PatternXX(self.local_peer, self.libp2p_privkey, self.noise_privkey, None, self._prologue)

    async def secure_outbound(self, conn: IRawConnection, peer_id: ID) -> ISecureConn:
        """Shake hands with whoever answers. The library's upgrader then refuses anyone but *peer_id*."""
        session = await self.get_pattern().handshake_outbound(conn, None)
        if session.get_remote_peer() != peer_id:
            self._met[peer_id] = session.get_remote_peer()
        return session


class _Listener(GossipSub):  # type: ignore[misc]
    """A router that hears and passes nothing on, for the observer: none of its traffic is a publication."""

    async def publish(self, msg_forwarder: ID, pubsub_msg: rpc_pb2.Message) -> None:
        """Nothing."""


@asynccontextmanager
async def open_host(
    identity: Identity,
    swarm: Swarm,
    *,
    listen: Sequence[str],
    psk: bool,
    silent: bool,
    advertise: Callable[[list[Multiaddr]], list[Multiaddr]],
) -> AsyncIterator[Host]:
    """Listen, and run pubsub, until the block ends. *advertise* turns listening addresses into reachable ones.

    Raises LocalMistake if an address cannot be listened on.
    """
    contain()
    addresses = [address for address in map(_listenable, listen) if address is not None]
    if not addresses:
        raise LocalMistake(f"this machine has no network to listen on {', '.join(listen)}: check [net] listen")
    key_pair = create_new_key_pair(identity.seed)
    met: dict[ID, ID] = {}
    handshakes = {noise_of(key): SwarmNoise(key_pair, prologue_of(key), met) for key in swarm.keys}
    libp2p = new_host(
        key_pair=key_pair,
        listen_addrs=addresses,
        sec_opt=handshakes,  # the library would also take plain text
        muxer_opt={TProtocol(YAMUX): Yamux},
        psk=",".join(_derived(key, b"swarmd/psk/1").hex() for key in swarm.keys) if psk else None,
        connection_config=ConnectionConfig(
            max_connections=CONNECTIONS_MAX,
            high_watermark=CONNECTIONS_MAX,
            min_connections=0,
            low_watermark=0,
            auto_connect_interval=3_600,
        ),
        resource_manager=ResourceManager(
            limits=ResourceLimits(max_connections=2 * CONNECTIONS_MAX, max_streams=STREAMS_MAX),
            enable_connection_tracking=False,
            enable_memory_limits=False,
            enable_circuit_breaker=False,  # five faults of one stranger would shut everyone out for a minute
            enable_graceful_degradation=False,
            enable_rate_limiting=False,
        ),
        addrs_factory=advertise,
        disable_identify_address_discovery=True,
    )
    network = libp2p.get_network()
    assert isinstance(network, Network)
    network.retry_config = RetryConfig(max_retries=0)  # links.py has a rhythm of its own
    router = (_Listener if silent else GossipSub)(
        protocols=MESHSUB,
        degree=DEGREE,
        degree_low=DEGREE_LOW,
        degree_high=DEGREE_HIGH,
        heartbeat_interval=HEARTBEAT_S,
        spam_protection_enabled=False,  # ten messages a second, own ones included; the excess vanishes
        adaptive_gossip_enabled=False,
    )
    pubsub = Pubsub(libp2p, router, strict_signing=True)
    assert str(libp2p.get_id()) == identity.peer
    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()
        await nursery.start(_serve, network, pubsub, router, addresses, scope)
        try:
            yield Host(libp2p, network, pubsub, met)
        finally:
            with trio.move_on_after(GOODBYE_S, shield=True):
                await _hang_up(network)
            scope.cancel()


async def _serve(
    network: Network,
    pubsub: Pubsub,
    router: GossipSub,
    addresses: Sequence[Multiaddr],
    scope: trio.CancelScope,
    *,
    task_status: trio.TaskStatus[None],
) -> None:
    """Run libp2p's services until *scope* is cancelled. A cancellation from farther out does not reach them: they would
    be gone before the connections are closed."""
    with scope:
        async with background_trio_service(network):
            for address in addresses:
                if not await network.listen(address):
                    raise LocalMistake(f"cannot listen on {address}: check that this machine has the address")
            async with background_trio_service(pubsub), background_trio_service(router):
                await pubsub.wait_until_ready()
                task_status.started()
                scope.shield = True
                await trio.sleep_forever()


async def _hang_up(network: Network) -> None:
    """Close every socket, so that others see this peer go at once. The library leaves them to the process's end."""

    async def closed(something: INetConn | IListener) -> None:
        try:
            await something.close()
        except Exception as error:  # it is over either way
            _log.debug("did not close cleanly: %r", error)

    async with trio.open_nursery() as nursery:
        for listener in network.listeners.values():
            nursery.start_soon(closed, listener)
        for connection in network.get_connections():
            nursery.start_soon(closed, connection)


def noise_of(key: bytes) -> TProtocol:
    """What the handshake under *key* is called, so that peers that hold several keys find one they share. Eight digits
    that give nothing away."""
    return TProtocol(f"/swarmd/noise/1/{_derived(key, b'swarmd/noise-name/1').hex()[:8]}")


def prologue_of(key: bytes) -> bytes:
    """What both sides of the handshake under *key* must know beforehand."""
    return _derived(key, b"swarmd/noise/1")


def _derived(key: bytes, purpose: bytes) -> bytes:
    """32 bytes that only holders of the swarm key know: HMAC-SHA256 (RFC 2104) of a purpose."""
    return hmac.digest(key, purpose, "sha256")


def _listenable(text: str) -> Multiaddr | None:
    """A checked listening address; None for "every IPv6 address" on a machine without IPv6.

    The library shares ports silently: two daemons would each get half the callers."""
    try:
        address = Multiaddr(text)
        six = "ip6" in {protocol.name for protocol in address.protocols()}
        ip, port = address.value_for_protocol("ip6" if six else "ip4"), int(address.value_for_protocol("tcp") or "")
    except Exception as error:
        raise LocalMistake(f"{text} is no address to listen on: write it like /ip4/0.0.0.0/tcp/7400") from error
    if ip == "::" and not _has_ipv6():
        return None
    with socket.socket(socket.AF_INET6 if six else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if six:
            probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            probe.bind((ip, port))
        except OSError as error:
            raise LocalMistake(
                f"cannot listen on {text}: {error.strerror}; choose another port, or stop what uses it"
            ) from error
    return address


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
