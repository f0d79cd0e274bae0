"""The rhythm of links, on a clock that costs no time and a network that is made up."""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, cast

import pytest
import trio
import trio.testing
from libp2p.network.exceptions import SwarmException
from libp2p.peer.id import ID
from libp2p.transport.exceptions import OpenConnectionError

from swarmd.events.envelope import Identity
from swarmd.net.host import Host
from swarmd.net.links import BACKOFF_FIRST_S, BACKOFF_LAST_S, DEAD_S, QUIET_S, Backoff, Links
from swarmd.replica.inputs import Connected, Disconnected, Input
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake

OWN = Identity(b"o" * 32)
OTHER = Identity(b"p" * 32)
ADDRESS = f"/ip4/192.168.1.20/tcp/7400/p2p/{OTHER.peer}"


def test_waits_between_dials_double_up_to_half_a_minute_and_differ_between_peers() -> None:
    waits = [[Backoff(Random(seed)).after(failures) for failures in range(1, 12)] for seed in range(50)]
    for failures in range(11):
        whole = min(BACKOFF_LAST_S, 2.0**failures)
        assert all(max(BACKOFF_FIRST_S, whole / 2) <= wait[failures] <= whole for wait in waits)
    assert len({wait[10] for wait in waits}) == 50
    assert Backoff(Random(0)).after(10_000) <= BACKOFF_LAST_S


@pytest.mark.parametrize("text", ["", "192.168.1.20", "/ip4/192.168.1.20", "/ip4/1.2.3.4/tcp/x", "/ip4/1.2.3.4/udp/1"])
def test_a_static_peer_that_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(LocalMistake, match="/ip4/192"):
        Links(OWN.peer, [text], Random(0), Counter())


class Wire:
    """One possible connection to OTHER. It answers a ping after *pong_s*, or never."""

    def __init__(self, *, reachable: bool = True, answers: bool = False, pong_s: float | None = 0.1) -> None:
        self.reachable = reachable
        self.answers = answers
        self.pong_s = pong_s
        self.dials: list[float] = []
        self.asked: set[ID] = set()
        self.open: list[Connection] = []
        self.links: Links | None = None
        self.met: dict[ID, ID] = {}
        self.peers = {ID.from_base58(OTHER.peer)}  # that gossip knows
        self.peer_topics = {"plan": self.peers}

    async def dial_addr(self, address: Any, peer: ID) -> None:
        self.dials.append(trio.current_time())
        self.asked.add(peer)
        if not self.reachable:
            raise SwarmException("handshake") if self.answers else OpenConnectionError("refused")
        connection = Connection(self)
        self.open.append(connection)
        await cast(Links, self.links).connected(cast(Any, self), cast(Any, connection))

    def get_connections(self, peer: ID) -> list["Connection"]:
        return list(self.open)

    def register_notifee(self, links: Links) -> None:
        self.links = links

    def get_peerstore(self) -> "Wire":
        return self

    def addrs(self, peer: ID) -> list[Any]:
        raise LookupError

    async def new_stream(self, peer: ID, protocols: Any) -> "Wire":
        return self

    async def write(self, data: bytes) -> None: ...

    async def read(self, n: int) -> bytes:
        await trio.sleep(float("inf") if self.pong_s is None else self.pong_s)
        return b"x" * n

    async def close(self) -> None: ...

    async def reset(self) -> None: ...


class Connection:
    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.muxed_conn = self
        self.peer_id = ID.from_base58(OTHER.peer)

    is_closed = False

    async def close(self) -> None:
        if self in self.wire.open:
            self.wire.open.remove(self)
            await cast(Links, self.wire.links).disconnected(cast(Any, self.wire), cast(Any, self))


def lived(
    wire: Wire,
    seconds: float,
    meanwhile: Callable[[Links], Any] | None = None,
    static: Sequence[str] = (ADDRESS,),
    **memory: Any,
) -> list[Input]:
    """What is delivered in *seconds*."""
    inputs: list[Input] = []

    async def scenario() -> None:
        links = Links(OWN.peer, static, Random(7), Counter(), **memory)
        host = Host(cast(Any, wire), cast(Any, wire), cast(Any, wire), wire.met)
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                await nursery.start(links.run, host, inputs.append)
                if meanwhile is not None:
                    await meanwhile(links)

    trio.run(scenario, clock=trio.testing.MockClock(autojump_threshold=0))
    return inputs


def test_a_peer_that_does_not_answer_is_dialled_again_ever_more_rarely_and_for_ever() -> None:
    wire = Wire(reachable=False)
    assert lived(wire, 3_600) == []
    gaps = [later - earlier for earlier, later in zip(wire.dials, wire.dials[1:], strict=False)]
    assert 100 < len(gaps) < 300
    assert min(gaps) >= BACKOFF_FIRST_S
    assert max(gaps) <= BACKOFF_LAST_S


def test_a_peer_that_was_discovered_is_dialled_until_it_takes_its_leave() -> None:
    wire = Wire(reachable=False)
    heard: list[int] = []

    async def coming_and_going(links: Links) -> None:
        await trio.sleep(10)
        links.found(OTHER.peer, [("192.168.1.20", 7400)])
        await trio.sleep(100)
        heard.append(len(wire.dials))
        links.lost(OTHER.peer)

    assert lived(wire, 3_600, coming_and_going, static=()) == []
    assert heard[0] > 5
    assert len(wire.dials) == heard[0]
    assert 10 <= wire.dials[0] <= 11


def test_announcements_without_end_are_not_all_dialled() -> None:
    wire = Wire(reachable=False)

    async def flood(links: Links) -> None:
        for number in range(2 * limits.PEERS_MAX):
            links.found(Identity(str(number).encode().ljust(32, b".")).peer, [("192.168.1.20", 7400)])

    lived(wire, 5, flood, static=())
    assert len(wire.asked) == limits.PEERS_MAX


def test_a_link_that_is_lost_is_made_again_within_seconds_and_each_change_is_said_once() -> None:
    wire = Wire()

    async def cut(links: Links) -> None:
        for _ in range(3):
            await trio.sleep(60)
            await wire.open[0].close()

    assert lived(wire, 200, cut) == [Connected(OTHER.peer), Disconnected(OTHER.peer)] * 3 + [Connected(OTHER.peer)]


def test_an_address_that_was_reached_is_dialled_after_a_restart() -> None:
    wire = Wire()
    kept: list[Any] = []
    lived(wire, 10, static=(ADDRESS,), remember=kept.append)
    again = Wire()
    assert lived(again, 10, static=(), remembered=kept[-1]) == [Connected(OTHER.peer)]
    assert str(kept[-1][OTHER.peer][0]) == "/ip4/192.168.1.20/tcp/7400"


def test_a_machine_that_has_moved_dials_at_once_whom_it_had_nearly_given_up() -> None:
    wire = Wire(reachable=False)

    async def moved(links: Links) -> None:
        await trio.sleep(600)
        wire.reachable = True
        links.moved(["192.168.1.5"])
        await trio.sleep(2)
        assert wire.open

    lived(wire, 700, moved)


def test_a_static_peer_that_does_not_answer_is_named_until_it_does() -> None:
    wire = Wire(reachable=False)

    async def look(links: Links) -> None:
        await trio.sleep(20)
        assert links.notices() == ("192.168.1.20:7400 does not answer: is it up, and the address right?",)
        wire.reachable = True
        await trio.sleep(60)
        assert links.notices() == ()

    lived(wire, 100, look)


def test_who_breaks_off_the_handshake_is_told_apart_and_the_log_says_so_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wire = Wire(reachable=False, answers=True)

    async def look(links: Links) -> None:
        await trio.sleep(15)
        assert "swarmd key fingerprint" in links.notices()[0]

    lived(wire, 300, look)
    assert 2 <= sum("swarmd key fingerprint" in record.getMessage() for record in caplog.records) <= 5


def test_a_half_open_link_is_found_within_thirty_seconds() -> None:
    wire = Wire(pong_s=None)

    async def unplugged(links: Links) -> None:
        await trio.sleep(QUIET_S)
        wire.reachable = False

    assert lived(wire, 30, unplugged) == [Connected(OTHER.peer), Disconnected(OTHER.peer)]


def test_a_peer_whose_pongs_take_14_seconds_is_kept() -> None:
    assert lived(Wire(pong_s=14), 600) == [Connected(OTHER.peer)]


def test_a_peer_that_answers_no_ping_but_still_talks_is_kept() -> None:
    async def talking(links: Links) -> None:
        while True:
            await trio.sleep(20)
            links.heard(ID.from_base58(OTHER.peer))

    assert lived(Wire(pong_s=None), 600, talking) == [Connected(OTHER.peer)]


def test_a_peer_that_connects_anew_replaces_its_old_connection_without_a_word() -> None:
    wire = Wire()

    async def reconnecting(links: Links) -> None:
        await trio.sleep(60)
        await wire.dial_addr(None, ID.from_base58(OTHER.peer))
        await trio.sleep(1)
        assert len(wire.open) == 1

    assert lived(wire, 100, reconnecting) == [Connected(OTHER.peer)]


@pytest.mark.parametrize("seconds", [18, 30])
def test_a_link_that_gossip_does_not_reach_for_long_is_made_anew(seconds: float) -> None:
    wire = Wire()

    async def forget(links: Links) -> None:
        await trio.sleep(20)
        wire.peer_topics = {}
        await trio.sleep(seconds)
        wire.peer_topics = {"plan": wire.peers}

    anew = [Disconnected(OTHER.peer), Connected(OTHER.peer)] if seconds > DEAD_S else []
    assert lived(wire, 60, forget) == [Connected(OTHER.peer), *anew]
