"""What the journal acknowledged is there afterwards, whatever happens to the process, the file or the disk."""

import errno
import logging
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarmd.events.envelope import Envelope
from swarmd.gossip.frames import GroupSummary
from swarmd.store.journal import Journal
from swarmd.vocab.faults import LocalMistake

APPENDING = Path(__file__).with_name("appending.py")


def event(number: int, size: int = 100) -> Envelope:
    return Envelope(b"%d " % number + bytes(size), bytes(64))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.db"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    journal = Journal(path)
    yield journal
    journal.close()


def reopened(journal: Journal) -> Journal:
    journal.close()
    return Journal(journal.path)


def rot(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    db.execute(statement)
    db.commit()
    db.close()


def contents(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in directory.iterdir()}


def test_events_come_back_in_order_of_appending_and_once(journal: Journal) -> None:
    journal.append([event(3), event(1)], sync=False)
    journal.append([event(2), event(3)], sync=True)
    journal.append([event(2), event(2), event(0)], sync=False)
    expected = (event(3), event(1), event(2), event(0))
    assert journal.load() == expected
    journal = reopened(journal)
    assert journal.load() == expected
    journal.close()


KILLS = int(os.environ.get("SWARMD_TEST_KILLS", "30"))  # `make kill` takes 1,000


def test_every_acknowledged_event_survives_that_its_writer_is_killed_at_any_instant(path: Path) -> None:
    rng = random.Random(4711)
    acknowledged: set[int] = set()
    kept = 0
    for round_ in range(KILLS):
        if round_ % 100 == 99:  # what is read after each kill shall not grow without end
            kept += len(acknowledged)
            path, acknowledged = path.with_name(f"journal-{round_}.db"), set()
        process = subprocess.Popen(
            [sys.executable, str(APPENDING), str(path), str(max(acknowledged, default=-1) + 1)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        with process.stdout:
            if round_ % 3:  # in full swing; otherwise perhaps still opening
                acknowledged.add(int(process.stdout.readline()))
            killer = threading.Timer(rng.uniform(0, 0.09), process.kill)
            killer.start()
            acknowledged.update(map(int, process.stdout))
        assert process.wait(10) == -signal.SIGKILL
        killer.join()
        journal = Journal(path)
        loaded = journal.load()
        journal.close()
        assert not list(path.parent.glob("*corrupt*"))
        batches: dict[int, int] = {}
        for envelope in loaded:
            batches[int(envelope.payload.split(b".")[0])] = batches.get(int(envelope.payload.split(b".")[0]), 0) + 1
        assert acknowledged <= batches.keys()
        assert set(batches.values()) <= {3}, "half a batch was kept"
    assert kept + len(acknowledged) >= KILLS // 2


def test_duplicates_and_idleness_write_nothing(journal: Journal, path: Path) -> None:
    journal.append([event(1), event(2)], sync=True)
    before = contents(path.parent)
    journal.append([event(2), event(1)], sync=False)
    journal.append([event(1)], sync=True)
    journal.append([], sync=True)
    journal.load()
    assert contents(path.parent) == before


def test_opening_and_closing_writes_nothing_new(journal: Journal, path: Path) -> None:
    journal.append([event(1)], sync=True)
    journal.close()
    before = contents(path.parent)
    Journal(path).close()
    assert contents(path.parent) == before


def test_the_log_stays_bounded(journal: Journal, path: Path) -> None:
    for number in range(400):
        journal.append([event(number, 100_000)], sync=False)
        assert path.with_name("journal.db-wal").stat().st_size < 9 * 1024 * 1024


def test_a_second_daemon_is_told_which_directory_is_taken(journal: Journal, path: Path) -> None:
    with pytest.raises(LocalMistake, match=f"another swarmd uses {path.parent}"):
        Journal(path)
    journal.append([event(1)], sync=True)
    journal = reopened(journal)
    assert journal.load() == (event(1),)
    journal.close()
    journal.close()


@pytest.mark.parametrize("size", [1, 100, 4_096, 20_000])
def test_a_damaged_database_is_moved_aside_and_an_empty_one_begun(
    journal: Journal, path: Path, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    journal.append([event(number) for number in range(200)], sync=True)
    journal.close()
    damaged = bytearray(path.read_bytes())
    damaged[:size] = b"\xa5" * size
    path.write_bytes(damaged)
    with caplog.at_level(logging.ERROR):
        journal = Journal(path)
    assert journal.load() == ()
    assert f"{path} is damaged" in caplog.text
    assert path.with_name("journal.db.corrupt-1").read_bytes() == damaged
    journal.append([event(7)], sync=True)
    journal = reopened(journal)
    assert journal.load() == (event(7),)
    journal.close()


def test_damage_anywhere_never_ends_in_anything_but_a_working_journal(journal: Journal, path: Path) -> None:
    events = [event(number, 300) for number in range(300)]
    journal.append(events, sync=True)
    journal.close()
    good = path.read_bytes()
    rng = random.Random(42)
    for _ in range(60):
        damaged = bytearray(good)
        start = rng.randrange(len(good))
        damaged[start : start + rng.choice([1, 16, 5_000])] = rng.randbytes(rng.choice([1, 16, 5_000]))
        path.write_bytes(damaged)
        journal = Journal(path)
        try:
            assert {loaded.payload for loaded in journal.load()} <= {whole.payload for whole in events}
            journal.append([event(1_000)], sync=True)
        except OSError:  # found out late: the journal is a fresh one now
            journal.append([event(1_000)], sync=True)
        assert event(1_000) in journal.load()
        journal.close()
    assert len(list(path.parent.glob("journal.db.corrupt-*"))) <= 3


def test_a_truncated_database_is_moved_aside(journal: Journal, path: Path) -> None:
    journal.append([event(number) for number in range(200)], sync=True)
    journal.close()
    path.write_bytes(path.read_bytes()[:9_000])
    journal = Journal(path)
    assert journal.load() == ()
    assert path.with_name("journal.db.corrupt-1").exists()
    journal.close()


def test_only_the_last_damaged_databases_are_kept(path: Path) -> None:
    for _ in range(6):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"no database" * 100)
        Journal(path).close()
    assert sorted(found.name for found in path.parent.glob("*corrupt*")) == [
        f"journal.db.corrupt-{number}" for number in (4, 5, 6)
    ]


def test_rotten_rows_are_left_out_and_counted_and_mended_when_they_come_again(journal: Journal, path: Path) -> None:
    journal.append([event(number) for number in range(5)], sync=True)
    journal.close()
    rot(path, "UPDATE event SET payload = zeroblob(9) WHERE place = 2")
    rot(path, "UPDATE event SET signature = x'00' WHERE place = 4")
    journal = Journal(path)
    assert len(journal.load()) == 4  # a rotten signature is for the reader to judge, as with any envelope
    assert journal.skipped == 1
    journal.append([event(1), event(3)], sync=False)
    assert journal.load() == tuple(map(event, range(5)))
    assert journal.skipped == 0
    journal.close()


@pytest.mark.parametrize(
    ("refusal", "expected"), [("PRAGMA max_page_count = 4", errno.ENOSPC), ("PRAGMA query_only = 1", errno.EROFS)]
)
def test_a_full_or_read_only_database_is_an_oserror_that_says_so(
    journal: Journal, path: Path, refusal: str, expected: int
) -> None:
    journal._db.execute(refusal)
    with pytest.raises(OSError, match="the journal is not being kept") as raised:
        journal.append([event(1, 50_000)], sync=True)
    assert raised.value.errno == expected
    assert raised.value.filename == str(path)


def test_a_disk_that_refuses_and_then_recovers_loses_nothing_acknowledged(journal: Journal, path: Path) -> None:
    journal.append([event(1)], sync=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(OSError, match="the journal is not being kept"):
            journal.append([event(2), event(3, 400_000)], sync=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    journal.append([event(4)], sync=True)
    journal = reopened(journal)
    assert journal.load() == (event(1), event(4))
    journal.close()


def test_a_directory_that_cannot_be_made_is_an_oserror(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        Journal(tmp_path / "file" / "state" / "journal.db")


def test_a_journal_of_a_newer_format_is_left_alone(journal: Journal, path: Path) -> None:
    journal.close()
    rot(path, "PRAGMA user_version = 2")
    with pytest.raises(LocalMistake, match="newer swarmd"):
        Journal(path)
    assert not list(path.parent.glob("*corrupt*"))


def test_a_hundred_thousand_events_load_quickly(journal: Journal) -> None:
    journal.append([event(number) for number in range(100_000)], sync=False)
    started = time.process_time()
    assert len(journal.load()) == 100_000
    assert time.process_time() - started < 5  # measured 0.4 s


def test_threads_may_append_at_the_same_time(journal: Journal) -> None:
    def append(first: int) -> None:
        for number in range(first, first + 50):
            journal.append([event(number)], sync=number % 10 == 0)

    threads = [threading.Thread(target=append, args=(first,)) for first in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(journal.load()) == 150


def test_forgotten_goals_are_gone_with_their_events_and_remembered_as_gone(journal: Journal, path: Path) -> None:
    journal.append([event(number) for number in range(4)], sync=True)
    before = contents(path.parent)
    assert journal.forgotten() == ()
    assert contents(path.parent) == before
    left = GroupSummary("ab" * 32, 2, bytes(16))
    journal.forget([left], [event(1).id, event(3).id])
    journal.forget([left], [])
    journal = reopened(journal)
    assert journal.load() == (event(0), event(2))
    assert journal.forgotten() == (left,)
    assert journal.size() >= path.stat().st_size
    journal.close()
