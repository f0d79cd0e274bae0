"""`swarmctl` and `swarmd` as people and scripts use them: words, JSON, and a status that says what happened."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from swarmd import __version__
from swarmd.cli.session import socket_path, terminal_is_plain
from swarmd.cli.swarmctl import app
from swarmd.cli.swarmd import app as daemon_app
from swarmd.events.kinds import Limits, Policy
from swarmd.plan.report import report
from swarmd.plan.views import Change, GoalLine, GoalView
from swarmd.replica.inputs import CancelGoal, ListEvents, SetGoal
from swarmd.replica.status import PeerView, StatusView
from swarmd.roles.work import Text
from swarmd.vocab import limits
from tests.lan import Lan
from tests.unit.invented import GOAL_ID, MINI, STATUS, InMemoryDoor, finished, goal_view, mid_run, peers, result, task
from tests.unit.served import LIMIT_S, Served

VERBS = ("goal", "goals", "show", "why", "watch", "report", "cancel", "peers", "status", "events", "version")


class Daemon(Served):
    """A daemon, and `swarmctl` to ask it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, InMemoryDoor())

    def run(self, *words: str, given: str | bytes | None = None) -> tuple[int, str, str]:
        """Status, standard output and standard error of `swarmctl *words*`."""
        done = CliRunner().invoke(app, [*words], input=given, env={"SWARMD_CONTROL_SOCKET": str(self.path)})
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "control.sock")
    daemon.start()
    yield daemon
    daemon.stop()


@pytest.fixture
def swarmctl(tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """The command as a process of its own, where no daemon is."""

    def run(*words: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command(*words),
            input=given,
            env={**os.environ, "SWARMD_CONTROL_SOCKET": str(tmp_path / "none.sock")},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    return run


def command(*words: str) -> list[str]:
    """The command line of `swarmctl *words*`."""
    return [sys.executable, "-c", "from swarmd.cli.swarmctl import main; main()", *words]


# --- questions -----------------------------------------------------------------------------------------------------


def test_every_question_has_an_answer_in_words(daemon: Daemon) -> None:
    daemon.door.put(mid_run())
    for words, expected in (
        (("goals",), "8f3a2c1d"),
        (("show",), "◆ Two weeks in Japan for four  split by place"),
        (("show", "8f3a"), "▶ Choose temples and gardens  claimed by mini-pc, attempt 2"),
        (("report",), "## 1 Flights and rail passes"),
        (("why", "4b79"), "“by activity” won: mini-pc and nas approved it in ballot 0; 2 of 3 were needed."),
        (("peers",), "mini-pc"),
        (("status",), "malformed event: 2"),
        (("version",), f"swarmctl {__version__}"),
    ):
        status, output, errors = daemon.run(*words)
        assert (status, errors) == (0, "")
        assert expected in output


def test_every_question_has_an_answer_in_json(daemon: Daemon) -> None:
    goal = mid_run()
    daemon.door.put(goal)

    def ask(*words: str) -> bytes:
        status, output, errors = daemon.run(*words, "--json")
        assert (status, errors) == (0, "")
        assert output.count("\n") == 1
        return output.encode()

    assert msgspec.json.decode(ask("show"), type=GoalView) == goal
    assert msgspec.json.decode(ask("goals"), type=tuple[GoalLine, ...])[0].id == GOAL_ID
    assert msgspec.json.decode(ask("peers"), type=tuple[PeerView, ...]) == peers()
    assert msgspec.json.decode(ask("status"), type=StatusView) == STATUS
    assert json.loads(ask("report")) == {"goal": GOAL_ID, "report": report(goal)}
    assert json.loads(ask("version")) == {"swarmctl": __version__, "daemon": "0.1.0"}


def test_nothing_yet_is_said_kindly_and_is_an_empty_list_for_programs(daemon: Daemon) -> None:
    status, output, errors = daemon.run("goals")
    assert (status, output) == (0, "")
    assert "no goals yet" in errors
    assert daemon.run("goals", "--json")[:2] == (0, "[]\n")


def test_a_result_of_three_mebibytes_reaches_the_reader_cut_and_says_so(daemon: Daemon) -> None:
    lan = Lan(1).start()
    lan[0].command(SetGoal(text="A long story", limits=Limits(depth=0)))
    assert lan.run(60_000, answering=lambda _: Text(text="слово " * 300_000, model="parrot"), until=lan.ended)
    daemon.door.put(lan[0].view())
    for words in (["report"], ["show"], ["why", lan[0].view().root.id[:8]]):
        assert daemon.run(*words)[0] == 0
    told = daemon.run("report")[1]
    assert "слово слово" in told
    assert "[cut: the text was longer than a result may be]" in told
    assert 0 < len(told.encode()) - limits.RESULT_BYTES_MAX < 2_000


def test_a_plan_and_a_report_of_many_megabytes_arrive_whole(daemon: Daemon, tmp_path: Path) -> None:
    parts = tuple(
        task(f"Part {number}", "done", results=(result(MINI, f"{number}: " + "слово " * 11_000),))
        for number in range(100)
    )
    goal = goal_view(task("A library", "split", 0, children=parts), status="done")
    daemon.door.put(goal)
    assert daemon.run("report", "-o", str(tmp_path / "plan.md"))[0] == 0
    assert (tmp_path / "plan.md").read_text() == report(goal)
    assert (tmp_path / "plan.md").stat().st_size > 12_000_000
    assert len(json.loads(daemon.run("show", "--json")[1])["root"]["children"]) == 100


def test_the_report_goes_to_a_file(daemon: Daemon, tmp_path: Path) -> None:
    daemon.door.put(finished())
    assert daemon.run("report", "-o", str(tmp_path / "plan.md"))[0] == 0
    assert (tmp_path / "plan.md").read_text() == report(finished())
    status, _, errors = daemon.run("report", "-o", str(tmp_path / "no" / "plan.md"))
    assert status == 2
    assert "cannot write the report" in errors


# --- orders --------------------------------------------------------------------------------------------------------


def test_a_goal_is_set_with_its_options_and_its_id_printed(daemon: Daemon) -> None:
    status, output, errors = daemon.run(
        "goal", "A picnic", "--quorum", "2", "--strict", "--depth", "1", "--children", "4"
    )
    assert status == 0
    assert re.fullmatch("[0-9a-f]{64}\n", output)
    assert "swarmctl watch" in errors
    assert daemon.door.asked == [
        SetGoal(text="A picnic", quorum=2, limits=Limits(depth=1, children=4), policy=Policy(strict=True))
    ]


def test_a_goal_comes_from_standard_input_or_a_file(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "goal.txt").write_text("Build a shed\nof wood\n")
    assert daemon.run("goal", "-", given="A picnic\nby the lake\n")[0] == 0
    assert daemon.run("goal", "--file", str(tmp_path / "goal.txt"))[0] == 0
    assert daemon.run("goal", "-", given=b"caf\xe9")[0] == 0
    texts = [command.text for command in daemon.door.asked if isinstance(command, SetGoal)]
    assert texts == ["A picnic\nby the lake", "Build a shed\nof wood", "caf\ufffd"]


def test_a_goal_set_for_a_program_is_one_json_document(daemon: Daemon) -> None:
    status, output, errors = daemon.run("goal", "A picnic", "--json")
    assert (status, errors) == (0, "")
    assert json.loads(output) == {"goal": "0" * 64, "status": "open"}


@pytest.mark.parametrize(("ending", "status"), [("done", 0), ("failed", 1), ("cancelled", 1)])
@pytest.mark.parametrize("flag", ["--wait", "--watch"])
def test_waiting_ends_with_the_goal_and_its_status(daemon: Daemon, ending: str, status: int, flag: str) -> None:
    ends_with(daemon, ending)
    found, output, errors = daemon.run("goal", "A picnic", flag)
    assert found == status
    assert output.startswith("0" * 64)
    assert f"the goal is {ending}" in (errors if flag == "--wait" else output)


def test_waiting_for_a_program_prints_how_it_ended(daemon: Daemon) -> None:
    ends_with(daemon, "failed")
    status, output, _ = daemon.run("goal", "A picnic", "--wait", "--json")
    assert status == 1
    assert json.loads(output) == {"goal": "0" * 64, "status": "failed"}


def ends_with(daemon: Daemon, status: str) -> None:
    """Every goal that is set has ended by the time it is looked at."""
    put = daemon.door.goals

    class Ending(dict[str, GoalView]):
        def __setitem__(self, key: str, goal: GoalView) -> None:
            super().__setitem__(key, msgspec.structs.replace(goal, status=status, ended_ms=goal.created_ms))

    daemon.door.goals = Ending(put)


def test_a_goal_is_cancelled_with_its_reason(daemon: Daemon) -> None:
    daemon.door.put(mid_run())
    status, output, _ = daemon.run("cancel", "8f3a", "--reason", "we stay")
    assert (status, output) == (0, "cancelled 8f3a2c1d\n")
    assert daemon.door.asked == [CancelGoal(goal="8f3a", reason="we stay")]
    assert json.loads(daemon.run("cancel", "8f3a", "--json")[1]) == {"goal": GOAL_ID, "status": "cancelled"}


# --- asked wrongly -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("show", "abcd"), "no goal has"),
        (("show", "8"), "2 goals have an id"),
        (("show", "../etc"), "no goal has the id"),
        (("report", "abcd"), "no goal has"),
        (("watch", "abcd"), "no goal has"),
        (("cancel", "abcd"), "no goal has"),
        (("goal",), "the goal is empty"),
        (("goal", " \n"), "the goal is empty"),
        (("goal", "ж" * 5_000), "the limit is 8,192 bytes"),
        (("goal", "text", "--file", "x"), "both as text and by --file"),
        (("goal", "--file", "/nonexistent/goal"), "cannot read the goal"),
        (("goal", "text", "--depth", "99"), "--depth"),
        (("goal", "text", "--quorum", "0"), "--quorum"),
        (("cancel",), "GOAL"),
        (("nonsense",), "nonsense"),
        (("show", "--nonsense"), "--nonsense"),
    ],
)
def test_wrong_use_ends_with_2_and_says_what_and_what_next(daemon: Daemon, words: tuple[str, ...], what: str) -> None:
    daemon.door.put(goal_view(task("One", "open", 0), id="8a" * 32))
    daemon.door.put(goal_view(task("Two", "open", 0), id="8b" * 32))
    status, output, errors = daemon.run(*words)
    assert status == 2
    assert output == ""
    assert what in errors
    assert 2 <= len(errors.strip().split("\n")) <= 4
    assert "Traceback" not in errors


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "version"])
def test_without_a_daemon_every_verb_ends_with_3_and_says_how_to_start_one(tmp_path: Path, verb: str) -> None:
    words = [verb, *(["text"] if verb == "goal" else ["abcd"] if verb == "cancel" else [])]
    done = CliRunner().invoke(app, [*words, "--socket", str(tmp_path / "none.sock")])
    assert done.exit_code == 3
    assert done.stdout == ""
    what, following = done.stderr.strip().split("\n")
    assert what == f"swarmctl: no daemon answers on {tmp_path / 'none.sock'}"
    assert "systemctl start swarmd" in following
    assert "swarmd run" in following


def test_who_may_open_the_socket_is_the_daemons_word_and_not_a_guess(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert daemon.run("status")[0] == 0


def test_the_version_needs_no_daemon(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["version", "--socket", str(tmp_path / "none.sock")])
    assert (done.exit_code, done.stdout) == (0, f"swarmctl {__version__}\ndaemon   none answers\n")


def test_what_a_daemon_says_cannot_drive_the_terminal(daemon: Daemon) -> None:
    status, _, errors = daemon.run("show", "\x1b[31mred")
    assert status == 2
    assert "\x1b" not in errors


def test_processes_end_with_the_status_that_the_words_say(
    swarmctl: Callable[..., "subprocess.CompletedProcess[str]"],
) -> None:
    absent = swarmctl("status")
    assert (absent.returncode, absent.stdout) == (3, "")
    assert absent.stderr.startswith("swarmctl: no daemon answers on ")
    empty = swarmctl("goal", "-", given="  \n")
    assert empty.returncode == 2
    assert "the goal is empty" in empty.stderr
    long = swarmctl("goal", "-", given="x" * (limits.GOAL_BYTES_MAX + 1))
    assert long.returncode == 2
    assert "8,192 bytes" in long.stderr
    for done in (absent, empty, long):
        assert "Traceback" not in done.stderr


# --- watching ------------------------------------------------------------------------------------------------------


def test_watching_on_a_pipe_prints_a_line_for_each_thing_and_ends_with_the_goal(daemon: Daemon) -> None:
    daemon.door.put(mid_run())
    watching = spawn(daemon, "watch", stdout=subprocess.PIPE)
    until(lambda: bool(daemon.door.watchers))
    daemon.do(lambda: end(daemon, "done"))
    output, errors = watching.communicate(timeout=LIMIT_S)
    assert (watching.returncode, errors) == (0, "")
    assert re.search(r"^\d\d:\d\d:\d\d mini-pc votes for by place$", output, re.M)
    assert re.search(r"^\d\d:\d\d:\d\d 4 of 10 tasks done$", output, re.M)
    assert output.endswith("the goal is done\n")


def test_watching_for_programs_is_a_json_object_a_line(daemon: Daemon) -> None:
    daemon.door.put(mid_run())
    watching = spawn(daemon, "watch", "8f3a", "--json", stdout=subprocess.PIPE)
    until(lambda: bool(daemon.door.watchers))
    daemon.do(lambda: end(daemon, "failed"))
    output, errors = watching.communicate(timeout=LIMIT_S)
    assert (watching.returncode, errors) == (1, "")
    kinds = [msgspec.json.decode(line, type=Change).kind for line in output.splitlines()]
    assert kinds == ["vote", "live", "ended"]


def test_ctrl_c_ends_watching_with_130_and_no_traceback(daemon: Daemon) -> None:
    daemon.door.put(mid_run())
    watching = spawn(daemon, "watch", stdout=subprocess.PIPE)
    until(lambda: bool(daemon.door.watchers))
    watching.send_signal(signal.SIGINT)
    _, errors = watching.communicate(timeout=LIMIT_S)
    assert watching.returncode == 130
    assert "Traceback" not in errors


def test_watching_on_a_terminal_draws_the_tree(daemon: Daemon) -> None:
    daemon.door.put(mid_run())
    ours, theirs = pty.openpty()
    size = {"LINES": "24", "COLUMNS": "80", "TERM": "xterm", "LANG": "C.UTF-8"}
    watching = spawn(daemon, "watch", stdout=theirs, **size)
    os.close(theirs)
    seen = ""
    try:
        while "claimed by mini-pc" not in seen:
            assert select.select([ours], [], [], LIMIT_S)[0]
            seen += os.read(ours, 65_536).decode(errors="replace")
        daemon.do(lambda: end(daemon, "done"))
        while select.select([ours], [], [], LIMIT_S)[0]:
            seen += os.read(ours, 65_536).decode(errors="replace")
    except OSError:
        pass  # the terminal was closed at its other end
    finally:
        os.close(ours)
        _, errors = watching.communicate(timeout=LIMIT_S)
    assert (watching.returncode, errors) == (0, "")
    assert "▶" in seen
    assert "mini-pc votes for by place" in seen
    assert "\x1b[?25h" in seen  # the cursor is back
    assert seen.index("\x1b[?1049l") < seen.rindex("mini-pc votes for by place")  # the last picture stays


def test_q_leaves_the_goal_to_itself_and_the_terminal_as_it_was(daemon: Daemon) -> None:
    daemon.door.put(mid_run())
    child, ours = pty.fork()
    if child == 0:
        os.environ.update(SWARMD_CONTROL_SOCKET=str(daemon.path), TERM="xterm", LANG="C.UTF-8")
        os.execv(sys.executable, command("watch"))
    seen = ""
    before = termios.tcgetattr(ours)
    try:
        while "claimed by mini-pc" not in seen:
            assert select.select([ours], [], [], LIMIT_S)[0]
            seen += os.read(ours, 65_536).decode(errors="replace")
        assert termios.tcgetattr(ours)[3] & (termios.ECHO | termios.ICANON) == 0
        os.write(ours, b"xq")
        until(lambda: termios.tcgetattr(ours) == before)
        while select.select([ours], [], [], LIMIT_S)[0]:
            seen += os.read(ours, 65_536).decode(errors="replace")
    except OSError:
        pass  # the terminal was closed at its other end
    finally:
        os.close(ours)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert "\x1b[?1049l" in seen


def spawn(daemon: Daemon, *words: str, stdout: int, **environment: str) -> "subprocess.Popen[str]":
    """`swarmctl *words*` as a process."""
    return subprocess.Popen(
        command(*words),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SWARMD_CONTROL_SOCKET": str(daemon.path), **environment},
    )


def end(daemon: Daemon, status: str) -> None:
    """A vote, a chunk, and the goal's end."""
    told = Change(kind="vote", text="mini-pc votes for by place", goal=GOAL_ID, wall_ms=1_800_000_000_000)
    daemon.door.tell(told)
    daemon.door.tell(Change(kind="live", text="", chunk="more", goal=GOAL_ID))
    daemon.door.put(msgspec.structs.replace(mid_run(), status=status, ended_ms=mid_run().created_ms))
    daemon.door.tell(Change(kind="ended", text="the goal has ended", goal=GOAL_ID))


def until(holds: Callable[[], bool]) -> None:
    """Return when *holds*, which takes as long as a process takes to start."""
    waiting = threading.Event()
    for _ in range(int(LIMIT_S * 100)):
        if holds():
            return
        waiting.wait(0.01)
    raise AssertionError("did not happen in time")


# --- help, places, terminals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself_with_examples(verb: str) -> None:
    done = CliRunner().invoke(app, [verb, "--help"])
    assert done.exit_code == 0
    assert f"swarmctl {verb}" in done.stdout.split("Examples:")[1]
    assert "--json" in done.stdout
    assert "--socket PATH" in done.stdout


@pytest.mark.parametrize("name", ["swarmctl", "swarmd"])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_completion(shell: str, name: str) -> None:
    variable = f"_{name.upper()}_COMPLETE"
    done = CliRunner().invoke(
        app if name == "swarmctl" else daemon_app, [], prog_name=name, env={variable: f"source_{shell}"}
    )
    assert done.exit_code == 0
    assert variable in done.stdout


def test_python_m_swarmd_works() -> None:
    for word, expected in (("--help", "Usage: "), ("--version", f"swarmd {__version__}")):
        done = subprocess.run(
            [sys.executable, "-m", "swarmd", word], capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert expected in done.stdout


def test_the_systems_socket_is_taken_where_there_is_one_else_the_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    system = tmp_path / "control.sock"
    monkeypatch.setattr("swarmd.cli.session.SYSTEM_SOCKET", system)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert socket_path(None) == tmp_path / "swarmd" / "control.sock"
    system.touch()
    assert socket_path(None) == system
    assert socket_path(Path("mine")) == Path("mine")


@pytest.mark.parametrize(
    ("environment", "encoding", "plain"),
    [
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "utf-8", True),  # as Python leaves it under LANG=C
        ({"LC_ALL": "C"}, "utf-8", True),
        ({"LC_ALL": "POSIX", "LANG": "uk_UA.UTF-8"}, "utf-8", True),
        ({"LANG": "C"}, "ascii", True),
        ({"LANG": "de_DE"}, "iso-8859-1", True),
        ({"LANG": "uk_UA.UTF-8"}, "UTF-8", False),
        ({"LANG": "C.UTF-8"}, "utf8", False),
        ({"LANG": "C", "LC_CTYPE": "uk_UA.UTF-8"}, "utf-8", False),
        ({}, "utf-8", False),
        ({}, None, True),
    ],
)
def test_a_plain_terminal_is_recognised(environment: dict[str, str], encoding: str | None, plain: bool) -> None:
    assert terminal_is_plain(environment, encoding) is plain


def test_under_the_c_locale_show_is_drawn_in_ascii(daemon: Daemon) -> None:
    daemon.door.put(mid_run())
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG"))}
    for more in ({"LANG": "C"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}):
        done = subprocess.run(
            command("show"),
            env={**environment, **more, "SWARMD_CONTROL_SOCKET": str(daemon.path)},
            capture_output=True,
            timeout=LIMIT_S,
            check=True,
        )
        assert done.stdout.isascii()
        assert b"> Choose temples and gardens  claimed by mini-pc" in done.stdout


# --- the story -----------------------------------------------------------------------------------------------------


def told(number: int, kind: str = "vote", **more: str) -> Change:
    """Something that an event says."""
    return Change(kind=kind, text=f"line {number}", event=f"{number:064x}", **more)  # type: ignore[arg-type]


def test_the_story_is_filtered_by_the_daemon_and_printed_in_order(daemon: Daemon) -> None:
    daemon.door.story = (told(1), told(2))
    status, output, errors = daemon.run("events", "--goal", "8f3a", "--peer", "nas", "--kind", "vote", "-n", "7")
    assert (status, output.split("\n")[:2], errors) == (0, ["line 1", "line 2"], "")
    assert daemon.door.asked == [ListEvents(goal="8f3a", peer="nas", kinds=("vote",), count=7)]
    assert [json.loads(line)["event"] for line in daemon.run("events", "--json")[1].splitlines()] == [
        f"{1:064x}",
        f"{2:064x}",
    ]


def test_a_wrong_kind_is_told_which_ones_there_are(daemon: Daemon) -> None:
    status, _, errors = daemon.run("events", "--kind", "voting")
    assert status == 2
    assert "'voting'" in errors
    assert "nomination" in errors


def test_a_followed_story_goes_on_where_the_page_ends_and_repeats_nothing(daemon: Daemon) -> None:
    daemon.door.story = (told(1), told(2))
    running = subprocess.Popen(
        command("events", "-f", "--kind", "vote"),
        env={**os.environ, "SWARMD_CONTROL_SOCKET": str(daemon.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    with running.stdout:
        lines = [running.stdout.readline() for _ in range(2)]
        for change in (told(2), told(3, "claim"), told(4)):
            daemon.do(lambda change=change: daemon.door.tell(change))  # type: ignore[misc]
        lines.append(running.stdout.readline())
        running.send_signal(signal.SIGINT)
        assert running.wait(LIMIT_S) == 130
    assert lines == ["line 1\n", "line 2\n", "line 4\n"]


def test_a_terminal_without_unicode_gets_plain_quotation_marks(daemon: Daemon) -> None:
    daemon.door.put(mid_run())
    done = subprocess.run(
        command("why"),
        env={**os.environ, "SWARMD_CONTROL_SOCKET": str(daemon.path), "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert b'"by place" won: kitchen-pi and mini-pc approved it' in done.stdout
