"""What every verb shares: where the daemon is, how to ask it, and what a failure looks like.

Exit status: 0 done; 1 the thing itself failed; 2 asked wrongly; 3 no daemon; 130 interrupted. A failure is at most two
lines on standard error: what happened, and what to do next.
"""

import codecs
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeAlias, TypeVar

import msgspec
import trio
import typer
from typer.core import TyperGroup

from swarmd.control.client import SYSTEM_SOCKET, Client
from swarmd.store.files import paths
from swarmd.vocab.faults import LocalMistake, RemoteFault, Unreachable
from swarmd.vocab.text import clean

FAILED, WRONG, NO_DAEMON, INTERRUPTED = 1, 2, 3, 130

_MESSAGE_BYTES_MAX = 2048  # two lines; what a daemon says is trusted no further than that

Socket: TypeAlias = Annotated[
    Path | None,
    # whether it may be opened is found out by asking, which also tells who may
    typer.Option(
        "--socket", envvar="SWARMD_CONTROL_SOCKET", metavar="PATH", readable=False, help="The daemon's control socket."
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
GoalId: TypeAlias = Annotated[
    str, typer.Argument(metavar="GOAL", help="First characters of a goal's id; the newest without.")
]

TaskId: TypeAlias = Annotated[
    str, typer.Argument(metavar="TASK", help="First characters of a task's id, as `show` prints it; a goal's id also.")
]

_T = TypeVar("_T")


class Verbs(TyperGroup):
    """A command whose verbs fail in words."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen verb; a mistake ends with its message and status, never with a traceback."""
        try:
            return super().invoke(ctx)
        except Unreachable as mistake:
            _fail(ctx.find_root().info_name, mistake, NO_DAEMON)
        except LocalMistake as mistake:
            _fail(ctx.find_root().info_name, mistake, WRONG)
        except RemoteFault as fault:
            _fail(ctx.find_root().info_name, fault, FAILED)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


def socket_path(given: Path | None) -> Path:
    """The control socket: the one given, else the system's daemon, else the user's own."""
    if given is not None:
        return given
    try:
        if SYSTEM_SOCKET.exists():
            return SYSTEM_SOCKET
    except PermissionError:
        return SYSTEM_SOCKET  # it is there, and asking it will tell who may
    return paths(system=False).socket


def ask(socket: Path | None, errand: Callable[[Client], Awaitable[_T]]) -> _T:
    """What *errand* brings back from the daemon."""

    async def with_client() -> _T:
        async with Client(socket_path(socket)) as client:
            return await errand(client)

    return complete(with_client)


def complete(errand: Callable[[], Awaitable[_T]]) -> _T:
    """Run *errand* to its end. Raises what it raises, out of any exception group.

    An interruption (SIGINT, SIGTERM) cancels it at its next wait, so that no picture is left half drawn and no process
    behind; then it is raised.
    """
    outcome: list[_T] = []

    async def run() -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as interruptions:
            async with trio.open_nursery() as nursery:

                async def until_interrupted() -> None:
                    await anext(aiter(interruptions))
                    nursery.cancel_scope.cancel()

                nursery.start_soon(until_interrupted)
                outcome.append(await errand())
                nursery.cancel_scope.cancel()

    ungrouped(lambda: trio.run(run))
    if not outcome:
        raise KeyboardInterrupt
    return outcome[0]


def ungrouped(act: Callable[[], _T]) -> _T:
    """Do *act*; of an exception group that it raises, raise the first exception alone."""
    try:
        return act()
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


def print_json(value: object) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def print_line(text: str) -> None:
    """One line on standard output."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """One line for the person at the terminal, kept out of standard output."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


_PLAIN = {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "…": "...", "→": "->", "›": ">"}


def lossy_output() -> None:
    """Let a terminal that lacks a character show a plainer one in its place, or a question mark."""
    codecs.register_error("swarmd-plain", _plainer)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="swarmd-plain")


def _plainer(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in lacking), error.end


def terminal_is_plain(environment: "os._Environ[str] | dict[str, str]", encoding: str | None) -> bool:
    """Whether drawing must keep to ASCII: the output's encoding or an explicit C locale says so.

    Python itself turns the C locale into C.UTF-8 (PEP 538), so the encoding alone does not tell.
    """
    if not (encoding or "").lower().replace("-", "").startswith("utf8"):
        return True
    said = environment.get("LC_ALL") or environment.get("LANG") or ""
    overruled = not environment.get("LC_ALL") and environment.get("LC_CTYPE", "") not in ("", "C", "POSIX", "C.UTF-8")
    return said in ("C", "POSIX") and not overruled


def _fail(command: str | None, error: Exception, status: int) -> NoReturn:
    what, _, following = clean(str(error), _MESSAGE_BYTES_MAX, lines=True).partition("\n")
    note(f"{command or 'swarmctl'}: {what}")
    if following:
        note(" ".join(following.split()))
    raise typer.Exit(status)
