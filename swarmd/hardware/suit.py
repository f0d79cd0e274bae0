"""Which roles suit a machine."""

from msgspec import Struct

from swarmd.hardware.machine import Machine

ALL_ROLES = ("decomposer", "scorer", "executor")
_MEMORY_FOR_WORK_MIN = 1 << 30  # the daemon's 100 MB, a tiny model's 250 MB, and the system around them


class Suited(Struct, frozen=True):
    """*reason*: in words for people."""

    roles: tuple[str, ...]
    reason: str


def choose_roles(machine: Machine) -> Suited:
    """The roles that *machine* should take while a model answers it. Without one a peer scores by itself."""
    if machine.memory_bytes is not None and machine.memory_bytes < _MEMORY_FOR_WORK_MIN:
        return Suited(("scorer",), f"{machine.memory_bytes >> 20} MiB of memory are too little to write plans beside")
    return Suited(ALL_ROLES, "there is room for every role")
