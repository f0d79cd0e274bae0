"""py-libp2p 0.8.1, as it comes, lets one malformed message end the process and never gives an inbound slot back.

Everything that is changed in the library is changed here, by `contain()`, before a host is built. Each change names the
fault it contains and has a test that fails without it. All of it rests on private names of that one version.
"""

import logging
import time
from collections import Counter
from importlib.metadata import version
from typing import Any

from libp2p.abc import IMuxedConn, IMuxedStream, IRawConnection
from libp2p.network.connection.swarm_connection import SwarmConn
from libp2p.network.exceptions import SwarmException
from libp2p.network.swarm import Swarm
from libp2p.peer.id import ID
from libp2p.pubsub import pubsub as library
from libp2p.pubsub.pb import rpc_pb2
from libp2p.pubsub.rpc_queue import RpcQueue
from multiaddr import Multiaddr

LIBRARY_VERSION = "0.8.1"
SUBSCRIPTION_MESSAGES_MAX = 512  # the library has 32 and drops beyond; our mover task empties it at every turn
QUEUE_RPCS_MAX = 512  # the library has 32, of which a burst leaves 16 messages
QUEUE_BYTES_MAX = 8 * 1024 * 1024  # to one peer that reads slowly; reconciliation repairs what is dropped beyond

contained: "Counter[str]" = Counter()
"""Faults of others that were contained here, by name, since the process started."""

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
    _release_inbound_slots()
    _never_repeat_sequence_numbers()
    _widen_queues()
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


def _never_repeat_sequence_numbers() -> None:
    """Message ids count up from the second of the start, so a peer that published fast and restarts repeats its ids,
    and what it says is taken for known. Nanoseconds are not caught up with."""
    init = library.Pubsub.__init__

    def __init__(self: library.Pubsub, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        self.counter = time.time_ns()

    library.Pubsub.__init__ = __init__


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
