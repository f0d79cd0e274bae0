"""The demo as a person runs it: real daemons, real links, the scripted model."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from swarmd.cli.demo import household
from swarmd.cli.demo.layout import household as residents
from tests.unit.llm.fake_ollama import FakeOllama, obliging

DEMO = [sys.executable, "-m", "swarmd", "demo", "--model", "scripted"]
PATIENCE_S = 100  # 20 s on two idle cores


@pytest.fixture
def demo(folder: Path) -> Iterator["Demo"]:
    running = Demo(folder)
    yield running
    running.end()


class Demo:
    """One run of `swarmd demo` with a temporary directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report = folder / "report.md"
        self._process: subprocess.Popen[str] | None = None

    def start(self, *options: str) -> "subprocess.Popen[str]":
        environment = {**os.environ, "TMPDIR": str(self.folder), "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
        self._process = subprocess.Popen(
            [*DEMO, "--report", str(self.report), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            env=environment,
        )
        return self._process

    def children(self) -> list[int]:
        assert self._process is not None
        listed = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def left_over(self) -> list[str]:
        return [str(path) for path in self.folder.glob("swarmd-demo-*")]

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_four_processes_plan_a_goal_and_agree(demo: Demo) -> None:
    output, _ = demo.start("--nodes", "4", "Pack a suitcase").communicate(timeout=PATIENCE_S)
    assert "All equal." in output, output
    assert "The observer published 0 messages." in output
    assert "observer, says nothing" in output
    report = demo.report.read_text("utf-8")
    assert report.startswith("# Pack a suitcase")
    assert "\n### 1.1 " in report, "a tree of depth two"
    assert demo.left_over() == []


def test_the_plan_is_finished_although_a_working_daemon_is_killed(demo: Demo) -> None:
    process = demo.start("--nodes", "5", "--kill-one", "Pack a suitcase")
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, output
    assert "kill -9" in output
    assert "All equal." in output


def test_ctrl_c_stops_every_child_within_five_seconds_and_leaves_nothing(demo: Demo) -> None:
    process = demo.start("--nodes", "4")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Goal "):
            break
    children = demo.children()
    assert len(children) == 4
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=5)
    assert process.returncode == 130
    assert not [pid for pid in children if alive(pid)]
    assert demo.left_over() == []


def test_where_loopback_carries_no_multicast_the_peers_find_each_other_by_static_addresses(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(household, "loopback_carries_multicast", lambda: False)

    async def main() -> None:
        async with household.started(residents(4), "scripted", say=print) as home:
            assert not home.by_multicast
            assert len(await home.together()) == 4

    trio.run(main)
    assert list(folder.iterdir()) == []


def test_an_ollama_that_answers_is_used_first(folder: Path) -> None:
    fake = FakeOllama({"qwen3:4b": "4.0B"}, obliging)
    environment = {**os.environ, "TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-m", "swarmd", "demo", "--nodes", "4", "--report", str(folder / "report.md")]

    async def main() -> str:
        async with trio.open_nursery() as nursery:
            await nursery.start(lambda task_status: fake.serve(task_status=task_status))
            with trio.fail_after(PATIENCE_S):
                done = await trio.run_process(
                    [*command, "Pack a suitcase"],
                    capture_stdout=True,
                    env={**environment, "OLLAMA_HOST": fake.host},
                )
            nursery.cancel_scope.cancel()
        return done.stdout.decode()

    output = trio.run(main)
    assert "Model: qwen3:4b" in output
    assert "tiny model" not in output
    assert "All equal." in output
    assert fake.asked
