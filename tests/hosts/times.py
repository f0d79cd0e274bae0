"""How long things took, shown as a table when the tests end. `make hosts-times` repeats what is worth a median."""

import os
import statistics

REPEATS = int(os.environ.get("SWARMD_TEST_REPEATS", "1"))

_HEADER = ("fault", "what", "runs", "median s", "least s", "most s")


class Times:
    """Of one run of the tests, in the order in which they were first noted."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], list[float]] = {}

    def note(self, fault: str, what: str, seconds: float) -> None:
        """It took so many *seconds* from *fault* to *what*."""
        self._taken.setdefault((fault, what), []).append(seconds)

    def table(self) -> list[str]:
        """All of it as Markdown, line by line; nothing if nothing was noted."""
        if not self._taken:
            return []
        rows = [
            (fault, what, str(len(all_s)), *(f"{s:.1f}" for s in (statistics.median(all_s), min(all_s), max(all_s))))
            for (fault, what), all_s in self._taken.items()
        ]
        return [_row(_HEADER), _row(["---"] * len(_HEADER)), *(_row(row) for row in rows)]


def _row(cells: object) -> str:
    assert isinstance(cells, list | tuple)
    return "| " + " | ".join(cells) + " |"
