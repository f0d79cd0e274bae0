"""Scenarios: what a run's world is like. A scenario draws its `Weather` from the seed; the world then lets it
happen."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from swarmd.replica.me import ROLES
from tests.sim.models import MOODS, Mood


@dataclass(slots=True)
class Weather:
    """Spans in milliseconds, chances 0..1, rest are numbers of times in the chaos phase.

    *late_delay*: chance that a message takes up to *late_ms*. *rest_broken*: whether the peers outside the healed
    quorum stay as they are. *wild_clocks*: share of peers with bad clocks. *splits_only*: no goal is a leaf. *brisk*:
    models answer in much less than a window, so that there is time to polish. *frame_bytes*: of events in one sync
    frame; 0: as shipped. *spite*: chance that somebody is cut off in mid-speech. *secret_votes*: spite goes for voters
    alone. *meddler*: a member answers with invalid events. *amnesiac*: a scorer approves what was accepted once more,
    in a ballot that it had left. *prophet*: a member speaks from another year. *chorus*: a member says much under one
    stamp.
    """

    roles: list[tuple[str, ...]]
    moods: list[Mood]
    chaos_ms: int = 30_000
    loss: float = 0.0
    repeat: float = 0.0
    delay_ms: tuple[int, int] = (3, 60)
    late_delay: float = 0.0
    late_ms: int = 3_000
    cuts: int = 0
    partitions: int = 0
    crashes: int = 0
    restores: int = 0
    lost_disks: int = 0
    wild_clocks: float = 0.0
    clock_steps: int = 0
    mood_swings: int = 0
    late_joiners: int = 0
    newer_peer: bool = False
    equivocator: bool = False
    flooder: bool = False
    meddler: bool = False
    spite: float = 0.0
    splits_only: bool = False
    secret_votes: bool = False
    goals: int = 1
    goals_at_once: bool = False
    cancels: int = 0
    strict: float = 0.0
    stricter_quorum: float = 0.0
    chairs_die: bool = False
    rest_broken: bool = True
    depth: tuple[int, int] = (1, 2)
    slots: tuple[int, int] = (1, 2)
    thresholds: tuple[float, ...] = (0.5, 0.6, 0.7)
    polish: tuple[int, int] = (0, 1)
    prophet: bool = False
    chorus: bool = False
    amnesiac: bool = False
    frame_bytes: int = 0
    brisk: bool = False
    faultless: bool = field(default=False)


def _roles(rng: random.Random, peers: int, observers: int = 0) -> list[tuple[str, ...]]:
    """At least two peers that can do everything (or the only one), then any mix."""
    mixed = [tuple(role for role in ROLES if rng.random() < 0.7) or (rng.choice(ROLES),) for _ in range(peers)]
    for index in range(min(peers, 2)):
        mixed[index] = ROLES
    return mixed + [()] * observers


def calm(rng: random.Random) -> Weather:
    """No fault at all: nothing may be done twice."""
    peers = rng.randint(1, 6)
    return Weather(
        roles=_roles(rng, peers, rng.randint(0, 1)),
        moods=["able", "slow"] * 4 if rng.random() < 0.5 else ["able"] * 8,
        goals=rng.randint(1, 2),
        chaos_ms=8_000,
        faultless=True,
        wild_clocks=rng.choice((0.0, 0.4)),
        clock_steps=3,
    )


def storm(rng: random.Random) -> Weather:
    """Everything that can go wrong in a home, at once."""
    peers = 5
    roles = _roles(rng, peers - 1 if rng.random() < 0.3 else peers)
    roles += [()] * (peers - len(roles))
    return Weather(
        roles=roles,
        moods=[rng.choice(MOODS) if rng.random() < 0.4 else rng.choice(("able", "even")) for _ in range(8)],
        chaos_ms=rng.randint(12_000, 28_000),
        loss=rng.choice((0.0, 0.05, 0.2, 0.35, 0.5)),
        repeat=rng.choice((0.0, 0.1)),
        late_delay=rng.choice((0.0, 0.05, 0.2)),
        cuts=rng.randint(0, 3),
        partitions=rng.randint(0, 2),
        crashes=rng.randint(0, 4),
        lost_disks=int(rng.random() < 0.1),
        wild_clocks=rng.choice((0.0, 0.0, 0.4)),
        clock_steps=rng.choice((0, 0, 2)),
        mood_swings=rng.randint(0, 2),
        late_joiners=int(rng.random() < 0.2),
        newer_peer=rng.random() < 0.2,
        goals=rng.choice((1, 2, 2, 3)),
        goals_at_once=rng.random() < 0.5,
        cancels=int(rng.random() < 0.3),
        strict=0.15,
        stricter_quorum=0.1,
        chairs_die=rng.random() < 0.2,
        rest_broken=rng.random() < 0.6,
        depth=(1, 2) if rng.random() < 0.4 else (1, 1),
    )


def ballots(rng: random.Random) -> Weather:
    """Marks that come late and change which split is best, voters cut off with their votes, chairs that die: what one
    side
    has accepted in secret, the other must not overrule."""
    weather = storm(rng)
    weather.roles = [ROLES] * 3 + [("scorer",)] * rng.randint(0, 3)
    weather.moods = [rng.choice(("even", "fickle", "fickle", "contrary")) for _ in range(8)]
    weather.chaos_ms = rng.randint(20_000, 40_000)
    weather.loss = rng.choice((0.0, 0.2, 0.5))
    weather.cuts = rng.randint(0, 2)
    weather.partitions = rng.randint(0, 1)
    weather.crashes = rng.randint(0, 3)
    weather.chairs_die = rng.random() < 0.5
    weather.spite = rng.choice((0.0, 0.2, 0.4, 0.6))
    weather.splits_only = True
    weather.goals = 3
    weather.goals_at_once = True
    weather.depth = (1, 1)
    return weather


def secrets(rng: random.Random) -> Weather:
    """Three scorers, of whom two accept a split and one of these is cut off with its vote, while late marks make
    another
    split the best: whoever is left must find out what may have been accepted. Little else goes wrong."""
    return Weather(
        roles=[ROLES] * 3,
        moods=["fickle"] * 3,
        chaos_ms=40_000,
        crashes=rng.randint(0, 1),
        spite=rng.choice((0.3, 0.5)),
        secret_votes=True,
        thresholds=(0.3, 0.4),
        splits_only=True,
        amnesiac=rng.random() < 0.5,
        goals=6,
        goals_at_once=True,
        depth=(1, 1),
        slots=(3, 4),
        rest_broken=False,
    )


def claims(rng: random.Random) -> Weather:
    """Executors race for few leaves, slowly, and leases run out while results are on their way."""
    weather = storm(rng)
    weather.roles = [ROLES, ROLES] + [("executor",)] * rng.randint(1, 4)
    weather.moods = [rng.choice(("able", "slow", "slow", "failing")) for _ in range(8)]
    weather.late_delay = 0.3
    weather.late_ms = 6_000
    weather.cancels = rng.randint(0, 2)
    return weather


def clocks(rng: random.Random) -> Weather:
    """Most clocks are wrong and step."""
    weather = storm(rng)
    weather.wild_clocks = 0.7
    weather.clock_steps = rng.randint(1, 6)
    return weather


def disks(rng: random.Random) -> Weather:
    """Crashes at every point, lost disks, and backups that are restored."""
    weather = storm(rng)
    weather.crashes = rng.randint(3, 9)
    weather.lost_disks = rng.randint(0, 1)
    weather.restores = rng.randint(0, 2)
    return weather


def strangers(rng: random.Random) -> Weather:
    """A scorer that votes twice, a peer that floods, one of a newer version."""
    weather = storm(rng)
    weather.equivocator = rng.random() < 0.7
    weather.flooder = rng.random() < 0.6
    weather.meddler = rng.random() < 0.6
    weather.newer_peer = rng.random() < 0.7
    weather.prophet = rng.random() < 0.5
    weather.chorus = rng.random() < 0.5
    weather.frame_bytes = rng.choice((0, 2_000, 8_000))
    weather.spite = rng.choice((0.0, 0.0, 0.3))
    return weather


def choosy(rng: random.Random) -> Weather:
    """Goals that are hard to please, models that answer at once, and no fault: what falls short is polished, and if
    the goal is strict it is never taken."""
    peers = rng.randint(2, 5)
    return Weather(
        roles=_roles(rng, peers),
        moods=["brisk"] * 8,
        chaos_ms=12_000,
        goals=rng.randint(1, 2),
        thresholds=(0.7, 0.8, 0.9),
        polish=(0, 2),
        strict=0.5,
        brisk=True,
        faultless=True,
        slots=(2, 4),
    )


SCENARIOS: dict[str, Callable[[random.Random], Weather]] = {
    "calm": calm,
    "storm": storm,
    "ballots": ballots,
    "secrets": secrets,
    "claims": claims,
    "clocks": clocks,
    "disks": disks,
    "strangers": strangers,
    "choosy": choosy,
}

# of 20 seeds, how many run which scenario
MIX: tuple[str, ...] = (
    ("storm",) * 6
    + ("choosy",)
    + ("ballots",) * 2
    + ("secrets",) * 2
    + ("claims",) * 2
    + ("clocks",) * 2
    + ("disks",) * 2
    + ("strangers",) * 2
    + ("calm",)
)


def scenario_of(seed: int) -> str:
    """The scenario that *seed* runs when none is named."""
    return MIX[seed % len(MIX)]
