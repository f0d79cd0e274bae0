"""Whether a judge reads what it marks. One that gives every split the same marks ("always 7") says nothing of any."""

from collections import deque

from swarmd.roles.work import Judgement

_REMEMBERED = 5  # judgements; four good splits in a row happen
_ALIKE = 0.02  # marks that differ by less are the same


class Calibration:
    """The latest marks of this peer's own model."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float | None, float | None, float | None]] = deque(maxlen=_REMEMBERED)

    def note(self, judgement: Judgement) -> None:
        """Remember what the model said of one more split."""
        self._recent.append((judgement.specific, judgement.disjoint, judgement.covering))

    @property
    def is_constant(self) -> bool:
        """Whether the latest splits, five of them, all got the same marks."""
        if len(self._recent) < _REMEMBERED:
            return False
        return all(_is_constant(given) for given in zip(*self._recent, strict=True))


def _is_constant(given: tuple[float | None, ...]) -> bool:
    numbers = [mark for mark in given if mark is not None]
    if len(numbers) < len(given):
        return not numbers  # no mark at all is not told apart either
    return max(numbers) - min(numbers) < _ALIKE
