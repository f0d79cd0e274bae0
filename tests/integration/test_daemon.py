"""One real daemon and `swarmctl`, as on a person's own machine."""

import json
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.one_daemon import CONFIG, PATIENCE_S, Daemon


@pytest.fixture
def daemon(folder: Path) -> Iterator[Daemon]:
    running = Daemon(folder)
    running.start()
    yield running
    running.end()


def test_a_goal_is_planned_shown_and_reported_through_swarmctl(daemon: Daemon) -> None:
    daemon.until_ready()
    ended = daemon.ctl("goal", "Tidy the shed", "--depth", "2", "--wait", "--json")
    assert ended.returncode == 0, ended.stderr
    goal = json.loads(ended.stdout)
    assert goal["status"] == "done"
    shown = json.loads(daemon.ctl("show", "--json").stdout)
    assert shown["id"] == goal["goal"]
    assert shown["done"] == shown["tasks"]
    assert "Tidy the shed" in daemon.ctl("show", goal["goal"][:8]).stdout
    assert daemon.ctl("report").stdout.startswith("# Tidy the shed")
    assert json.loads(daemon.ctl("peers", "--json").stdout) == []
    status = json.loads(daemon.ctl("status", "--json").stdout)
    assert status["roles"] == ["decomposer", "scorer", "executor"]
    assert status["goals"] == 1


def test_an_acknowledged_goal_survives_kill_9(daemon: Daemon) -> None:
    daemon.until_ready()
    given = daemon.ctl("goal", "Tidy the shed", "--json")
    assert given.returncode == 0, given.stderr
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGKILL)
    daemon.end()
    daemon.start()
    daemon.until_ready()
    waited = daemon.ctl("watch", json.loads(given.stdout)["goal"], "--json")
    assert waited.returncode == 0, waited.stderr


def test_sigterm_ends_the_daemon_and_its_socket_within_five_seconds(daemon: Daemon) -> None:
    daemon.until_ready()
    assert daemon.process is not None
    daemon.process.terminate()
    assert daemon.process.wait(timeout=5) == 0
    assert not (daemon.folder / "control.sock").exists()
    refused = daemon.ctl("status")
    assert refused.returncode == 3
    assert "swarmd run" in refused.stderr


def test_a_second_daemon_on_the_same_state_is_refused_in_words(daemon: Daemon) -> None:
    daemon.until_ready()
    second = subprocess.run(
        [sys.executable, "-m", "swarmd", "run", "--config", str(daemon.folder / "config.toml")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert second.returncode == 2
    assert str(daemon.folder / "state") in second.stderr
    assert "Traceback" not in second.stderr


def test_wrong_use_ends_with_status_2_and_names_the_limit(daemon: Daemon) -> None:
    daemon.until_ready()
    for nothing in ("", " \n\t", "\x1b[2J"):
        refused = daemon.ctl("goal", nothing)
        assert refused.returncode == 2
        assert "the goal is empty" in refused.stderr
    (daemon.folder / "goal.txt").write_text("мрія " * 11_000, "utf-8")
    for too_long in (["x" * 100_000], ["--file", str(daemon.folder / "goal.txt")]):
        refused = daemon.ctl("goal", *too_long)
        assert refused.returncode == 2
        assert "8,192" in refused.stderr
    assert daemon.ctl("show", "ffff").returncode == 2
    assert json.loads(daemon.ctl("goals", "--json").stdout) == []


def test_a_goal_in_which_there_is_nothing_to_split_is_one_leaf(daemon: Daemon) -> None:
    daemon.until_ready()
    for text in ("do nothing", "🎉🎂🎈"):
        ended = daemon.ctl("goal", text, "--wait", "--json")
        assert ended.returncode == 0, ended.stderr
        goal = json.loads(daemon.ctl("show", "--json").stdout)
        assert (goal["text"], goal["tasks"], goal["done"]) == (text, 1, 1)
        assert text in daemon.ctl("show").stdout
        assert daemon.ctl("report").stdout.startswith(f"# {text}")


def test_a_daemon_without_room_on_its_disk_starts_and_says_so_and_later_takes_part(daemon: Daemon) -> None:
    daemon.until_ready()
    daemon.end()
    limit = resource.prlimit(0, resource.RLIMIT_FSIZE)
    running = daemon.start()
    resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (0, limit[1]))  # every write to a file fails from now on
    daemon.until_ready()
    for _ in range(2):  # the first one finds out
        refused = daemon.ctl("goal", "Tidy the shed")
        assert refused.returncode == 2
        assert "the disk takes nothing" in refused.stderr
    assert json.loads(daemon.ctl("status", "--json").stdout)["trouble"]
    assert running.poll() is None
    resource.prlimit(running.pid, resource.RLIMIT_FSIZE, limit)
    for _ in range(PATIENCE_S):
        if not json.loads(daemon.ctl("status", "--json").stdout)["trouble"]:
            break
    assert daemon.ctl("goal", "Tidy the shed", "--depth", "1", "--wait").returncode == 0


def test_sighup_changes_the_model_at_once_and_names_what_needs_a_restart(daemon: Daemon) -> None:
    daemon.until_ready()
    assert daemon.process is not None and daemon.process.stderr is not None
    file = daemon.folder / "config.toml"
    text = file.read_text()
    file.write_text(text.replace("delay_ms = 50", "delay_ms = 60").replace('name = "attic"', 'name = "cellar"'))
    daemon.process.send_signal(signal.SIGHUP)
    said: list[str] = []
    for line in daemon.process.stderr:
        said += [line] if "changed now" in line or "restart" in line else []
        if len(said) == 2:
            break
    assert "changed now: model.delay_ms" in said[0]
    assert "swarmd`: name" in said[1]
    file.write_text("nonsense = 1")
    daemon.process.send_signal(signal.SIGHUP)
    assert any("stays as it was" in line and "config.toml:1" in line for line in daemon.process.stderr)
    file.write_text(text)
    assert daemon.ctl("goal", "Tidy the shed", "--depth", "1", "--wait").returncode == 0


def test_a_port_that_is_taken_is_told_in_words(daemon: Daemon) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        config = daemon.folder / "taken.toml"
        config.write_text(
            CONFIG.format(folder=daemon.folder).replace("tcp/0", f"tcp/{port}").replace("/state", "/other")
        )
        refused = subprocess.run(
            [sys.executable, "-m", "swarmd", "run", "--config", str(config)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert refused.returncode == 2
    assert str(port) in refused.stderr
    assert "Traceback" not in refused.stderr
