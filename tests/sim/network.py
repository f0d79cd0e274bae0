"""The simulated network: who hears whom, how late, how often. Broadcasts may be lost; streams are ordered or dead."""

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Network:
    """Directed reachability and delays between hosts, by index."""

    rng: random.Random
    loss: float
    repeat: float
    delay_ms: tuple[int, int]
    late_delay: float
    late_ms: int
    cut: set[tuple[int, int]] = field(default_factory=set)  # from, to: nothing passes
    noisy: set[int] = field(default_factory=set)  # after the healing: hosts that still lose half of everything
    sent: int = 0

    def passes(self, source: int, target: int) -> bool:
        """Whether anything can pass from *source* to *target*."""
        return (source, target) not in self.cut

    def both(self, one: int, other: int) -> bool:
        """Whether a two-way conversation is possible."""
        return (one, other) not in self.cut and (other, one) not in self.cut

    def delay(self) -> int:
        """How long one message takes, milliseconds."""
        if self.late_delay and self.rng.random() < self.late_delay:
            return self.rng.randint(self.delay_ms[1], self.late_ms)
        return self.rng.randint(*self.delay_ms)

    def broadcast(self, source: int, target: int) -> tuple[int, ...]:
        """After which delays *target* hears a broadcast of *source*: never, once, or more often."""
        self.sent += 1
        if (source, target) in self.cut:
            return ()
        loss = 0.5 if source in self.noisy or target in self.noisy else self.loss
        if loss and self.rng.random() < loss:
            return ()
        if self.repeat and self.rng.random() < self.repeat:
            return (self.delay(), self.delay())
        return (self.delay(),)

    def sever(self, one: int, other: int, *, one_way: bool) -> None:
        """Cut a link, in one direction or both."""
        self.cut.add((one, other))
        if not one_way:
            self.cut.add((other, one))

    def mend(self, one: int, other: int) -> None:
        """Both directions work again."""
        self.cut.discard((one, other))
        self.cut.discard((other, one))


@dataclass(slots=True)
class Wire:
    """A sync stream between (host, incarnation, session) and the same of the other side. *half_open*: nothing arrives
    and
    nobody is told. *arrives*: when the last frame of each direction arrives, since frames keep their order."""

    ends: tuple[tuple[int, int, int], tuple[int, int, int]]
    half_open: bool = False
    closed: bool = False
    arrives: dict[int, int] = field(default_factory=dict)

    def other(self, end: tuple[int, int, int]) -> tuple[int, int, int]:
        """The far end."""
        return self.ends[1] if end == self.ends[0] else self.ends[0]
