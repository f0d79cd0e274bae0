"""How one event spreads through a GossipSub mesh (gossipsub v1.1, degree 6): pushed along links, then told of every
second.

Only the spreading is modelled, no replicas, so that a thousand peers fit into one process. A lossy network loses each
transmission by itself, as UDP would; TCP would repeat it, so the figures with loss are pessimistic.
"""

import heapq
import random
from dataclasses import dataclass, field

DEGREE = 6
DEGREE_HIGH = 12
HEARTBEAT_MS = 1_000
GOSSIP_PEERS = 6  # to whom a heartbeat tells the ids of the last events, beside the mesh
HISTORY_HEARTBEATS = 3  # for how long an id is told of
LINK_MS = (3, 60)  # one hop on a home network, Wi-Fi included
IHAVE_BYTES = 90  # one id with its framing
OVERHEAD_BYTES = 60  # topic, signature reference and framing around a message
PRESENCE_MS = 4_000  # the swarm's own repair: who hears a differing fingerprint reconciles
SYNC_MS = 2_000
_SYNC_BYTES = 700  # summary, ranges and want for one missing event


@dataclass(slots=True)
class Spread:
    """What one event cost and when it arrived. Times are milliseconds after publication, one for each peer."""

    arrived_ms: list[int]
    messages: int = 0
    bytes: int = 0
    repaired: int = 0  # peers that only reconciliation reached

    def share_ms(self, share: float) -> int:
        """When that share of all peers, 0..1, had it."""
        ordered = sorted(self.arrived_ms)
        return ordered[max(0, -(-int(share * 1_000_000) * len(ordered) // 1_000_000) - 1)]


@dataclass(slots=True)
class Mesh:
    """*links*: whom each peer is connected to; *mesh*: to whom it pushes, about `DEGREE` of those."""

    links: list[list[int]] = field(default_factory=list)
    mesh: list[list[int]] = field(default_factory=list)


def build(peers: int, rng: random.Random) -> Mesh:
    """A mesh of that many peers: all connected with each other up to `4 * DEGREE_HIGH` links each."""
    links = _random_links(peers, min(peers - 1, 4 * DEGREE_HIGH), rng)
    return Mesh(links, _random_links(peers, min(peers - 1, DEGREE), rng, links))


def _random_links(
    peers: int, degree: int, rng: random.Random, within: list[list[int]] | None = None
) -> list[list[int]]:
    found: list[set[int]] = [set() for _ in range(peers)]
    for one in range(peers):
        choice = within[one] if within else [other for other in range(peers) if other != one]
        for other in rng.sample(choice, min(len(choice), max(0, degree - len(found[one])))):
            found[one].add(other)
            found[other].add(one)
    return [sorted(links) for links in found]


def spread(mesh: Mesh, size: int, loss: float, rng: random.Random) -> Spread:
    """Let a random peer publish an event of *size* bytes."""
    peers = len(mesh.links)
    result = Spread(arrived_ms=[-1] * peers)
    queue: list[tuple[int, int, int, int, str]] = []  # when, sequence, to, from, what
    sequence = 0
    phase = [rng.randrange(HEARTBEAT_MS) for _ in range(peers)]

    def send(at_ms: int, source: int, target: int, what: str, cost: int) -> None:
        nonlocal sequence
        result.messages += what == "event"
        result.bytes += cost
        if loss == 0 or rng.random() >= loss:
            sequence += 1
            heapq.heappush(queue, (at_ms + rng.randint(*LINK_MS), sequence, target, source, what))

    def receive(at_ms: int, peer: int, source: int) -> None:
        nonlocal sequence
        result.arrived_ms[peer] = at_ms
        for other in mesh.mesh[peer]:
            if other != source:
                send(at_ms, peer, other, "event", size + OVERHEAD_BYTES)
        beat = at_ms + (phase[peer] - at_ms) % HEARTBEAT_MS
        for number in range(HISTORY_HEARTBEATS):
            sequence += 1
            heapq.heappush(queue, (beat + number * HEARTBEAT_MS, sequence, peer, peer, "beat"))

    receive(0, rng.randrange(peers), -1)
    while queue:
        at_ms, _, target, source, what = heapq.heappop(queue)
        if what == "event" and result.arrived_ms[target] < 0:
            receive(at_ms, target, source)
        elif what == "have" and result.arrived_ms[target] < 0:
            send(at_ms, target, source, "want", IHAVE_BYTES)
        elif what == "want":
            send(at_ms, target, source, "event", size + OVERHEAD_BYTES)
        elif what == "beat":
            outside = [other for other in mesh.links[target] if other not in mesh.mesh[target]]
            for other in rng.sample(outside, min(GOSSIP_PEERS, len(outside))):
                send(at_ms, target, other, "have", IHAVE_BYTES)
    _repair(mesh, result, size, rng)
    return result


def _repair(mesh: Mesh, result: Spread, size: int, rng: random.Random) -> None:
    """Whom gossip has not reached hears another fingerprint within a presence period, and reconciles."""
    for peer in [peer for peer, at_ms in enumerate(result.arrived_ms) if at_ms < 0]:
        told = rng.randrange(PRESENCE_MS)
        result.arrived_ms[peer] = told + rng.randrange(SYNC_MS) + 4 * rng.randint(*LINK_MS)
        result.repaired += 1
        result.bytes += size + _SYNC_BYTES
