"""`python -m tests.sim.report` measures how the swarm scales and writes docs/simulation.md with its plots."""

import argparse
import random
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from swarmd.events.envelope import Envelope
from swarmd.gossip.eventset import EventSet
from swarmd.gossip.frames import Frame, encode
from swarmd.gossip.reconcile import Initiator, respond
from swarmd.replica.me import ROLES
from swarmd.vocab.hlc import HLC_MAX
from tests.sim import mesh
from tests.sim.checkers import OneWorker
from tests.sim.plot import chart
from tests.sim.weather import Weather
from tests.sim.world import SWARM, World

PEERS = (5, 10, 30, 100, 300, 1_000)
LOSSES = (0.0, 0.2)
# time to 99.99 % of nodes by the published convergence simulator of Serf (gossip fanout 3, every 0.2 s), milliseconds
SERF_MS = {5: 1_600, 10: 1_600, 30: 1_800, 100: 2_000}
SERF_LOSS_MS = 400  # what 20 % packet loss adds there
_THINKERS = 5  # of a large swarm, so many propose and judge; all of them execute


@dataclass(frozen=True, slots=True)
class Spreading:
    """Means over many events, for one number of peers and one loss."""

    messages: float
    bytes: float
    half_ms: int
    most_ms: int
    all_ms: int
    repaired: float


@dataclass(frozen=True, slots=True)
class Working:
    """What real machines did with real goals."""

    leaves: int
    begun: int
    finished_twice: int
    events: int
    seconds: float


def spreading(peers: int, loss: float, size: int, events: int) -> Spreading:
    """How events of *size* bytes spread."""
    rng = random.Random(f"spreading {peers} {loss}")
    net = mesh.build(peers, rng)
    runs = [mesh.spread(net, size, loss, rng) for _ in range(events)]
    return Spreading(
        messages=mean(run.messages for run in runs) / peers,
        bytes=mean(run.bytes for run in runs) / peers,
        half_ms=int(median(run.share_ms(0.5) for run in runs)),
        most_ms=int(median(run.share_ms(0.99) for run in runs)),
        all_ms=int(median(run.share_ms(1.0) for run in runs)),
        repaired=mean(run.repaired for run in runs),
    )


def working(peers: int, loss: float, seeds: int) -> tuple[Working, list[Envelope]]:
    """Let that many real machines plan a goal each *seeds* times; also the events of the last run."""
    leaves = begun = twice = events = 0
    seconds = 0.0
    envelopes: list[Envelope] = []
    for seed in range(seeds):
        roles: list[tuple[str, ...]] = [ROLES] * min(peers, _THINKERS) + [("executor",)] * max(0, peers - _THINKERS)
        weather = Weather(
            roles=roles,
            moods=["able"],
            loss=loss,
            goals=2 if peers < 100 else 1,
            chaos_ms=20_000,
            depth=(2, 2),
            slots=(1, 1),
        )
        weather.rest_broken = False
        world = World(seed, "calm", weather=weather)
        world.execute()
        work = next(checker for checker in world.checkers if isinstance(checker, OneWorker))
        leaves += len(work.begun)
        begun += sum(len(entries) for entries in work.begun.values())
        twice += world.met["double results"]
        machine = world.hosts[0].machine
        assert machine is not None
        events += len(machine.events)
        envelopes = [opened.envelope for opened in machine.events]
        seconds += world.t_ms / 1_000
    return Working(leaves, begun, twice, events, seconds / seeds), envelopes


def catching_up(envelopes: list[Envelope], lacking: float) -> tuple[int, int]:
    """Bytes of all frames, both ways, when a peer that lacks that share reconciles, and the bytes of what it lacked."""
    rng = random.Random(f"catching up {len(envelopes)} {lacking}")
    missing = set(rng.sample(range(len(envelopes)), max(1, round(lacking * len(envelopes)))))
    theirs, ours = EventSet(), EventSet()
    world = World(0, "calm")
    for number, envelope in enumerate(envelopes):
        theirs.add(world.open(envelope, SWARM))
        if number not in missing:
            ours.add(world.open(envelope, SWARM))
    initiator = Initiator(ours, HLC_MAX - 1, silent=False)
    frame: Frame | None = initiator.start()
    moved = 0
    while frame is not None:
        answer, _ = respond(theirs, frame, HLC_MAX - 1)
        moved += len(encode(frame)) + len(encode(answer))
        frame, brought = initiator.step(answer)
        for envelope in brought:
            ours.add(world.open(envelope, SWARM))
    assert ours.fingerprint() == theirs.fingerprint()
    return moved, sum(envelopes[number].size for number in missing)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim.report", description=__doc__)
    parser.add_argument("--into", type=Path, default=Path(__file__).parents[2] / "docs", help="directory")
    arguments = parser.parse_args()
    worked: dict[tuple[int, float], Working] = {}
    envelopes: list[Envelope] = []
    for peers in (5, 10, 30, 100):
        for loss in LOSSES:
            worked[peers, loss], made = working(peers, loss, 6 if peers < 30 else 2 if peers == 30 else 1)
            envelopes += made
    envelopes = list(dict.fromkeys(envelopes))
    size = round(mean(envelope.size for envelope in envelopes))
    spreads = {(n, loss): spreading(n, loss, size, 200 if n < 300 else 40) for n in PEERS for loss in LOSSES}
    joins = {(count, share): catching_up(envelopes[:count], share) for count in _counts(envelopes) for share in _SHARES}
    plots = arguments.into / "simulation"
    plots.mkdir(parents=True, exist_ok=True)
    for name, drawing in _plots(spreads).items():
        (plots / f"{name}.svg").write_text(drawing)
    (arguments.into / "simulation.md").write_text(_page(size, spreads, worked, joins))


_SHARES = (1.0, 0.1, 0.01)


def _counts(envelopes: list[Envelope]) -> list[int]:
    return [count for count in (100, 500, 1_000) if count <= len(envelopes)]


def _plots(spreads: dict[tuple[int, float], Spreading]) -> dict[str, str]:
    return {
        "time": chart(
            "Time until an event is everywhere",
            "peers",
            "milliseconds",
            {
                "99 %, no loss": [(n, spreads[n, 0.0].most_ms) for n in PEERS],
                "100 %, no loss": [(n, spreads[n, 0.0].all_ms) for n in PEERS],
                "99 %, 20 % loss": [(n, spreads[n, 0.2].most_ms) for n in PEERS],
                "100 %, 20 % loss": [(n, spreads[n, 0.2].all_ms) for n in PEERS],
                "Serf, no loss": list(SERF_MS.items()),
                "Serf, 20 % loss": [(n, ms + SERF_LOSS_MS) for n, ms in SERF_MS.items()],
            },
        ),
        "cost": chart(
            "What an event costs each peer",
            "peers",
            "bytes sent",
            {f"{loss:.0%} loss": [(n, spreads[n, loss].bytes) for n in PEERS] for loss in LOSSES},
        ),
    }


def _page(
    size: int,
    spreads: dict[tuple[int, float], Spreading],
    worked: dict[tuple[int, float], Working],
    joins: dict[tuple[int, float], tuple[int, int]],
) -> str:
    spread_rows = [
        f"| {n:,} | {loss:.0%} | {s.messages:.1f} | {s.bytes:,.0f} | {s.half_ms} | {s.most_ms:,} | {s.all_ms:,} |"
        f" {s.repaired:.2f} | {_serf(n, loss)} |"
        for (n, loss), s in spreads.items()
    ]
    work_rows = [
        f"| {n} | {loss:.0%} | {w.leaves} | {w.begun} | {w.begun / w.leaves - 1:.1%} |"
        f" {w.finished_twice} | {w.events} |"
        for (n, loss), w in worked.items()
    ]
    join_rows = [
        f"| {count:,} | {share:.0%} | {lacked:,} | {moved:,} | {moved / lacked:.2f} |"
        for (count, share), (moved, lacked) in joins.items()
    ]
    return _TEXT.format(
        size=size,
        spread="\n".join(spread_rows),
        work="\n".join(work_rows),
        joins="\n".join(join_rows),
    )


def _serf(peers: int, loss: float) -> str:
    return f"{SERF_MS[peers] + (SERF_LOSS_MS if loss else 0):,}" if peers in SERF_MS else "–"


_TEXT = """# The swarm in figures

Written by `make sim-report` from seeded simulations; the same code gives the same figures.

## How an event spreads

Modelled, not run: a GossipSub mesh (degree 6, heartbeat 1 s with IHAVE and IWANT to six further peers for three
heartbeats), 3 to 60 ms for a hop, and reconciliation for whoever gossip missed (presence every 4 s, then within 2 s).
Each transmission is lost by itself with the given chance, as UDP would lose it; over TCP, which the swarm uses, loss
shows as delay, so the rows with 20 % are pessimistic. An event has {size} bytes, the mean of what real machines wrote
in the runs below. Messages and bytes are what each peer sends on average for one event, presence not counted. Serf's
column is time to 99.99 % by its published convergence simulator (another protocol, gossip every 0.2 s to three peers;
as a yardstick only).

| peers | loss | messages per peer | bytes per peer | 50 % ms | 99 % ms | 100 % ms | peers repaired | Serf ms |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|
{spread}

![Time until an event is everywhere](simulation/time.svg)

![What an event costs each peer](simulation/cost.svg)

Presence is the part that does not scale: every peer announces itself every 4 s to all, so each peer of a swarm of *N*
takes in *N*/4 messages a second, besides the mesh's copies. That is 1 a second in a home of 5, and 250 a second among
1,000, where presence would have to be thinned out. Homes are what the swarm is made for.

## Work done twice

Run with the very machines that ship, each message to each peer by itself (no mesh), 5 of the peers proposing and
judging, all of them executing. *Begun*: model requests for a task; more than one for a task is wasted work.

| peers | loss | tasks | begun | wasted | finished twice | events |
|---:|---:|---:|---:|---:|---:|---:|
{work}

## Catching up

Bytes of all frames of one reconciliation, both ways, of a peer that lacks a share of the events, against the bytes of
what it lacked. The less it lacks, the more of the bytes are questions.

| events | lacked | bytes lacked | bytes moved | ratio |
|---:|---:|---:|---:|---:|
{joins}
"""

if __name__ == "__main__":
    main()
