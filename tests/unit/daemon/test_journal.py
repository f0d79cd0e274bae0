"""The log tells the story of the swarm, and nothing that is told in it can pretend to be the log."""

import io
import logging
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmd.daemon.journal import Pace, Scribe, is_journal, log_change, priority
from swarmd.daemon.journald import Journald, datagram
from swarmd.plan.views import Change

TRICKS = st.text(
    st.one_of(
        st.sampled_from("\n\r\x1b\x07\x00\x85\x9b\u2028\u2029\u202e\u2066\u200f<6>[m\t"), st.characters(codec=None)
    )
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def record(text: str, level: int = logging.INFO, **fields: Any) -> logging.LogRecord:
    made = logging.LogRecord("swarmd.daemon", level, "", 0, "%s", (text,), None)
    made.__dict__.update(fields)
    return made


def written(stream: io.StringIO, *records: logging.LogRecord, to_journal: bool = False) -> str:
    scribe = Scribe(stream, None, to_journal=to_journal)
    for each in records:
        scribe.emit(each)
    return stream.getvalue()


def parsed(entry: bytes) -> dict[str, str]:
    """The reader's side of the native protocol."""
    fields: dict[str, str] = {}
    while entry:
        line, _, entry = entry.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if not equals:
            size = int.from_bytes(entry[:8], "little")
            value, entry = entry[8 : 8 + size], entry[9 + size :]
        fields[name.decode()] = value.decode()
    return fields


@given(TRICKS, st.booleans())
def test_whatever_is_told_stays_one_line_that_drives_no_terminal(text: str, to_journal: bool) -> None:
    raw = io.BytesIO()
    in_c = io.TextIOWrapper(raw, encoding="ascii", errors="replace")  # what LANG=C comes to
    scribe = Scribe(in_c, None, to_journal=to_journal)
    scribe.emit(record(text))
    lines = raw.getvalue().split(b"\n")
    assert len(lines) == 2 and lines[1] == b""
    assert lines[0].startswith(b"<6>") if to_journal else lines[0][2:3] == b":"
    assert all(byte >= 0x20 and byte != 0x7F for byte in lines[0])
    shown = written(io.StringIO(), record(text), to_journal=to_journal)
    assert shown.count("\n") == 1 and len(shown.splitlines()) == 1
    assert not set(shown) & set("\x1b\x07\x9b\u202e\u2066\u200f")


@given(
    st.dictionaries(st.sampled_from(["MESSAGE", "SWARMD_GOAL", "SWARMD_PEER"]), st.text(st.characters(codec="utf-8")))
)
def test_an_entry_reads_back_as_it_was_and_has_no_field_more(fields: dict[str, str]) -> None:
    assert parsed(datagram(fields)) == {name: value for name, value in fields.items() if value}


def test_a_change_is_an_entry_with_fields_to_search_by(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "socket"))
        journald = Journald(tmp_path / "socket")
        stream = io.StringIO()
        log = logging.Logger("swarmd.daemon")
        log.addHandler(Scribe(stream, journald, to_journal=True))
        goal, task, peer = "ab" * 32, "cd" * 32, "12D3KooW" + "K" * 44
        log_change(log, Change(kind="claim", text="nas claims “Tents”\nPRIORITY=0", goal=goal, task=task, peer=peer))
        assert parsed(listening.recv(65_536)) == {
            "MESSAGE": "nas claims “Tents” PRIORITY=0 [abababab/cdcdcdcd]",
            "PRIORITY": "6",
            "SYSLOG_IDENTIFIER": "swarmd",
            "SWARMD_LOGGER": "swarmd.daemon",
            "SWARMD_GOAL": goal,
            "SWARMD_TASK": task,
            "SWARMD_PEER": peer,
            "SWARMD_KIND": "claim",
        }
        assert stream.getvalue() == ""
    log.info("the journal is gone")
    journald.close()
    assert stream.getvalue() == "<6>the journal is gone\n"


def test_priorities_say_what_matters() -> None:
    assert priority(record("x", logging.ERROR)) == 3
    assert priority(record("x", logging.WARNING)) == 4
    assert priority(record("x", kind="ended")) == 5
    assert priority(record("x", kind="score")) == 6
    assert priority(record("x", logging.DEBUG)) == 7


def test_a_traceback_stays_below_its_line() -> None:
    try:
        raise ValueError("bad\n00:00:00 ready; all is well")
    except ValueError as error:
        failed = record("a bug", logging.ERROR)
        failed.exc_info = (ValueError, error, error.__traceback__)
    first, *rest = written(io.StringIO(), failed).splitlines()
    assert first.endswith("a bug")
    assert all(line.startswith("  ") for line in rest)
    assert rest[-1] == "  00:00:00 ready; all is well"


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[33mcareful\x1b[0m" in written(Terminal(), record("careful", logging.WARNING))
    assert "\x1b" not in written(io.StringIO(), record("careful", logging.WARNING))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in written(Terminal(), record("careful", logging.WARNING))


def test_a_stream_is_the_journals_only_if_systemd_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "stream").open("w") as stream:
        status = (tmp_path / "stream").stat()
        assert not is_journal(stream)
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        assert is_journal(stream)
    assert not is_journal(io.StringIO())


def test_a_flood_is_cut_to_what_an_hour_may_hold_and_the_rest_is_counted() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    said: list[logging.LogRecord] = []
    for second in range(3_600):
        now = float(second)
        for level in (logging.INFO, logging.WARNING, logging.ERROR):
            each = record("again", level)
            if pace.filter(each):
                said.append(each)
    assert len(said) <= 200
    assert len(said) + sum(getattr(each, "left_out", 0) for each in said) > 10_000
    assert "lines left out before this one" in written(io.StringIO(), said[-1])


def test_a_plan_in_full_swing_is_told_whole() -> None:
    pace = Pace(lambda: 0.0)
    assert all(pace.filter(record("on", goal="ab" * 32)) for _ in range(1_000))
    assert not pace.filter(record("on", goal="ab" * 32))
    assert pace.filter(record("a peer came"))  # which has an allowance of its own
