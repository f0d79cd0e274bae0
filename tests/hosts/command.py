"""Commands whose failure shows what they said, and conditions that are waited for with a limit."""

import subprocess
import time
from collections.abc import Callable, Sequence

COMMAND_S_MAX = 240.0  # dpkg takes 10 s, on a machine with ten times its work 100; longer is a command that hangs
PATIENCE_S = 180.0  # for conditions; most take two seconds, the slowest ten, and a crowded machine is ten times slower


class CommandFailed(AssertionError):
    """A command ended with another status than 0. Its output is the message."""

    def __init__(self, command: Sequence[str], done: "subprocess.CompletedProcess[str]") -> None:
        super().__init__(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
        self.done = done


def run(*command: str, feed: str = "", check: bool = True, seconds: float = COMMAND_S_MAX) -> str:
    """What *command* prints when it is fed *feed*. Raises CommandFailed, unless *check* is false."""
    done = attempt(*command, feed=feed, seconds=seconds)
    if check and done.returncode != 0:
        raise CommandFailed(command, done)
    return done.stdout


def attempt(*command: str, feed: str = "", seconds: float = COMMAND_S_MAX) -> "subprocess.CompletedProcess[str]":
    """How *command* ended, whichever way it did."""
    return subprocess.run(command, input=feed, capture_output=True, encoding="utf-8", errors="replace", timeout=seconds)


def until(condition: Callable[[], object], seconds: float = PATIENCE_S, *, why: Callable[[], object] = str) -> float:
    """Wait until *condition* holds; the seconds that it took. *why* tells after *seconds* what is the case instead."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, f"not so after {seconds:g} s\n{why()}"
        time.sleep(0.1)
    return time.monotonic() - started
