"""The journal holds every event of this peer, in order of appending. What it acknowledged is there after any crash.

One SQLite database in WAL mode, one table, one connection, one process. It judges no event: who loads it opens each
envelope like any other that comes in.
"""

import errno
import fcntl
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from swarmd.events.envelope import Envelope
from swarmd.gossip.frames import GroupSummary
from swarmd.vocab.faults import LocalMistake
from swarmd.vocab.ids import EventId, event_id

log = logging.getLogger(__name__)

_FORMAT = 1  # kept in SQLite's user_version
_CHECKPOINT_PAGES = 1_000  # of 4 KiB: the log is folded back into the database at about 4 MiB
_WAL_BYTES_MAX = 8 * 1024 * 1024  # what the log file may keep on disk after it was folded back
_DAMAGED_KEPT_MAX = 3  # databases moved aside; a dying SD card must not fill itself with them

_SCHEMA = """
CREATE TABLE IF NOT EXISTS event (
  place INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  payload BLOB NOT NULL,
  signature BLOB NOT NULL
) STRICT
"""
_SCHEMA_FORGOTTEN = """
CREATE TABLE IF NOT EXISTS forgotten (
  goal TEXT PRIMARY KEY,
  events INTEGER NOT NULL,
  fingerprint BLOB NOT NULL
) STRICT
"""
# A known event changes nothing, unless its bytes on disk have rotted: then this mends them.
_APPEND = """
INSERT INTO event (id, payload, signature) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET payload = excluded.payload, signature = excluded.signature
WHERE payload <> excluded.payload OR signature <> excluded.signature
"""

_ALL = "SELECT id, payload, signature FROM event ORDER BY place"

_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_ERRNO = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_BUSY: errno.EBUSY,
}


class Journal:
    """The event journal in the file *path*; its directory is made if need be.

    Methods block, and may be called from any thread. A database that SQLite finds damaged is moved aside and an empty
    one begun, which other peers fill again. `skipped` counts the rotten rows that the last `load` left out.

    Raises LocalMistake if another process uses the directory, OSError if the disk does not serve.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped = 0
        self._turn = threading.Lock()
        self._lag = True  # whether events may wait in the system's cache; a killed predecessor may have left some
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _lock_directory(path.parent, path.with_suffix(".lock"))
        try:
            self._db = self._open()
        except BaseException:
            os.close(self._lock)
            raise

    def load(self) -> tuple[Envelope, ...]:
        """Every event that was appended, in order of appending. Raises OSError if the disk cannot be read."""
        with self._turn, self._disk_errors():
            self.skipped = 0
            envelopes = tuple(self._rows())
        if self.skipped:
            log.error("%s: %d rotten events left out; other peers hold them", self.path, self.skipped)
        return envelopes

    def append(self, envelopes: Sequence[Envelope], *, sync: bool) -> None:
        """Add events, all or none; with *sync*, return only when they would survive a power cut. Known ones are
        ignored.

        Raises OSError if the disk does not take them.
        """
        rows = [(bytes.fromhex(envelope.id), envelope.payload, envelope.signature) for envelope in envelopes]
        with self._turn, self._disk_errors():
            # In WAL mode FULL makes every COMMIT fdatasync the log before it returns, and with it all earlier commits;
            # NORMAL hands the log to the system (so that a kill loses nothing) and syncs at checkpoints only. SQLite
            # syncs the directory when it makes the log. (sqlite.org/pragma.html#pragma_synchronous and
            # sqlite.org/wal.html; strace shows the same of 3.40.) Beyond that the drive must keep its own word.
            self._db.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            changes = self._db.total_changes
            self._db.executemany(_APPEND, rows)
            changed = self._db.total_changes > changes
            self._db.execute("COMMIT")
            if not sync:
                self._lag = self._lag or changed
                return
            if not changed and self._lag:
                # All were known, so the commit was empty and synced nothing; a checkpoint syncs log and database.
                self._db.execute("PRAGMA wal_checkpoint(FULL)")
            self._lag = False

    def forget(self, goals: Sequence[GroupSummary], events: Sequence[EventId]) -> None:
        """Delete events and remember their goals' summaries, all or nothing. Raises OSError if the disk refuses."""
        with self._turn, self._disk_errors():
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute(_SCHEMA_FORGOTTEN)
            self._db.executemany("DELETE FROM event WHERE id = ?", [(bytes.fromhex(event),) for event in events])
            self._db.executemany(
                "INSERT OR REPLACE INTO forgotten VALUES (?, ?, ?)",
                [(goal.group, goal.count, goal.fingerprint) for goal in goals],
            )
            self._db.execute("COMMIT")

    def forgotten(self) -> tuple[GroupSummary, ...]:
        """What is left of the goals that were forgotten. Raises OSError if the disk cannot be read."""
        with self._turn, self._disk_errors():
            (made,) = self._db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'forgotten'").fetchone()
            rows = self._db.execute("SELECT * FROM forgotten ORDER BY rowid") if made else ()
            return tuple(GroupSummary(*row) for row in rows)

    def size(self) -> int:
        """Bytes on disk, databases that were moved aside included."""
        return size(self.path)

    def close(self) -> None:
        """Flush and let go. Harmless when repeated."""
        with self._turn:
            if self._lock < 0:
                return
            try:
                self._db.close()
            finally:
                os.close(self._lock)
                self._lock = -1

    def _rows(self) -> Iterator[Envelope]:
        for identifier, payload, signature in self._db.execute(_ALL):
            if identifier.hex() == event_id(payload):
                yield Envelope(payload, signature)
            else:
                self.skipped += 1

    def _open(self) -> sqlite3.Connection:
        with _as_os_error(self.path):
            try:
                return _connect(self.path)
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                _move_aside(self.path, error)
                return _connect(self.path)

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        with _as_os_error(self.path):
            try:
                yield
            except sqlite3.DatabaseError as error:
                if _is_damage(error):
                    self._db.close()
                    _move_aside(self.path, error)
                    self._db = _connect(self.path)
                elif self._db.in_transaction:
                    self._db.rollback()
                raise


def size(path: Path) -> int:
    """Bytes that the journal in *path* has on disk, with its log and what was moved aside."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


def read_as_it_lies(path: Path) -> tuple[Envelope, ...]:
    """What the database in *path* holds, without writing or locking anything: for a disk that cannot be written.

    What is only in its log is left out. Raises sqlite3.Error if it cannot be read.
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        return tuple(Envelope(payload, signature) for _, payload, signature in db.execute(_ALL))


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        # Without a second connection no reader can hold up checkpoints, so the log stays bounded; no shared memory.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        db.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES_MAX}")
        (found,) = db.execute("PRAGMA user_version").fetchone()
        if found > _FORMAT:
            raise LocalMistake(f"{path} was written by a newer swarmd (format {found}): upgrade swarmd again")
        (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise _Damaged(verdict)
        if found < _FORMAT:
            db.execute(_SCHEMA)
            db.execute(f"PRAGMA user_version = {_FORMAT}")
    except BaseException:
        db.close()
        raise
    return db


class _Damaged(sqlite3.DatabaseError):
    """SQLite's own check found something wrong."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def _is_damage(error: sqlite3.Error) -> bool:
    # the low byte is the primary code, the rest says where it came from
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


@contextmanager
def _as_os_error(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = _ERRNO.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, errno.EIO)
        raise OSError(code, f"the journal is not being kept: {error}", str(path)) from error


def _move_aside(path: Path, why: Exception) -> None:
    stem = f"{path.name}.corrupt-"
    earlier = sorted(
        int(number)
        for number in (found.name.removeprefix(stem) for found in path.parent.glob(f"{stem}*"))
        if number.isdecimal()
    )
    aside = path.with_name(f"{stem}{earlier[-1] + 1 if earlier else 1}")
    log.error("%s is damaged (%s): moved to %s, beginning an empty one that other peers fill", path, why, aside)
    for number in earlier[: len(earlier) + 1 - _DAMAGED_KEPT_MAX]:
        for suffix in ("", "-wal"):
            path.with_name(f"{stem}{number}{suffix}").unlink(missing_ok=True)
    # the log first: left behind, it would be replayed into the new database
    log_file = path.with_name(f"{path.name}-wal")
    if log_file.exists():
        log_file.rename(f"{aside}-wal")
    path.rename(aside)


def _lock_directory(directory: Path, lock_file: Path) -> int:
    # a file of its own: the database may be moved aside, and the kernel frees the lock however the process ends
    descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise LocalMistake(
            f"another swarmd uses {directory}: stop it first, or give this one a state_dir of its own"
        ) from None
    return descriptor
