"""py-libp2p 0.8.1, as it comes, lets one malformed message end the process and never gives an inbound slot back.

Everything that is changed in the library is changed here, by `contain()`, before a host is built. Each change names the
fault it contains and has a test that fails without it. All of it rests on private names of that one version.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from libp2p.abc import IMuxedConn, IMuxedStream, INetConn, IRawConnection
from libp2p.network import swarm as network
from libp2p.network.connection.swarm_connection import SwarmConn
from libp2p.network.exceptions import SwarmException
from libp2p.network.swarm import Swarm
from libp2p.peer.envelope import Envelope
from libp2p.peer.id import ID
from libp2p.peer.peerstore import PeerStore
from libp2p.pubsub import pubsub as library
from libp2p.pubsub.pb import rpc_pb2
from libp2p.pubsub.rpc_queue import RpcQueue
from libp2p.transport.tcp import tcp
from libp2p.utils.multiaddr_utils import extract_ip_from_multiaddr
from multiaddr import Multiaddr

from swarmd.net.wall import Wall

LIBRARY_VERSION = "0.8.1"
SUBSCRIPTION_MESSAGES_MAX = 512  # the library has 32 and drops beyond; our mover task empties it at every turn
QUEUE_RPCS_MAX = 512  # the library has 32, of which a burst leaves 16 messages
HANDSHAKES_PER_HOST_MAX = 32  # under way at once; a household's machine needs one, a demo on one machine a dozen
QUEUE_BYTES_MAX = 8 * 1024 * 1024  # to one peer that reads slowly; reconciliation repairs what is dropped beyond

_LAYERS_MAX = 16  # from a connection down to its socket; there are seven
_INNER = ("_inner", "secured_conn", "conn", "_conn", "read_writer", "read_write_closer", "stream")

contained: "Counter[str]" = Counter()
"""Faults of others that were contained here, by name, since the process started."""

_shaking: "Counter[str]" = Counter()  # handshakes under way, by the address that they come from

zones: dict[str, str] = {}
"""By which interface each known IPv6 link-local address is reached. Whoever learns of one notes it here."""

_log = logging.getLogger("swarmd.net.containment")
_done = False


def contain() -> None:
    """Change the library. Once a process; further calls do nothing."""
    global _done
    if _done:
        return
    assert version("libp2p") == LIBRARY_VERSION, "containment was written for one version of libp2p: check each change"
    _done = True
    _survive_messages()
    _survive_streams()
    _limit_handshakes()
    _release_inbound_slots()
    _never_repeat_sequence_numbers()
    _let_clocks_go_back()
    _widen_queues()
    _keep_subscriptions()
    _keep_zones()
    _put_up_our_wall()
    _quieten()


def _survive_messages() -> None:
    """A message whose handling raises would end the pubsub service. A malformed public key is enough, since the
    signature check raises where it should refuse; so is a validator that fails."""
    push = library.Pubsub.push_msg

    async def push_msg(self: library.Pubsub, msg_forwarder: ID, msg: rpc_pb2.Message) -> None:
        try:
            await push(self, msg_forwarder, msg)
        except Exception as error:
            _count("message_faults", msg_forwarder, error)

    library.Pubsub.push_msg = push_msg


def _survive_streams() -> None:
    """Any stream handler that raises (bytes that are no protobuf on a pubsub stream are enough) would end the host."""
    handle = SwarmConn._handle_muxed_stream

    async def handle_muxed_stream(self: SwarmConn, muxed_stream: IMuxedStream) -> None:
        try:
            await handle(self, muxed_stream)
        except Exception as error:
            _count("stream_faults", self.muxed_conn.peer_id, error)
            try:
                await muxed_stream.reset()
            except Exception:
                _log.debug("a broken stream could not be reset")

    SwarmConn._handle_muxed_stream = handle_muxed_stream


def _release_inbound_slots() -> None:
    """An accepted connection holds its slot until the host stops. Hold it only while the connection lives.

    The library keeps the slot while its handler runs, and lets go when the upgrade raises; so the upgrade now lasts as
    long as the connection, and then raises.
    """
    upgrade = Swarm.upgrade_inbound_raw_conn

    async def upgrade_inbound_raw_conn(self: Swarm, raw_conn: IRawConnection, maddr: Multiaddr) -> IMuxedConn:
        muxed = await upgrade(self, raw_conn, maddr)
        for connection in self.get_connections(muxed.peer_id):
            if connection.muxed_conn is muxed:
                await connection.event_closed.wait()
        raise SwarmException("the inbound connection has ended")

    Swarm.upgrade_inbound_raw_conn = upgrade_inbound_raw_conn


def _limit_handshakes() -> None:
    """One machine that opens sockets and says nothing would take all inbound slots, ten seconds each, and keep
    everybody else out."""
    upgrade = Swarm.upgrade_inbound_raw_conn

    async def upgrade_inbound_raw_conn(self: Swarm, raw_conn: IRawConnection, maddr: Multiaddr) -> IMuxedConn:
        where = _remote_ip(raw_conn)
        if _shaking[where] >= HANDSHAKES_PER_HOST_MAX:
            contained["handshakes_refused"] += 1
            await raw_conn.close()
            raise SwarmException("too many handshakes at once from one address")
        _shaking[where] += 1
        try:
            return await upgrade(self, raw_conn, maddr)
        finally:
            _shaking[where] -= 1
            if not _shaking[where]:
                del _shaking[where]

    Swarm.upgrade_inbound_raw_conn = upgrade_inbound_raw_conn


def _never_repeat_sequence_numbers() -> None:
    """Message ids count up from the second of the start, so a peer that published fast and restarts repeats its ids,
    and what it says is taken for known. Nanoseconds are not caught up with."""
    init = library.Pubsub.__init__

    def __init__(self: library.Pubsub, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        self.counter = time.time_ns()

    library.Pubsub.__init__ = __init__


def _let_clocks_go_back() -> None:
    """A peer's signed record of its addresses is numbered by its clock and goes with all that it says. From a peer that
    starts again with an earlier clock (one was set right, or a Raspberry Pi has booted) the library drops every word
    until that clock has caught up. Whose record it is, the connection and the signature tell; its last one counts."""
    consume = PeerStore.consume_peer_record

    def consume_peer_record(self: PeerStore, envelope: Envelope, ttl: int) -> bool:
        self.peer_record_map.pop(envelope.record().peer_id, None)
        taken: bool = consume(self, envelope, ttl)
        return taken

    PeerStore.consume_peer_record = consume_peer_record


def _widen_queues() -> None:
    """Queues of 32 lose most of a burst without a word. Ours hold more messages, and a bounded number of bytes."""
    library.SUBSCRIPTION_CHANNEL_SIZE = SUBSCRIPTION_MESSAGES_MAX
    library.RpcQueue = _WideQueue


class _WideQueue(RpcQueue):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(max_size=QUEUE_RPCS_MAX)
        self._bytes = 0

    def push(self, rpc: rpc_pb2.RPC, priority: bool = False) -> bool:
        size = rpc.ByteSize()
        if self._bytes + size > QUEUE_BYTES_MAX or not super().push(rpc, priority):
            contained["outbound_dropped"] += 1
            return False
        self._bytes += size
        return True

    async def pop(self) -> rpc_pb2.RPC | None:
        rpc: rpc_pb2.RPC | None = await super().pop()
        if rpc is not None:
            # control messages may have joined it in the meantime, so the count is put right when nothing waits
            self._bytes = max(0, self._bytes - rpc.ByteSize()) if len(self) else 0
        return rpc


def _keep_subscriptions() -> None:
    """When our stream to a peer ends with one of two connections, the library forgets what the peer had subscribed to
    over the other one, and never says a word to it again."""
    forget = library.Pubsub._forget_all_subscriptions

    def forget_all_subscriptions(self: library.Pubsub, peer_id: ID) -> None:
        if not self._peer_is_connected(peer_id):
            forget(self, peer_id)

    library.Pubsub._forget_all_subscriptions = forget_all_subscriptions


def _keep_zones() -> None:
    """A multiaddress with a zone cannot be read back from its bytes, and without the zone the system knows no way to a
    link-local address."""
    tcp.extract_ip_from_multiaddr = _host_with_zone


def _host_with_zone(address: Multiaddr) -> str | None:
    host: str | None = extract_ip_from_multiaddr(address)
    return f"{host}%{zones[host]}" if host in zones else host


def _put_up_our_wall() -> None:
    """With the library's pre-shared key a stranger is not refused: both sides wait until they give up, and neither can
    tell a wrong key from a dead machine. Nor can the key ever be changed."""
    network.new_protected_conn = Wall


def local_ip(connection: INetConn) -> str | None:
    """The address of this machine at which *connection* began; None if the library's layers do not tell."""
    socket = _socket(connection.muxed_conn)
    return _ip(socket.getsockname) if socket is not None else None


def _remote_ip(connection: IRawConnection) -> str:
    socket = _socket(connection)
    return (_ip(socket.getpeername) if socket is not None else None) or ""


def _ip(name: Callable[[], tuple[Any, ...]]) -> str | None:
    try:
        return str(name()[0]).partition("%")[0]
    except OSError:
        return None


def _socket(layer: Any) -> Any:
    """What lies at the bottom of the library's layers."""
    for _ in range(_LAYERS_MAX):
        if getattr(layer, "socket", None) is not None:
            return layer.socket
        layer = next((getattr(layer, name) for name in _INNER if getattr(layer, name, None) is not None), None)
    return None


class _NotFromLibrary(logging.Filter):
    """The library logs connection trouble, which is routine here, on the root logger."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "/libp2p/" not in record.pathname


def _quieten() -> None:
    """Only warnings of the library that a person can act on reach the log. Peers that come and go are routine."""
    library_log = logging.getLogger("libp2p")
    library_log.setLevel(logging.WARNING)
    library_log.propagate = True
    for routine in (
        "host",
        "identity",
        "network",
        "network.auto_connector",  # has a level of its own
        "peer",
        "protocol_muxer",
        "pubsub",
        "rcmgr",
        "security",
        "stream_muxer",
        "transport",
    ):
        library_log.getChild(routine).setLevel(logging.CRITICAL)
    logging.getLogger("zeroconf").setLevel(logging.ERROR)
    logging.getLogger().addFilter(_NotFromLibrary())


def _count(name: str, culprit: object, error: Exception) -> None:
    contained[name] += 1
    if contained[name] == 1:  # once is enough to look for the culprit; the counter says how often
        _log.warning("contained a fault in what %s sent: %r", culprit, error)
