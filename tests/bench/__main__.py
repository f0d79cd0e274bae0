"""`make bench`: what things cost on this machine. Shown, never asserted: a timed test fails on a busy day."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from swarmd.events.envelope import Opened, open_envelope
from swarmd.events.kinds import Goal, Limits, Policy, Vote
from swarmd.gossip.eventset import EventSet
from swarmd.gossip.frames import Frame, encode
from swarmd.gossip.reconcile import Initiator, respond
from swarmd.plan.plan import fold
from swarmd.store.journal import Journal
from swarmd.vocab.hlc import HLC_MAX, at
from swarmd.vocab.ids import TaskId
from tests.household import PEERS, SWARM, WALL_MS, member, sealed
from tests.sim.world import run

_EVENTS = 10_000
_STORMS = 40
_IMPORT = """
import resource, time
began = time.perf_counter()
import swarmd.daemon.main
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main() -> None:
    """Measure one thing after the other, from the smallest to a whole storm."""
    spent, rss = map(float, subprocess.check_output([sys.executable, "-c", _IMPORT], text=True).split())
    show("start: import of the daemon", f"{spent:.2f} s, {rss:.0f} MiB resident")
    events = long_goal()
    count = len(events)
    seconds = timed(lambda: [open_envelope(opened.envelope, SWARM) for opened in events])
    show("open (decode, verify) one event", f"{seconds / count * 1e6:.0f} µs")
    seconds = timed(lambda: fold(events, SWARM))
    show(f"fold {count:,} events", f"{seconds:.2f} s, {seconds / count * 1e6:.0f} µs each")
    show(f"late joiner lacking {count:,} events, both sides", late_joiner(events))
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.db")
        began = time.perf_counter()
        for opened in events[:200]:
            journal.append([opened.envelope], sync=True)
        seconds = time.perf_counter() - began
        show("append one event to the journal, on the platter", f"{seconds / 200 * 1e3:.2f} ms")
        rest = [opened.envelope for opened in events]
        seconds = timed(lambda: journal.append(rest, sync=False))
        show(f"append {count:,} events at once", f"{seconds:.2f} s")
        seconds = timed(journal.load)
        show("load them", f"{seconds:.2f} s")
        journal.close()
    inputs = 0
    began = time.perf_counter()
    for seed in range(_STORMS):
        inputs += run(seed, "storm").inputs
    seconds = time.perf_counter() - began
    show(f"{_STORMS} simulated storms", f"{_STORMS / seconds:.1f} a second, {seconds / inputs * 1e6:.0f} µs an input")


def long_goal() -> list[Opened]:
    """One goal with very many votes, as a hopeless task might have."""
    stamp = at(WALL_MS)
    goal = sealed(
        Goal(author=PEERS[0], hlc=stamp, text="x", electorate=PEERS[:3], quorum=2, limits=Limits(), policy=Policy())
    )
    votes = [
        sealed(
            Vote(
                author=PEERS[number % 3],
                hlc=stamp + number,
                goal=goal.id,
                task=TaskId(goal.id),
                ballot=number // 3,
                proposal=goal.id,
                approve=False,
            )
        )
        for number in range(1, _EVENTS)
    ]
    return [*map(member, PEERS[:3]), goal, *votes]


def late_joiner(events: list[Opened]) -> str:
    """One side has nothing, the other all: seconds, and bytes against the bytes of what was lacked."""
    empty, full = EventSet(), EventSet()
    for opened in events:
        full.add(opened)
    lacked = len(encode(tuple(opened.envelope for opened in events)))
    moved = 0
    began = time.perf_counter()
    initiator = Initiator(empty, HLC_MAX - 1, silent=True)
    frame: Frame | None = initiator.start()
    while frame is not None:
        answer, _ = respond(full, frame, HLC_MAX - 1)
        moved += len(encode(frame)) + len(encode(answer))
        frame, envelopes = initiator.step(answer)
        for envelope in envelopes:
            empty.add(open_envelope(envelope, SWARM))
    assert len(empty) == len(full)
    return f"{time.perf_counter() - began:.2f} s, {moved / lacked:.3f} times the bytes it lacked"


def timed(act: Callable[[], object]) -> float:
    """Seconds that *act* takes."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def show(what: str, figure: str) -> None:
    """One line of the table."""
    print(f"{what:<52}{figure}", flush=True)


if __name__ == "__main__":
    main()
