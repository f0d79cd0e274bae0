"""Who lives in the demo's household and what each does. Whatever its size, one peer may die and the plan still ends."""

from msgspec import Struct

NODES_MIN = 4  # three scorers, of whom two are a quorum when one dies, and an observer
NODES_MAX = 12
_NAMES = ("kitchen", "study", "garage", "attic", "cellar", "hall", "porch", "nursery", "workshop", "library", "loft")
_OBSERVER = "window"
_ROLES = (
    ("decomposer", "scorer"),
    ("decomposer", "scorer", "executor"),
    ("scorer", "executor"),
    ("decomposer", "scorer", "executor"),
)


class Resident(Struct, frozen=True, kw_only=True):
    """One peer of the household. No roles: the observer."""

    name: str
    roles: tuple[str, ...]


def household(nodes: int) -> tuple[Resident, ...]:
    """*nodes* peers, the last of which only observes. At least two decomposers, three scorers and two executors."""
    assert NODES_MIN <= nodes <= NODES_MAX
    workers = [Resident(name=_NAMES[i], roles=_ROLES[i % len(_ROLES)]) for i in range(nodes - 1)]
    return (*workers, Resident(name=_OBSERVER, roles=()))
