"""What an invariant is to the simulator: an object that sees every effect and every step, and judges the end."""

from typing import TYPE_CHECKING, ClassVar, NoReturn

from swarmd.events.envelope import Opened, Swarm
from swarmd.replica.effects import Effect
from swarmd.replica.inputs import Input
from swarmd.vocab import limits
from swarmd.vocab.hlc import Hlc, wall_ms
from tests.sim.clocks import TRUE_MS
from tests.sim.violation import Violation

if TYPE_CHECKING:
    from tests.sim.world import Host, World


class Checker:
    """One invariant. *watches*: effects of which it wants to know; *restless*: whether it looks at steps that bring no
    event, too."""

    watches: ClassVar[tuple[type[Effect], ...]] = ()
    restless: ClassVar[bool] = False

    def __init__(self, world: "World") -> None:
        """Look at a new world."""

    def on_effect(self, world: "World", host: "Host", effect: Effect) -> None:
        """An effect was carried out."""

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        """All effects of one input were carried out; *fresh* are the events that it brought."""

    def on_equivocation(self, world: "World", host: "Host", vote: Opened) -> None:
        """A scorer has told different votes to different peers."""

    def settled(self, world: "World") -> bool:
        """Whether, after the healing, nothing more is to come."""
        return True

    def finish(self, world: "World") -> None:
        """Judge the end."""


def fail(world: "World", invariant: str, text: str) -> NoReturn:
    """Raise what was broken, where and when."""
    raise Violation(f"{invariant}: {text} (seed {world.seed}, scenario {world.scenario}, {world.t_ms} ms)")


def core_hosts(world: "World") -> "list[Host]":
    """The machines that heal."""
    return [world.hosts[index] for index in sorted(world.core)]


def sane(stamp: int, world: "World") -> bool:
    """Whether a stamp is one that a peer with a right clock takes in."""
    return wall_ms(Hlc(stamp)) <= TRUE_MS + world.t_ms + limits.DRIFT_MS_MAX


def swarm_of(host: "Host") -> Swarm:
    """The swarm of a running machine."""
    assert host.machine is not None
    return host.machine._record._swarm
