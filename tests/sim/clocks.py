"""The clocks of one simulated machine: wall time may be wrong, step and drift; monotonic time only runs."""

import random
from dataclasses import dataclass

from swarmd.replica.inputs import Now

TRUE_MS = 1_790_000_000_000  # the right Unix time at the start of every run
HOUR_MS = 3_600_000
YEAR_MS = 365 * 24 * HOUR_MS


@dataclass(slots=True)
class Clocks:
    """*wrong_ms*: wall clock less true time. *drift_ppm*: by how much the wall clock runs fast, parts per million.
    *wild*: it may
    be off by anything."""

    mono_base_ms: int
    wrong_ms: int = 0
    drift_ppm: int = 0
    wild: bool = False

    def now(self, t_ms: int) -> Now:
        """Both clocks at simulated time *t_ms*."""
        wall = TRUE_MS + t_ms + self.wrong_ms + t_ms * self.drift_ppm // 1_000_000
        return Now(max(0, wall), self.mono_base_ms + t_ms)

    def until(self, mono_ms: int) -> int:
        """The simulated time at which the monotonic clock shows *mono_ms*."""
        return mono_ms - self.mono_base_ms

    def step(self, by_ms: int) -> None:
        """Somebody, or NTP, sets the wall clock."""
        self.wrong_ms += by_ms

    def mend(self) -> None:
        """NTP has found the right time."""
        self.wrong_ms = self.drift_ppm = 0


def draw(rng: random.Random, *, wild: bool) -> Clocks:
    """The clocks of a machine."""
    clocks = Clocks(mono_base_ms=rng.randint(0, 10_000_000), wrong_ms=rng.randint(-200, 200), wild=wild)
    if wild:
        clocks.drift_ppm = rng.choice((0, 0, 200, -200, 20_000))
        clocks.wrong_ms = bad(rng)
    return clocks


def bad(rng: random.Random) -> int:
    """How wrong a bad clock is, in milliseconds."""
    kind = rng.randrange(5)
    if kind == 0:
        return rng.randint(-30, 30) * 60_000
    if kind == 1:
        return rng.randint(-14, 14) * HOUR_MS
    if kind == 2:
        return rng.randint(1, 12) * YEAR_MS
    if kind == 3:
        return -rng.randint(1, 12) * YEAR_MS
    return -TRUE_MS  # 1970: no real-time clock
