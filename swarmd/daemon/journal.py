"""What the daemon says of itself: on a terminal with the time, under systemd with the priority that journald reads.

systemd sets JOURNAL_STREAM to the device and inode of the stream that it reads (systemd.exec(5)); `<N>` prefixes are
the levels of sd-daemon(3).
"""

import logging
import os
import sys

from swarmd.vocab.text import clean

_LINE_BYTES_MAX = 2_048  # a log line is for reading
_PRIORITIES = {logging.CRITICAL: 2, logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6, logging.DEBUG: 7}


class _Line(logging.Formatter):
    """One line a record, whatever is in it. Tracebacks follow on lines of their own."""

    def __init__(self, *, to_journal: bool) -> None:
        super().__init__("%(message)s" if to_journal else "%(asctime)s %(message)s", datefmt="%H:%M:%S")
        self._to_journal = to_journal

    def format(self, record: logging.LogRecord) -> str:
        """The record as text that cannot forge another line or drive a terminal."""
        lines = super().format(record).split("\n")
        said = [clean(lines[0], _LINE_BYTES_MAX), *(clean(line, _LINE_BYTES_MAX, lines=True) for line in lines[1:])]
        mark = f"<{_PRIORITIES.get(record.levelno, 6)}>" if self._to_journal else ""
        return "\n".join(mark + line for line in said if line)


def is_journal(stream: object = sys.stderr) -> bool:
    """Whether *stream* is read by journald."""
    try:
        status = os.fstat(stream.fileno())  # type: ignore[attr-defined]
    except (OSError, ValueError, AttributeError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def set_up(*, verbose: bool) -> None:
    """Log to standard error: what happens in the swarm, and warnings of libraries."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Line(to_journal=is_journal()))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("swarmd").setLevel(logging.DEBUG if verbose else logging.INFO)
