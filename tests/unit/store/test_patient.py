"""A disk that refuses is waited for; what can be read of it is read."""

import errno
from pathlib import Path

import pytest

from swarmd.events.envelope import Envelope
from swarmd.store import patient
from swarmd.store.journal import Journal
from swarmd.store.patient import PatientJournal

EVENT = Envelope(b"an event", bytes(64))


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A file system that lets nothing be written, until it is undone."""

    def refuse(path: Path) -> Journal:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(patient, "Journal", refuse)
    return monkeypatch


def test_a_disk_that_is_read_only_is_read_and_written_once_it_can_be(
    tmp_path: Path, read_only: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    journal = Journal(path)
    journal.append([EVENT], sync=True)
    journal.close()
    before = sorted(tmp_path.iterdir())
    waiting = PatientJournal(path, lambda error: None)
    assert waiting.load() == (EVENT,)
    with pytest.raises(OSError, match="Read-only"):
        waiting.append([], sync=True)
    assert sorted(tmp_path.iterdir()) == before
    read_only.undo()
    other = Envelope(b"another", bytes(64))
    waiting.append([other], sync=True)
    assert waiting.load() == (EVENT, other)
    waiting.close()


@pytest.mark.usefixtures("read_only")
def test_nothing_is_there_yet_and_nothing_can_be_made(tmp_path: Path) -> None:
    waiting = PatientJournal(tmp_path / "state" / "journal.db", lambda error: None)
    assert waiting.load() == ()
    waiting.close()


@pytest.mark.usefixtures("read_only")
def test_what_no_waiting_will_cure_is_for_the_caller_to_judge(tmp_path: Path) -> None:
    def judge(error: OSError) -> None:
        raise ValueError(error.errno)

    with pytest.raises(ValueError, match=str(errno.EROFS)):
        PatientJournal(tmp_path / "journal.db", judge)
