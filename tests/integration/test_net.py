"""Peers on real libp2p hosts on loopback: links, topics, sync sessions, walls."""

import socket
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio
from multiaddr import Multiaddr

from swarmd.events.envelope import Swarm
from swarmd.gossip.frames import Done, Give, Summary
from swarmd.net.links import BACKOFF_FIRST_S, DIAL_S
from swarmd.net.streams import framed
from swarmd.net.sync import PROTOCOL
from swarmd.replica.inputs import (
    Connected,
    Disconnected,
    LiveHeard,
    PresenceHeard,
    SyncClosed,
    SyncHeard,
    SyncOpened,
)
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake
from tests.integration.net_peers import HOME, NEIGHBOUR, PATIENCE_S, Peer, envelope, live, presence, until

HOUR_NS = 3_600 * 10**9


def run(test: Any, *args: Any) -> None:
    async def bounded() -> None:
        with trio.fail_after(3 * PATIENCE_S):
            await test(*args)

    trio.run(bounded)


async def linked(*peers: Peer) -> None:
    """Wait until each hears each of the others."""
    for number, peer in enumerate(peers):
        await reaches(peer, [other for other in peers if other is not peer], f"hello {number} {trio.current_time()}")


async def reaches(speaker: Peer, listeners: list[Peer], text: str) -> None:
    word = envelope(text)
    await until(
        lambda: all(word.payload in listener.events() for listener in listeners),
        doing=lambda: speaker.net.publish([word]),
    )


@pytest.mark.parametrize("psk", [False, True])
def test_a_static_address_is_enough_for_a_link_and_everything_said_arrives(psk: bool) -> None:
    async def scenario() -> None:
        async with Peer("attic", psk=psk).running() as attic, Peer("barn", static=[attic], psk=psk).running() as barn:
            await linked(attic, barn)
            assert attic.links() == {barn.identity.peer}
            barn.net.announce(presence("barn"))
            barn.net.stream(live("once upon"))
            barn.net.stream(live(" a time", offset=9))
            await until(lambda: attic.of(PresenceHeard) and attic.of(LiveHeard))
            assert attic.of(PresenceHeard) == [PresenceHeard(barn.identity.peer, presence("barn"))]
            assert attic.of(LiveHeard) == [LiveHeard(barn.identity.peer, live("once upon a time"))]
            assert not barn.of(PresenceHeard)

    run(scenario)


def test_the_identity_behind_a_bare_address_is_learnt_by_dialling() -> None:
    async def scenario() -> None:
        async with Peer("attic").running() as attic:
            bare = attic.address.split("/p2p/")[0]
            async with Peer("barn", static=[bare]).running() as barn:
                await linked(attic, barn)
                assert attic.of(Connected) == [Connected(barn.identity.peer)]
                assert barn.of(Connected) == [Connected(attic.identity.peer)]

    run(scenario)


def test_peers_of_one_swarm_find_each_other_by_multicast_and_ignore_the_neighbours() -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            attic, barn = [await stack.enter_async_context(Peer(n, mdns=True).running()) for n in ("attic", "barn")]
            other = await stack.enter_async_context(Peer("other", NEIGHBOUR, mdns=True).running())
            await until(lambda: attic.links() and barn.links())
            assert not other.inputs
            assert "dials_failed" not in other.net.counters()

    run(scenario)


def test_presence_is_its_authors_and_not_the_forwarders() -> None:
    async def scenario() -> None:
        async with (
            Peer("middle").running() as middle,
            Peer("left", static=[middle]).running() as left,
            Peer("right", static=[middle]).running() as right,
        ):
            await linked(left, middle, right)
            left.net.announce(presence("left"))
            await until(lambda: right.of(PresenceHeard))
            assert right.of(PresenceHeard)[0].peer == left.identity.peer
            assert right.links() == {middle.identity.peer}

    run(scenario)


def test_a_burst_of_500_events_arrives_whole_at_two_peers() -> None:
    async def scenario() -> None:
        async with (
            Peer("attic").running() as attic,
            Peer("barn", static=[attic]).running() as barn,
            Peer("cellar", static=[attic, barn]).running() as cellar,
        ):
            await linked(attic, barn, cellar)
            burst = [envelope(f"{number} ".ljust(1_024, ".")) for number in range(500)]
            for each in burst:
                attic.net.publish([each])
                await trio.lowlevel.checkpoint()
            wanted = {each.payload for each in burst}
            await until(lambda: wanted <= barn.events() and wanted <= cellar.events())

    run(scenario)


def test_an_event_of_the_largest_size_arrives_and_a_larger_one_is_refused_loudly() -> None:
    async def scenario() -> None:
        async with Peer("attic").running() as attic, Peer("barn", static=[attic]).running() as barn:
            await linked(attic, barn)
            largest = envelope("x" * (limits.ENVELOPE_BYTES_MAX - 64))
            attic.net.publish([largest])
            await until(lambda: largest.payload in barn.events())
            with pytest.raises(LocalMistake, match="shorten"):
                attic.net.publish([envelope("x" * (limits.ENVELOPE_BYTES_MAX - 63))])

    run(scenario)


def test_a_sync_session_carries_frames_both_ways_and_ends_once() -> None:
    async def scenario() -> None:
        async with Peer("attic").running() as attic, Peer("barn", static=[attic]).running() as barn:
            await linked(attic, barn)
            attic.net.sync_open(2, barn.identity.peer)
            attic.net.sync_send(2, Summary(horizon=1))
            await until(lambda: barn.of(SyncHeard))
            [opened] = barn.of(SyncOpened)
            assert opened.peer == attic.identity.peer
            assert opened.session % 2
            large = Give(tuple(envelope("x" * 100_000) for _ in range(5)))
            barn.net.sync_send(opened.session, large)
            await until(lambda: attic.of(SyncHeard))
            assert attic.of(SyncHeard) == [SyncHeard(2, large)]
            attic.net.sync_send(2, Done())
            attic.net.sync_close(2)
            await until(lambda: barn.of(SyncClosed))
            assert barn.of(SyncHeard)[-1].frame == Done()
            assert barn.of(SyncClosed) == [SyncClosed(opened.session)]
            assert not attic.of(SyncClosed)

    run(scenario)


def test_a_session_with_a_peer_that_is_not_there_is_closed_at_once() -> None:
    async def scenario() -> None:
        async with Peer("attic").running() as attic:
            attic.net.sync_open(4, Peer("nobody").identity.peer)
            attic.net.sync_send(4, Summary(horizon=1))
            await until(lambda: attic.of(SyncClosed))
            assert attic.of(SyncClosed) == [SyncClosed(4)]

    run(scenario)


@pytest.mark.parametrize("sent", [b"\x7f\xff\xff\xff", framed(b"\xff" * 40), framed(b"x" * 40)[:20], b"\0"])
def test_a_sync_stream_that_breaks_the_rules_is_closed_and_the_next_one_works(sent: bytes) -> None:
    async def scenario() -> None:
        async with Peer("attic").running() as attic, Peer("barn", static=[attic]).running() as barn:
            await linked(attic, barn)
            stream = await barn.libp2p.new_stream(attic.id, [PROTOCOL])
            await stream.write(sent)
            await stream.close()
            await until(lambda: attic.of(SyncClosed))
            assert not attic.of(SyncHeard)
            assert attic.net.counters()["sync_faults"] == 1
            barn.net.sync_open(2, attic.identity.peer)
            barn.net.sync_send(2, Summary(horizon=1))
            await until(lambda: attic.of(SyncHeard))

    run(scenario)


@pytest.mark.parametrize("psk", [False, True])
def test_a_wrong_swarm_key_is_told_apart_from_a_host_that_does_not_answer_within_15_seconds(
    psk: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        nowhere = "/ip4/127.0.0.1/tcp/9"
        async with (
            Peer("attic", HOME, psk=psk).running() as attic,
            Peer("other", NEIGHBOUR, static=[attic, nowhere], psk=psk).running() as other,
        ):
            await until(lambda: len(other.net.notices()) == 2, 15)
            strange, silent = other.net.notices()
            assert "127.0.0.1" in strange and "swarmd key fingerprint" in strange
            assert "127.0.0.1:9 does not answer" in silent
            await trio.sleep(2 * BACKOFF_FIRST_S)
            assert not psk or attic.net.counters()["strangers_refused"]
        assert len([record for record in caplog.records if "fingerprint" in record.getMessage()]) == 1

    run(scenario)


@pytest.mark.parametrize("psk", [False, True])
def test_while_the_key_is_changed_old_and_new_holders_are_linked_and_afterwards_only_new_ones(psk: bool) -> None:
    old, new = b"o" * 32, b"n" * 32
    before, during = Swarm.of_key(old), Swarm.of_keys((new, old))
    after = Swarm.of_keys((new,), retired=(old,))

    async def scenario() -> None:
        assert before.id == during.id == after.id
        async with (
            Peer("slow", before, psk=psk).running() as slow,
            Peer("middle", during, static=[slow], psk=psk).running() as middle,
            Peer("quick", after, static=[middle, slow], psk=psk).running() as quick,
        ):
            await linked(slow, middle)
            await until(lambda: middle.identity.peer in quick.links())
            await reaches(quick, [middle], "new")
            await until(lambda: any("fingerprint" in notice for notice in quick.net.notices()))
            assert slow.identity.peer not in quick.links()

    run(scenario)


@pytest.mark.parametrize("psk", [False, True])
def test_peers_with_different_swarm_keys_never_exchange_a_message(psk: bool) -> None:
    async def scenario() -> None:
        async with (
            Peer("attic", HOME, psk=psk).running() as attic,
            Peer("other", NEIGHBOUR, static=[attic], psk=psk).running() as other,
        ):
            await until(lambda: other.net.counters().get("dials_failed"), 3 * DIAL_S)
            assert not attic.inputs
            assert not other.inputs

    run(scenario)


def test_an_observer_hears_and_reads_but_says_and_passes_on_nothing() -> None:
    async def scenario() -> None:
        async with (
            Peer("observer", silent=True).running() as observer,
            Peer("left", static=[observer]).running() as left,
            Peer("right", static=[observer]).running() as right,
        ):
            heard = envelope("heard")
            await until(lambda: heard.payload in observer.events(), doing=lambda: left.net.publish([heard]))
            await until(lambda: len(observer.links()) == 2)
            observer.net.publish([envelope("said")])
            observer.net.announce(presence("observer"))
            observer.net.stream(live("said"))
            observer.net.sync_open(2, left.identity.peer)
            observer.net.sync_send(2, Summary(horizon=1))
            await until(lambda: left.of(SyncHeard))
            right.net.sync_open(2, observer.identity.peer)
            await until(lambda: right.of(SyncClosed))
            assert not observer.of(SyncOpened)
            assert not left.events()
            assert not right.events()
            assert not left.of(PresenceHeard)
            assert "messages_sent" not in observer.net.counters()

    run(scenario)


def test_a_peer_that_restarts_with_its_identity_is_back_in_both_directions_within_ten_seconds() -> None:
    async def scenario() -> None:
        async with trio.open_nursery() as nursery:
            attic = Peer("attic")
            await nursery.start(attic.live)
            barn = Peer("barn", static=[attic])
            await nursery.start(barn.live)
            await linked(attic, barn)
            listen = [attic.address.split("/p2p/")[0]]
            attic.scope.cancel()
            await until(lambda: barn.of(Disconnected))
            again = Peer("attic", listen=listen)
            await nursery.start(again.live)
            with trio.fail_after(10):
                await linked(again, barn)
                await until(lambda: again.links())
            assert barn.of(Connected) == [Connected(attic.identity.peer)] * 2
            assert barn.of(Disconnected) == [Disconnected(attic.identity.peer)]
            barn.scope.cancel()
            again.scope.cancel()

    run(scenario)


def test_a_peer_that_restarts_with_an_earlier_clock_is_heard_in_both_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        async with Peer("attic").running() as attic:
            async with Peer("barn", static=[attic]).running() as barn:
                await linked(attic, barn)
            monkeypatch.setattr("libp2p.peer.peer_record.timestamp_seq", lambda: time.time_ns() - HOUR_NS)
            async with Peer("barn", static=[attic]).running() as barn:
                await linked(attic, barn)

    run(scenario)


def test_peers_that_dial_each_other_at_once_have_one_link_whichever_connection_closes() -> None:
    async def meet(number: int) -> None:
        async with Peer(f"left {number}").running() as left, Peer(f"right {number}").running() as right:
            addresses = left.address, right.address
            left.net.also([addresses[1]])
            right.net.also([addresses[0]])
            await until(lambda: len(left.network.get_connections(right.id)) == 2)
            await linked(left, right)
            await left.network.get_connections(right.id)[number % 2].close()
            await until(lambda: len(right.network.get_connections(left.id)) == 1)
            await linked(left, right)
            for one, other in ((left, right), (right, left)):
                assert one.of(Connected) == [Connected(other.identity.peer)]
                assert not one.of(Disconnected)
                assert not {"dials_failed", "links_dropped"} & one.net.counters().keys()

    async def scenario() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(6):
                nursery.start_soon(meet, number)

    run(scenario)


def test_a_peer_is_heard_on_when_either_of_two_connections_to_it_closes() -> None:
    async def scenario() -> None:
        async with Peer("left").running() as left, Peer("right").running() as right:
            for _ in range(2):
                await left.network.dial_addr(Multiaddr(right.address.split("/p2p/")[0]), right.id)
            await until(lambda: len(right.network.get_connections(left.id)) == 2)
            await linked(left, right)
            for at in (0, 1):
                await left.network.get_connections(right.id)[at].close()
                await until(lambda: len(right.network.get_connections(left.id)) == 1)
                await linked(left, right)
                assert not left.of(Disconnected) and not right.of(Disconnected)
                await left.network.dial_addr(Multiaddr(right.address.split("/p2p/")[0]), right.id)
                await until(lambda: len(right.network.get_connections(left.id)) == 2)

    run(scenario)


def test_one_port_serves_both_families() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        both = [f"/ip4/127.0.0.1/tcp/{port}", f"/ip6/::/tcp/{port}"]
        async with Peer("attic", listen=both).running() as attic:
            for name, address in (("barn", both[0]), ("cellar", f"/ip6/::1/tcp/{port}")):
                async with Peer(name, static=[address]).running() as other:
                    await linked(attic, other)

    run(scenario)


def test_two_daemons_cannot_share_a_port() -> None:
    async def scenario() -> None:
        async with Peer("attic").running() as attic:
            second = Peer("second", listen=[attic.address.split("/p2p/")[0]])
            with pytest.raises(LocalMistake, match="choose another port"):
                await second.net.run(second.inputs.append)

    run(scenario)


def test_stopping_takes_less_than_two_seconds_and_the_others_notice() -> None:
    async def scenario() -> None:
        async with Peer("attic", mdns=True).running() as attic:
            async with Peer("barn", static=[attic], mdns=True).running() as barn:
                await linked(attic, barn)
                started = trio.current_time()
            assert trio.current_time() - started < 2
            await until(lambda: attic.of(Disconnected))

    run(scenario)
