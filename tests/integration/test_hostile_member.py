"""A holder of the swarm key turns on the others, who are real daemons: they stay up, and go on with each other's goals.

What one hostile message does to the network layer is in test_net_hostile.py; here it is what comes in masses.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import trio
from libp2p.peer.id import ID

from swarmd.events.envelope import Envelope, seal
from swarmd.events.kinds import Member, Score
from swarmd.gossip.frames import Give, encode
from swarmd.net.links import DEAD_S
from swarmd.net.streams import framed
from swarmd.net.sync import PROTOCOL
from swarmd.vocab import hlc, limits
from swarmd.vocab.ids import EventId, GoalId, TaskId
from tests.household import SWARM
from tests.integration.net_peers import Peer, until
from tests.integration.row import Daemon, level, meet, row

EVENTS = 6_000
TEXT = "of no use to anybody " * 40  # with its signature a kilobyte, as many events have
GROWTH_BYTES = 48 * 1024 * 1024  # beside the events themselves: messages that wait, caches, the allocator's slack
FILES = 64  # links that are made anew while the old ones end; a leak would be one for each of thousands of messages
STARVED_S = DEAD_S + 4
YEAR_MS = 365 * 86_400_000
_T = TypeVar("_T")


@pytest.fixture
def household(folder: Path) -> Iterator[list[Daemon]]:
    with row(folder, SWARM, "attic", "barn") as daemons:
        attic, barn = daemons
        attic.start()
        barn.start(attic)
        meet(daemons)
        yield daemons


async def asked(question: Callable[[], _T]) -> _T:
    """What a daemon answers, for a test that has a loop of its own."""
    return await trio.to_thread.run_sync(question)


def scores(rogue: Peer, goal: str, stamp_ms: int, count: int) -> list[Envelope]:
    """So many events, each well-formed and signed by a member, about a proposal that nobody made."""
    return [
        seal(
            Score(
                author=rogue.identity.peer, hlc=hlc.at(stamp_ms) + number, goal=GoalId(goal), task=TaskId(goal),
                proposal=EventId(f"{number:064x}"), specific=1, disjoint=1, covering=1, critique=TEXT,
            ),
            rogue.identity,
            SWARM,
        )
        for number in range(count)
    ]  # fmt: skip


def admission(rogue: Peer) -> Envelope:
    peer = rogue.identity.peer
    member = Member(author=peer, hlc=hlc.at(now_ms()), peer=peer, name="rogue", proof=SWARM.proof(peer))
    return seal(member, rogue.identity, SWARM)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_a_member_that_floods_replays_forges_and_lies_about_time_holds_up_nobody(household: list[Daemon]) -> None:
    attic, barn = household
    address = attic.address

    async def scenario() -> None:
        async with Peer("rogue", SWARM, [address], psk=True).running() as rogue:
            await until(lambda: rogue.links())
            goal = await asked(lambda: attic.give("Tidy the shed"))
            await asked(lambda: barn.until(lambda: barn.finished(goal)))
            memory = [daemon.resident_bytes() for daemon in household]
            files = [daemon.open_files() for daemon in household]
            valid = [admission(rogue), *scores(rogue, goal, now_ms(), EVENTS)]
            old = scores(rogue, goal, 0, 500)  # 1970
            late = scores(rogue, goal, now_ms() + 73 * YEAR_MS, 500)  # 2099
            forged = [Envelope(each.payload, each.signature[::-1]) for each in valid[1:501]]
            outbox = rogue.net._topics._outbox
            other = ""
            for part in (forged, late, old, valid, valid, valid):
                rogue.net.publish(part)
                await until(lambda: not len(outbox))
                other = other or await asked(lambda: barn.give("Tidy the cellar", depth=2))
            await asked(lambda: attic.until(lambda: attic.finished(other) and barn.finished(other)))
            least = len(valid) + len(old)
            await asked(lambda: attic.until(lambda: all(daemon.now().events > least for daemon in household)))
            await asked(lambda: level(household))
            weight = sum(each.size + limits.EVENT_OVERHEAD_BYTES for each in (*valid, *old))
            for daemon, before, had in zip(household, memory, files, strict=True):
                status = await asked(daemon.now)
                assert status.refused["malformed event"] >= len(forged)
                assert status.refused["event from the future"] >= len(late)
                assert daemon.resident_bytes() - before <= weight + GROWTH_BYTES
                assert daemon.open_files() - had <= FILES

    trio.run(scenario)


def test_a_member_that_pours_frames_into_a_sync_stream_costs_the_others_no_memory(
    household: list[Daemon],
) -> None:
    attic, barn = household
    frame = framed(encode(Give((Envelope(bytes(limits.ENVELOPE_BYTES_MAX), b""),))))

    address, attic_id = attic.address, attic.now().id

    async def pour(rogue: Peer) -> int:
        """Bytes that were taken in five seconds."""
        sent = 0
        with trio.move_on_after(5):
            stream = await rogue.libp2p.new_stream(ID.from_base58(attic_id), [PROTOCOL])
            while True:
                await stream.write(frame)
                sent += len(frame)
        return sent

    async def scenario() -> None:
        async with Peer("rogue", SWARM, [address], psk=True).running() as rogue:
            await until(lambda: rogue.links())
            before = attic.resident_bytes()
            await pour(rogue)
            assert attic.resident_bytes() - before <= GROWTH_BYTES
            goal = await asked(lambda: barn.give("Tidy the shed"))
            await asked(lambda: attic.until(lambda: attic.finished(goal)))

    trio.run(scenario)


def test_a_daemon_that_gets_a_tenth_of_a_core_is_not_dropped(household: list[Daemon]) -> None:
    attic, barn = household
    assert barn.process is not None
    pid = barn.process.pid
    until_then = time.monotonic() + STARVED_S
    while time.monotonic() < until_then:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.9)
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.1)
    for daemon in household:
        assert "lost the link" not in daemon.log
    assert not {"links_dropped"} & attic.now().refused.keys()
    goal = attic.give("Tidy the shed")
    barn.until(lambda: barn.finished(goal))
