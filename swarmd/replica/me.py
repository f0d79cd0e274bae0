"""This peer as others see it: its name, its roles, the model behind them."""

from dataclasses import dataclass, field

from swarmd.roles.work import Backend
from swarmd.vocab.ids import PeerId

_TOKENS_PER_S_MAX = 1_000_000  # of what a server says of itself
ROLES = ("decomposer", "scorer", "executor")


@dataclass(slots=True)
class Me:
    """*allowed*: the roles it may take, in the order of `ROLES`; none makes a pure observer. *run*: 16 random bytes,
    new at every start. *backend_known*: whether the model has been looked for. *suited*: the roles that it serves for
    here, None for all; *reasons*: in words. *mute*: why it only observes for now: a
    peer that could not remember what it said must say nothing."""

    peer: PeerId
    name: str
    allowed: tuple[str, ...]
    version: str
    run: bytes
    backend: Backend | None = field(default=None)
    backend_known: bool = False
    suited: tuple[str, ...] | None = None
    reasons: tuple[str, ...] = ()
    mute: str = ""

    @property
    def silent(self) -> bool:
        """Whether this is an observer, which publishes nothing and signs nothing."""
        return not self.allowed or bool(self.mute)

    @property
    def roles(self) -> tuple[str, ...]:
        """What it does at the moment: without a model only scoring, by the checks of the text."""
        if self.backend is not None:
            return tuple(role for role in self.allowed if self.suited is None or role in self.suited)
        return tuple(role for role in self.allowed if role == "scorer") if self.backend_known else ()

    @property
    def tokens_per_s(self) -> int:
        """What its model wrote in its self-test, in whole tokens a second and at least 1; 0 if it had none."""
        measured = self.backend.tokens_per_s if self.backend else None
        return 0 if measured is None else round(min(max(measured, 1), _TOKENS_PER_S_MAX))

    @property
    def slots(self) -> int:
        """How many requests its model serves at once."""
        return self.backend.slots if self.backend else 0
