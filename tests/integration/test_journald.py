"""The log as it stands in a real journal, found again by its fields: a journald of the test's own, in namespaces."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.one_daemon import PATIENCE_S, Daemon, until

# In namespaces where /run is the test's own: journald, and the daemon with its standard error on journald's stream, as
# systemd starts services (systemd.exec(5): JOURNAL_STREAM).
SERVICE = """\
mount --bind "$1" /run && mkdir -p /run/systemd/journal /run/log/journal || exit 1
shift
/lib/systemd/systemd-journald &
until [ -S /run/systemd/journal/stdout ]; do sleep 0.05; done
exec systemd-cat --identifier=swarmd sh -c '
    export JOURNAL_STREAM=$(stat --dereference --format=%d:%i /proc/self/fd/2); exec "$@"' sh "$@"
"""


@pytest.fixture
def daemon(folder: Path) -> Iterator[Daemon]:
    assert Path("/lib/systemd/systemd-journald").exists(), "this test reads a real journal: sudo apt install systemd"
    (folder / "run").mkdir()
    (folder / "service").write_text(SERVICE)
    running = Daemon(folder)
    apart = ("unshare", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
    running.start(*apart, "sh", str(folder / "service"), str(folder / "run"))
    yield running
    running.end()


def entries(daemon: Daemon, *matches: str) -> list[dict[str, str]]:
    """What journalctl finds by *matches*."""
    (journal,) = (daemon.folder / "run/log/journal").iterdir()
    asked = ["journalctl", "--directory", str(journal), "--output", "json", *matches]
    found = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return [json.loads(line) for line in found.stdout.splitlines()]


def test_the_story_of_one_goal_is_found_in_the_journal_by_its_fields(daemon: Daemon) -> None:
    until(lambda: daemon.ctl("status").returncode == 0)
    goal, other = (
        json.loads(daemon.ctl("goal", text, "--depth", "1", "--wait", "--json").stdout)["goal"]
        for text in ("Tidy the shed", "Pick\x1b[31m plums\nPRIORITY=0")
    )
    story = entries(daemon, f"SWARMD_GOAL={goal}")
    assert {entry["SWARMD_GOAL"] for entry in story} == {goal}
    assert {"goal", "proposal", "score", "vote", "accepted", "claim", "result", "ended"} <= {
        entry["SWARMD_KIND"] for entry in story
    }
    assert {entry["SYSLOG_IDENTIFIER"] for entry in story} == {"swarmd"}
    (ended,) = entries(daemon, f"SWARMD_GOAL={goal}", "SWARMD_KIND=ended")
    assert (ended["PRIORITY"], "Tidy the shed" in ended["MESSAGE"]) == ("5", True)
    assert all(isinstance(entry["MESSAGE"], str) for entry in entries(daemon, f"SWARMD_GOAL={other}"))  # else not text
    assert not entries(daemon, "PRIORITY=0")
