"""What a hostile or broken member can send. No input ends the process, and what others say still arrives.

Each change that `containment.py` makes to the library has a test here that fails without it.
"""

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from libp2p.custom_types import TProtocol
from libp2p.pubsub.pb import rpc_pb2
from libp2p.utils import encode_varint_prefixed
from libp2p.utils.varint import encode_uvarint
from multiaddr import Multiaddr

from swarmd.gossip.frames import encode
from swarmd.net.containment import HANDSHAKES_PER_HOST_MAX, QUEUE_BYTES_MAX
from swarmd.net.host import MESHSUB
from swarmd.net.links import PING
from swarmd.net.sync import PER_PEER_MAX
from swarmd.net.sync import PROTOCOL as SYNC
from swarmd.replica.inputs import Heard, LiveHeard, PresenceHeard, SyncOpened
from tests.integration.net_peers import HOME, PATIENCE_S, Peer, envelope, until

PLAN = f"/swarmd/{HOME.id}/plan/1"
BEAT = f"/swarmd/{HOME.id}/presence/1"
BOOM = TProtocol("/boom/1")


@asynccontextmanager
async def a_household() -> AsyncIterator[tuple[Peer, Peer, Peer]]:
    """A victim, a bystander and a member that is about to misbehave, all linked."""
    async with (
        Peer("victim").running() as victim,
        Peer("bystander", static=[victim]).running() as bystander,
        Peer("rogue", static=[victim]).running() as rogue,
    ):
        await says(bystander, victim, "before")
        await says(rogue, victim, "before too")
        yield victim, bystander, rogue


async def says(speaker: Peer, listener: Peer, text: str) -> None:
    word = envelope(text)
    await until(lambda: word.payload in listener.events(), doing=lambda: speaker.net.publish([word]))


async def subscribed(listener: Peer, speaker: Peer) -> None:
    """Wait until *speaker* may speak, without a word: each one would use up a sequence number."""
    await until(lambda: listener.id in speaker.pubsub.peer_topics.get(PLAN, ()))


async def arrived(listener: Peer, wanted: set[bytes]) -> None:
    await until(lambda: wanted <= listener.events())


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def stop_reading(connection: Any) -> None:
    """From now on nothing is taken off the socket."""

    async def nothing(n: int | None = None) -> bytes:
        await trio.sleep_forever()

    connection.muxed_conn.secured_conn.read = nothing


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        with trio.fail_after(3 * PATIENCE_S):
            await test()

    trio.run(bounded)


def rpc(fill: Callable[[Any], object]) -> bytes:
    message = rpc_pb2.RPC()
    fill(message)
    return bytes(encode_varint_prefixed(message.SerializeToString()))


def message(message: Any, **fields: bytes) -> None:
    message.publish.add(data=b"x", topicIDs=[PLAN], **fields)


def words_of(speaker: Peer, hearer: Peer) -> int:
    """How many messages of *speaker* have reached *hearer*'s daemon."""
    peer = speaker.identity.peer
    spoken = [heard.via for heard in hearer.of(Heard)]
    spoken += [heard.peer for heard in hearer.of(PresenceHeard)] + [heard.peer for heard in hearer.of(LiveHeard)]
    return spoken.count(peer)


GOSSIP: dict[str, bytes] = {
    "random protobuf": encode_uvarint(50) + b"\xff" * 50,
    "a length of 2 GB": encode_uvarint(2**31) + b"x" * 1_000,
    "a bad varint": b"\xff" * 20,
    "a truncated message": encode_uvarint(500) + b"abc",
    "a malformed key": rpc(lambda r: message(r, from_id=b"junk", seqno=b"1", signature=b"zz", key=b"garbage")),
    "a malformed Ed25519 key": rpc(
        lambda r: message(r, from_id=b"\x12\x20" + b"a" * 32, seqno=b"1", signature=b"zz", key=b"\x08\x01\x12\x02zz")
    ),
    "no author": rpc(lambda r: message(r, seqno=b"1", signature=b"zz")),
    "a wanted message that is no id": rpc(lambda r: r.control.iwant.add(messageIDs=[b"no id", b"ab"])),
    "a known message that is no id": rpc(lambda r: r.control.ihave.add(topicID=PLAN, messageIDs=[b"zz"])),
    "an unwanted message that is no id": rpc(lambda r: r.control.idontwant.add(messageIDs=[b"\xff"])),
    "a prune for all time": rpc(lambda r: r.control.prune.add(topicID=PLAN, backoff=2**60)),
    "a record of the sender that is none": rpc(lambda r: setattr(r, "senderRecord", b"junk")),
    "10,000 topics": rpc(lambda r: [r.subscriptions.add(subscribe=True, topicid=str(n)) for n in range(10_000)]),
}


@pytest.mark.parametrize("attack", GOSSIP)
def test_a_peer_survives_on_its_gossip_stream(attack: str) -> None:
    async def scenario() -> None:
        async with a_household() as (victim, bystander, rogue):
            stream = await rogue.libp2p.new_stream(victim.id, list(MESHSUB))
            await stream.write(GOSSIP[attack])
            await stream.close()
            await says(bystander, victim, "after")
            await says(victim, bystander, "indeed")

    run(scenario)


@pytest.mark.parametrize(
    ("topic", "data"),
    [
        (PLAN, b""),
        (PLAN, b"\xff" * 100),
        (PLAN, encode((envelope(""),) * 2_000)),
        (PLAN, b"\x91" * 100_000),
        (BEAT, b""),
        (BEAT, b"P\xff"),
        (BEAT, b"L" + b"\xc0"),
        (BEAT, b"?"),
    ],
    ids=["nothing", "no batch", "too many events", "no end", "no tag", "no presence", "no text", "unknown tag"],
)
def test_a_message_that_is_not_of_the_protocol_is_refused_and_counted(topic: str, data: bytes) -> None:
    async def scenario() -> None:
        async with a_household() as (victim, bystander, rogue):
            last = envelope("the last sensible word")
            rogue.net.publish([last])
            await arrived(victim, {last.payload})  # and with it all that was said before
            before = words_of(rogue, victim)
            rogue.pubsub.remove_topic_validator(topic)  # a peer refuses its own nonsense first
            await rogue.pubsub.publish(topic, data)
            await until(lambda: victim.net.counters().get("messages_refused"))
            assert words_of(rogue, victim) == before
            await says(bystander, victim, "after")

    run(scenario)


def test_a_validator_that_raises_does_not_end_the_process() -> None:
    async def scenario() -> None:
        async with a_household() as (victim, bystander, rogue):
            sound = victim.pubsub.topic_validators[PLAN].validator

            def raising(forwarder: Any, heard: Any) -> Any:
                if heard.data == b"boom":
                    raise ValueError("validator")
                return sound(forwarder, heard)

            victim.pubsub.set_topic_validator(PLAN, raising, False)
            rogue.pubsub.remove_topic_validator(PLAN)
            await rogue.pubsub.publish(PLAN, b"boom")
            await until(lambda: victim.net.counters().get("message_faults"))
            await says(bystander, victim, "after")

    run(scenario)


def test_a_stream_handler_that_raises_does_not_end_the_process() -> None:
    async def scenario() -> None:
        async with a_household() as (victim, bystander, rogue):

            async def raising(stream: Any) -> None:
                await stream.read(1)
                raise ValueError("handler")

            victim.libp2p.set_stream_handler(BOOM, raising)
            before = victim.net.counters().get("stream_faults", 0)
            stream = await rogue.libp2p.new_stream(victim.id, [BOOM])
            await stream.write(b"x")
            await until(lambda: victim.net.counters().get("stream_faults", 0) > before)
            await says(bystander, victim, "after")

    run(scenario)


def test_strangers_that_talk_garbage_or_keep_silent_cost_a_peer_nothing() -> None:
    async def scenario() -> None:
        async with a_household() as (victim, bystander, _rogue):
            port = int(Multiaddr(victim.address).value_for_protocol("tcp"))
            strangers = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(100)]
            for number, stranger in enumerate(strangers):
                if number % 2:
                    await stranger.send_all(bytes([number]) * 500)
            await says(bystander, victim, "meanwhile")
            for stranger in strangers:
                await stranger.aclose()
            await until(lambda: victim.network._inbound_limiter.borrowed_tokens == 2)
            assert victim.network.get_total_connections() == 2

    run(scenario)


def test_thousands_of_silent_sockets_keep_nobody_out_and_are_let_go() -> None:
    async def scenario() -> None:
        async with a_household() as (victim, bystander, _rogue):
            port = int(Multiaddr(victim.address).value_for_protocol("tcp"))
            before = open_files()
            most = 0
            strangers: list[trio.SocketStream] = []
            for _ in range(20):
                strangers += [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(100)]
                await says(bystander, victim, f"meanwhile {len(strangers)}")
                most = max(most, open_files() - before - len(strangers))
            assert most <= HANDSHAKES_PER_HOST_MAX + 100  # those just accepted
            assert victim.net.counters()["handshakes_refused"] >= 1_900
            for stranger in strangers:
                await stranger.aclose()
            async with Peer("guest", static=[victim]).running() as guest:
                await says(guest, victim, "may I?")
            await until(lambda: open_files() <= before + 4)

    run(scenario)


def test_a_member_that_opens_streams_without_end_is_stopped_and_counted() -> None:
    async def scenario() -> None:
        async with a_household() as (victim, bystander, rogue):

            async def flood(protocol: TProtocol) -> None:
                with trio.move_on_after(4):
                    while True:
                        try:
                            await rogue.libp2p.new_stream(victim.id, [protocol])
                        except Exception:  # whatever the library makes of being refused
                            await trio.sleep(0.01)

            async with trio.open_nursery() as nursery:
                for protocol in (SYNC, PING, TProtocol("/nobody/1")):
                    for _ in range(5):
                        nursery.start_soon(flood, protocol)
                await says(bystander, victim, "meanwhile")
                await says(victim, bystander, "indeed")
            assert len(victim.of(SyncOpened)) <= PER_PEER_MAX
            assert victim.net.counters()["sync_refused"]
            await says(bystander, victim, "after")

    run(scenario)


def test_a_member_that_reads_nothing_does_not_hold_up_the_others() -> None:
    async def scenario() -> None:
        async with a_household() as (victim, bystander, rogue):
            for connection in rogue.network.get_connections(victim.id):
                await stop_reading(connection)
            large = [envelope(f"{number} ".ljust(30_000, ".")) for number in range(150)]
            for each in large:
                victim.net.publish([each])
                await trio.sleep(0.01)
            await arrived(bystander, {each.payload for each in large})
            queues = victim.pubsub.peer_queues.values()
            assert max(queue._bytes for queue in queues) <= QUEUE_BYTES_MAX
            await says(bystander, victim, "after")

    run(scenario)


def test_the_slot_of_an_inbound_connection_is_free_again_when_it_closes() -> None:
    async def scenario() -> None:
        async with Peer("victim").running() as victim, Peer("guest").running() as guest:
            victim.network._inbound_limiter = limiter = trio.CapacityLimiter(30)
            address = Multiaddr(victim.address.split("/p2p/")[0])

            async def visit() -> None:
                connection = await guest.network.dial_addr(address, victim.id)
                await connection.close()

            for _ in range(8):
                async with trio.open_nursery() as nursery:
                    for _ in range(5):
                        nursery.start_soon(visit)
            await until(lambda: not limiter.borrowed_tokens)

    run(scenario)


def test_messages_of_a_peer_that_restarts_are_not_taken_for_old_ones() -> None:
    async def scenario() -> None:
        async with Peer("listener").running() as listener:
            for life in range(2):
                async with Peer("speaker", static=[listener]).running() as speaker:
                    await subscribed(listener, speaker)
                    for number in range(60):
                        await speaker.pubsub.publish(PLAN, encode((envelope(f"{life} {number}"),)))
                    await arrived(listener, {f"{life} {number}".encode() for number in range(60)})

    run(scenario)


def test_200_messages_without_a_pause_are_not_lost_in_the_librarys_queues() -> None:
    async def scenario() -> None:
        async with Peer("listener").running() as listener, Peer("speaker", static=[listener]).running() as speaker:
            await says(speaker, listener, "hello")
            for number in range(200):
                await speaker.pubsub.publish(PLAN, encode((envelope(str(number)),)))
            await arrived(listener, {str(number).encode() for number in range(200)})

    run(scenario)


def test_routine_trouble_is_not_in_the_log_in_red(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with a_household() as (victim, bystander, _rogue):
            port = int(Multiaddr(victim.address).value_for_protocol("tcp"))
            for number in range(20):
                stranger = await trio.open_tcp_stream("127.0.0.1", port)
                await stranger.send_all(bytes([number]) * 500)
                await stranger.aclose()
            bystander.net.also(["/ip4/127.0.0.1/tcp/9"])
            await until(lambda: bystander.net.counters().get("dials_failed"))
            await until(lambda: victim.network._inbound_limiter.borrowed_tokens == 2)

    run(scenario)
    red = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert not [record for record in red if "libp2p" in record.pathname], red
