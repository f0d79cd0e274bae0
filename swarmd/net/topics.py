"""Two topics a swarm: events on one, presence and running text on the other. Bounded, paced, checked before passed on.

A message costs every peer some milliseconds whatever its size, and the library loses what comes too fast. So many
events travel in one message, messages keep a distance, and the sender waits while a peer's queue is deep. A validator's
refusal is remembered by the library, so validators look at the bytes only and never at the plan.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Sequence

import msgspec
import trio
from libp2p.abc import ISubscriptionAPI
from libp2p.peer.id import ID
from libp2p.pubsub.pb import rpc_pb2
from libp2p.pubsub.pubsub import Pubsub

from swarmd.events.envelope import Envelope
from swarmd.gossip.frames import Live, Presence, decode_batch, decode_live, decode_presence, encode
from swarmd.ports import Deliver
from swarmd.replica.inputs import Heard, Input, LiveHeard, PresenceHeard
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake, RemoteFault
from swarmd.vocab.ids import PeerId, public_key

BATCH_BYTES_MAX = limits.ENVELOPE_BYTES_MAX  # of events in a message; a single one may be as large as that
BATCH_ENVELOPES_MAX = 1_024  # a receiver checks each signature: a tenth of a second of one core
ENVELOPE_OVERHEAD_BYTES = 11  # msgpack's array of two byte strings at their longest
OUTBOX_BYTES_MAX = 8 * 1024 * 1024  # waiting events; reconciliation repairs what is dropped beyond
OUTBOX_ENVELOPES_MAX = 20_000
CHUNKS_MAX = 256  # waiting pieces of running text, of as many claims at most
PLAN_INTERVAL_S = 0.02  # between messages: a peer spends 5 ms on one and has other neighbours
BEAT_INTERVAL_S = 0.1  # the same for presence and running text, which can wait to be joined
DEEP_RPCS = 64  # waiting for one peer; beyond it the sender lets the peer catch up
PATIENCE_S = 1.0  # with a deep queue, once until it is shallow again; a stuck peer must not hold up the rest

PRESENCE, LIVE = b"P", b"L"

_log = logging.getLogger("swarmd.net.topics")


class Outbox:
    """Events that wait to be published, oldest first. When it is full the oldest go."""

    def __init__(self) -> None:
        self._waiting: deque[Envelope] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, envelopes: Sequence[Envelope]) -> int:
        """Add events; the number of old ones that were dropped for them.

        Raises LocalMistake if one is over the limit of the wire: it would be lost without a word.
        """
        for envelope in envelopes:
            if envelope.size > limits.ENVELOPE_BYTES_MAX:
                raise LocalMistake(f"an event of {envelope.size} bytes is over {limits.ENVELOPE_BYTES_MAX}: shorten it")
        self._waiting.extend(envelopes)
        self._bytes += sum(envelope.size for envelope in envelopes)
        dropped = 0
        while self._bytes > OUTBOX_BYTES_MAX or len(self._waiting) > OUTBOX_ENVELOPES_MAX:
            self._bytes -= self._waiting.popleft().size
            dropped += 1
        return dropped

    def take(self) -> tuple[Envelope, ...]:
        """The next message's events: as many of the oldest as fit. Empty if none wait."""
        batch: list[Envelope] = []
        room = BATCH_BYTES_MAX
        while self._waiting and len(batch) < BATCH_ENVELOPES_MAX:
            size = self._waiting[0].size
            if batch and size + ENVELOPE_OVERHEAD_BYTES > room:
                break
            room -= size + ENVELOPE_OVERHEAD_BYTES
            self._bytes -= size
            batch.append(self._waiting.popleft())
        return tuple(batch)


class Chunks:
    """Running text that waits to be published. Pieces that follow on from each other become one."""

    def __init__(self) -> None:
        self._waiting: deque[Live] = deque()

    def put(self, live: Live) -> bool:
        """Add a piece; whether there was room for it.

        Raises LocalMistake if it is over the limit of the wire.
        """
        if len(live.text) > limits.LIVE_BYTES_MAX:
            raise LocalMistake(f"{len(live.text)} characters are over {limits.LIVE_BYTES_MAX}: send them in parts")
        for place in range(len(self._waiting) - 1, -1, -1):
            last = self._waiting[place]
            if (last.goal, last.task, last.claim) == (live.goal, live.task, live.claim):
                follows = last.offset + len(last.text) == live.offset
                if follows and len(last.text) + len(live.text) <= limits.LIVE_BYTES_MAX:
                    self._waiting[place] = msgspec.structs.replace(last, text=last.text + live.text)
                    return True
                break
        if len(self._waiting) >= CHUNKS_MAX:
            return False
        self._waiting.append(live)
        return True

    def take(self) -> Live | None:
        """The oldest piece."""
        return self._waiting.popleft() if self._waiting else None


class Topics:
    """What is said to the whole swarm, and heard from it."""

    def __init__(self, swarm_id: str, own: PeerId, *, silent: bool, counters: "Counter[str]") -> None:
        self._plan = f"/swarmd/{swarm_id}/plan/1"
        self._beat = f"/swarmd/{swarm_id}/presence/1"
        self._own = own
        self._silent = silent
        self._counters = counters
        self._outbox = Outbox()
        self._chunks = Chunks()
        self._presence: Presence | None = None
        self._stuck: set[ID] = set()
        self._plan_waits = trio.Event()
        self._beat_waits = trio.Event()

    def publish(self, envelopes: Sequence[Envelope]) -> None:
        """See `ports.Net.publish`. Raises LocalMistake for an event that is too large."""
        if self._may_speak() and envelopes:
            self._counters["outbox_dropped"] += self._outbox.put(envelopes)
            self._plan_waits.set()

    def announce(self, presence: Presence) -> None:
        """See `ports.Net.announce`. Raises LocalMistake if it is too large."""
        if len(encode(presence)) > limits.PRESENCE_BYTES_MAX:
            raise LocalMistake(f"presence is over {limits.PRESENCE_BYTES_MAX} bytes: shorten the names in it")
        if self._may_speak():
            self._presence = presence
            self._beat_waits.set()

    def stream(self, live: Live) -> None:
        """See `ports.Net.stream`. Raises LocalMistake for a chunk that is too large."""
        if self._may_speak():
            self._counters["live_dropped"] += not self._chunks.put(live)
            self._beat_waits.set()

    async def run(
        self,
        pubsub: Pubsub,
        deliver: Deliver,
        heard: Callable[[ID], None],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Join the topics, then move messages both ways until cancelled. *heard* is told of every forwarder."""

        def validator(read: Callable[[rpc_pb2.Message], Input]) -> Callable[[ID, rpc_pb2.Message], bool]:
            return lambda forwarder, message: self._sound(forwarder, message, read, heard)

        async with trio.open_nursery() as nursery:
            for topic, read in ((self._plan, self._read_plan), (self._beat, self._read_beat)):
                pubsub.set_topic_validator(topic, validator(read), False)
                nursery.start_soon(self._move, await pubsub.subscribe(topic), read, deliver)
            nursery.start_soon(self._publish_plan, pubsub)
            nursery.start_soon(self._publish_beat, pubsub)
            task_status.started()

    def _may_speak(self) -> bool:
        self._counters["silenced"] += self._silent
        return not self._silent

    async def _publish_plan(self, pubsub: Pubsub) -> None:
        while True:
            await self._plan_waits.wait()
            batch = self._outbox.take()
            if not batch:
                self._plan_waits = trio.Event()
                continue
            await self._send(pubsub, self._plan, encode(batch), PLAN_INTERVAL_S)

    async def _publish_beat(self, pubsub: Pubsub) -> None:
        while True:
            await self._beat_waits.wait()
            if self._presence is not None:
                presence, self._presence = self._presence, None
                await self._send(pubsub, self._beat, PRESENCE + encode(presence), 0)
            live = self._chunks.take()
            if live is not None:
                await self._send(pubsub, self._beat, LIVE + encode(live), BEAT_INTERVAL_S)
            elif self._presence is None:
                self._beat_waits = trio.Event()

    async def _send(self, pubsub: Pubsub, topic: str, data: bytes, interval_s: float) -> None:
        await pubsub.publish(topic, data)
        self._counters["messages_sent"] += 1
        await trio.sleep(interval_s)
        self._stuck &= _behind(pubsub)
        with trio.move_on_after(PATIENCE_S):
            while _behind(pubsub) - self._stuck:
                await trio.sleep(PLAN_INTERVAL_S)
        self._stuck |= _behind(pubsub)

    async def _move(
        self, subscription: ISubscriptionAPI, read: Callable[[rpc_pb2.Message], Input], deliver: Deliver
    ) -> None:
        while True:
            message = await subscription.get()
            if _author(message) != self._own:
                deliver(read(message))

    def _sound(
        self,
        forwarder: ID,
        message: rpc_pb2.Message,
        read: Callable[[rpc_pb2.Message], Input],
        heard: Callable[[ID], None],
    ) -> bool:
        heard(forwarder)
        try:
            public_key(_author(message))  # an author is an Ed25519 peer, or its id means nothing to the plan
            if len(message.topicIDs) != 1:
                raise RemoteFault("message on several topics")
            read(message)
        except RemoteFault as fault:
            self._counters["messages_refused"] += 1
            _log.debug("refused a message of %s: %s", _author(message), fault)
            return False
        return True

    def _read_plan(self, message: rpc_pb2.Message) -> Input:
        envelopes = decode_batch(message.data)
        if len(envelopes) > BATCH_ENVELOPES_MAX:
            raise RemoteFault(f"{len(envelopes)} events in one message")
        return Heard(envelopes, _author(message))

    def _read_beat(self, message: rpc_pb2.Message) -> Input:
        tag, body = message.data[:1], message.data[1:]
        if tag == PRESENCE:
            return PresenceHeard(_author(message), decode_presence(body))
        if tag == LIVE:
            return LiveHeard(_author(message), decode_live(body))
        raise RemoteFault("neither presence nor running text")


def _behind(pubsub: Pubsub) -> set[ID]:
    """The peers that read more slowly than this one speaks."""
    return {peer for peer, queue in pubsub.peer_queues.items() if len(queue) > DEEP_RPCS}


def _author(message: rpc_pb2.Message) -> PeerId:
    return PeerId(ID(message.from_id).to_base58())
