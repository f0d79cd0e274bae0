"""A journal on a disk that may refuse to be written, now or later: it is opened as soon as it can be, and until then
read as it lies."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from swarmd.events.envelope import Envelope
from swarmd.gossip.frames import GroupSummary
from swarmd.store.journal import Journal, read_as_it_lies, size
from swarmd.vocab.ids import EventId


class PatientJournal:
    """The journal in the file *path*. *judge* is called with what kept it from being opened at first, and may raise
    something better; otherwise every `append` tries again.

    Raises LocalMistake if another process uses the directory.
    """

    def __init__(self, path: Path, judge: Callable[[OSError], None]) -> None:
        self._path = path
        self._journal: Journal | None = None
        try:
            self._journal = Journal(path)
        except OSError as error:
            judge(error)

    def load(self) -> tuple[Envelope, ...]:
        """Every event that was appended, as far as the disk gives it back."""
        try:
            return self._journal.load() if self._journal is not None else read_as_it_lies(self._path)
        except (OSError, sqlite3.Error):
            return ()  # other peers hold them

    def append(self, envelopes: Sequence[Envelope], *, sync: bool) -> None:
        """Add events; see `Journal.append`. Raises OSError as long as the disk refuses."""
        if self._journal is None:
            self._journal = Journal(self._path)
        self._journal.append(envelopes, sync=sync)

    def forget(self, goals: Sequence[GroupSummary], events: Sequence[EventId]) -> None:
        """See `Journal.forget`."""
        if self._journal is not None:
            self._journal.forget(goals, events)

    def forgotten(self) -> tuple[GroupSummary, ...]:
        """What is left of the goals that were forgotten, as far as the disk gives it back."""
        try:
            return self._journal.forgotten() if self._journal is not None else ()
        except OSError:
            return ()

    def size(self) -> int:
        """Bytes on disk."""
        return size(self._path)

    def close(self) -> None:
        """Flush and let go."""
        if self._journal is not None:
            self._journal.close()
