"""What the daemon says of itself: in colours on a terminal; under systemd with priorities and fields to search by.

One line an event, whatever text is in it, and no more lines than somebody can read. systemd sets JOURNAL_STREAM to the
device and inode of the stream that it reads (systemd.exec(5)); levels are those of syslog(3), `<N>` those of
sd-daemon(3).
"""

import logging
import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

from swarmd.daemon.journald import Journald
from swarmd.plan.views import Change
from swarmd.vocab.ids import short
from swarmd.vocab.text import clean

_LINE_BYTES_MAX = 2_048  # a log line is for reading
_PRIORITIES = {logging.CRITICAL: 2, logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6, logging.DEBUG: 7}
_NOTICE = 5
_NOTABLE = frozenset({"goal", "cancel", "amend", "ended"})  # what a person wanted, and what became of it
_FIELDS = ("goal", "task", "peer", "kind")  # of a record; the journal knows them as SWARMD_GOAL and so on
_WARNING_KINDS = frozenset({"equivocation", "refused", "disk"})
_COLOURS = {3: "31", 4: "33", _NOTICE: "1"}  # SGR of ECMA-48: red, yellow, bold

# A plan in full swing tells tens of lines a second at most; without one, at most 200 lines an hour are said: these two
# bursts, and what an hour gives back to them.
_OF_GOALS = (1_000, 20.0)  # lines at once, lines a second
_OF_ERRORS = (10, 10 / 3_600)
_OF_THE_REST = (60, 120 / 3_600)


def log_change(log: logging.Logger, change: Change) -> None:
    """Say a change in the log, with the short ids of what it is about."""
    level = logging.INFO
    if change.kind == "live":
        level = logging.DEBUG
    elif change.kind in _WARNING_KINDS:
        level = logging.WARNING
    about = "/".join(short(each) for each in dict.fromkeys((change.goal, change.task)) if each)
    fields = {"goal": change.goal, "task": change.task, "peer": change.peer, "kind": change.kind}
    log.log(level, "%s", f"{change.text} [{about}]" if about else change.text, extra=fields)


def is_journal(stream: object = sys.stderr) -> bool:
    """Whether *stream* is read by journald."""
    try:
        status = os.fstat(stream.fileno())  # type: ignore[attr-defined]
    except (OSError, ValueError, AttributeError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def set_up(*, verbose: bool) -> None:
    """Log to standard error: what happens in the swarm, and warnings of libraries."""
    handler = Scribe(sys.stderr, _journald() if is_journal() else None, to_journal=is_journal())
    handler.addFilter(Pace())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("swarmd").setLevel(logging.DEBUG if verbose else logging.INFO)


def priority(record: logging.LogRecord) -> int:
    """The syslog priority of a record, from 2 (critical) to 7 (debug)."""
    if record.levelno == logging.INFO and getattr(record, "kind", "") in _NOTABLE:
        return _NOTICE
    return _PRIORITIES.get(record.levelno, 6)


class Pace(logging.Filter):
    """Lets no more records through than a reader can take; what is left out is counted on the next one that passes.

    Records about goals, errors, and all others each have an allowance of their own (token buckets).
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._allowances = [_Allowance(*of, now()) for of in (_OF_GOALS, _OF_ERRORS, _OF_THE_REST)]

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether *record* is said."""
        of_goals, of_errors, of_the_rest = self._allowances
        if record.levelno >= logging.ERROR:
            allowance = of_errors
        elif getattr(record, "goal", "") or record.levelno == logging.DEBUG:
            allowance = of_goals
        else:
            allowance = of_the_rest
        left_out = allowance.spend(self._now())
        if left_out:
            record.left_out = left_out
        return left_out is not None


class _Allowance:
    def __init__(self, most: float, per_s: float, now: float) -> None:
        self._most, self._per_s = most, per_s
        self._lines, self._at = most, now
        self._left_out = 0

    def spend(self, now: float) -> int | None:
        """None if there is nothing left; otherwise how many lines were left out since the last one."""
        self._lines = min(self._most, self._lines + (now - self._at) * self._per_s)
        self._at = now
        if self._lines < 1:
            self._left_out += 1
            return None
        self._lines -= 1
        left_out, self._left_out = self._left_out, 0
        return left_out


class Scribe(logging.Handler):
    """Writes records to *stream*, or as entries with fields to the *journald* that reads the stream."""

    def __init__(self, stream: TextIO, journald: Journald | None, *, to_journal: bool) -> None:
        super().__init__()
        self._stream = stream
        self._journald = journald
        self._to_journal = to_journal
        self._colours = not to_journal and stream.isatty() and not os.environ.get("NO_COLOR")

    def emit(self, record: logging.LogRecord) -> None:
        """Say *record*."""
        try:
            lines = _lines(record)
            if self._journald is None or not self._send(self._journald, record, lines):
                self._write(record, lines)
        except Exception:
            self.handleError(record)

    def _send(self, journald: Journald, record: logging.LogRecord, lines: list[str]) -> bool:
        fields = {
            "MESSAGE": "\n".join(lines),
            "PRIORITY": str(priority(record)),
            "SYSLOG_IDENTIFIER": "swarmd",
            "SWARMD_LOGGER": record.name,
        }
        fields |= {f"SWARMD_{name.upper()}": clean(getattr(record, name, ""), _LINE_BYTES_MAX) for name in _FIELDS}
        try:
            journald.send(fields)
        except OSError:
            return False  # the stream still gets there
        return True

    def _write(self, record: logging.LogRecord, lines: list[str]) -> None:
        level = priority(record)
        if self._to_journal:
            text = "".join(f"<{level}>{line}\n" for line in lines)
        else:
            at = time.strftime("%H:%M:%S", time.localtime(record.created))
            first, rest = lines[0], "".join(f"{line}\n" for line in lines[1:])
            if self._colours:
                at = f"\x1b[2m{at}\x1b[0m"
                first = f"\x1b[{_COLOURS[level]}m{first}\x1b[0m" if level in _COLOURS else first
            text = f"{at} {first}\n{rest}"
        self._stream.write(text)
        self._stream.flush()


def _lines(record: logging.LogRecord) -> list[str]:
    """The record as text that cannot forge another line or drive a terminal: its message is one line, a traceback
    follows indented."""
    left_out = getattr(record, "left_out", 0)
    message = clean(record.getMessage(), _LINE_BYTES_MAX)
    lines = [f"{message} (and {left_out} lines left out before this one)" if left_out else message]
    if record.exc_info:
        trace = logging.Formatter().formatException(record.exc_info)
        lines += [f"  {clean(line, _LINE_BYTES_MAX)}" for line in trace.split("\n")]
    return lines


def _journald() -> Journald | None:
    try:
        return Journald()
    except OSError:
        return None
