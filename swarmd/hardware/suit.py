"""Which roles suit a machine."""

from msgspec import Struct

from swarmd.hardware.machine import Machine
from swarmd.roles.work import Backend

ALL_ROLES = ("decomposer", "scorer", "executor")
_MEMORY_FOR_WORK_MIN = 1 << 30  # the daemon's 100 MB, a tiny model's 250 MB, and the system around them


class Suited(Struct, frozen=True):
    """*reason*: in words for people."""

    roles: tuple[str, ...]
    reason: str


def choose_roles(machine: Machine, backend: Backend | None) -> Suited:
    """The roles that *machine* should take with the model that answers it."""
    if backend is None:
        return Suited(("scorer",), "no model answers, so it scores by checks of the text alone")
    runs_model_itself = backend.name == "embedded"
    if machine.memory_bytes is not None and machine.memory_bytes < _MEMORY_FOR_WORK_MIN:
        return Suited(("scorer",), f"{machine.memory_bytes >> 20} MiB of memory are too little to write plans beside")
    if runs_model_itself and machine.cores < 1:
        return Suited(("scorer",), f"{machine.cores:.1f} of a core is too little for a model of its own")
    return Suited(ALL_ROLES, f"{backend.model} answers, and there is room to work")
