"""One machine on a bare stage, for tests that know exactly what they want to happen to it."""

import random

from swarmd.events.envelope import Identity
from swarmd.gossip.frames import Presence
from swarmd.replica.effects import Effect
from swarmd.replica.inputs import BackendChanged, Input, Now, Started
from swarmd.replica.machine import Machine
from swarmd.replica.me import ROLES
from swarmd.roles.work import Backend
from tests.sim.clocks import TRUE_MS
from tests.sim.world import SWARM, TIMING, identity

BACKEND = Backend(name="scripted", model="canned", tier="small", slots=2)


class Stage:
    """A machine with all roles and a model, up since simulated time 0 unless told otherwise."""

    def __init__(self, *, who: Identity | None = None, wall_ms: int = TRUE_MS, slots: int = 2) -> None:
        self.machine = Machine(
            who or identity(0), SWARM, name="anna", roles=ROLES, timing=TIMING, rng=random.Random(1), version="1"
        )
        self.wall_ms = wall_ms
        self.t_ms = 0
        self.feed(Started(()))
        self.feed(BackendChanged(Backend(name="scripted", model="canned", tier="small", slots=slots)))

    def feed(self, happened: Input) -> list[Effect]:
        """Let one thing happen now."""
        return self.machine.handle(happened, Now(self.wall_ms + self.t_ms, self.t_ms))

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self.t_ms += ms


def presence(wall_ms: int, *, roles: tuple[str, ...] = ()) -> Presence:
    """What some other peer says of itself."""
    return Presence(name="bob", roles=roles, wall_ms=wall_ms, hlc=0, fingerprint=bytes(16), run=bytes(16))
