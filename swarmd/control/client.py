"""The control client: the daemon's door from another process. Its errors say what to do next."""

import grp
import os
import pwd
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx
import msgspec

from swarmd.control import api
from swarmd.plan.views import Change, EventPage, GoalLine, GoalView, TaskPage
from swarmd.replica.status import PeerView, StatusView
from swarmd.vocab.faults import LocalMistake, RemoteFault, UnknownId, Unreachable

SYSTEM_SOCKET = Path("/run/swarmd/control.sock")

_ANSWER_S = 30.0  # a goal of thousands of tasks, on a loaded Raspberry Pi
_CONNECT_S = 5.0
_EVENT_BYTES_MAX = 1024 * 1024  # one change has a line of text and at most a chunk; more is not our daemon

_T = TypeVar("_T")


class Client:
    """Speaks with the daemon behind the UNIX socket at *path*; use as an async context.

    Every method raises Unreachable if no daemon answers, UnknownId and LocalMistake with the daemon's words if what is
    asked for cannot be, and RemoteFault if the daemon itself failed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._http = httpx.AsyncClient(
            # no TLS on a local socket: without `verify=False` each command would first read all certificates, half a
            # second on a Raspberry Pi
            transport=httpx.AsyncHTTPTransport(uds=str(path), verify=False),
            base_url="http://swarmd",
            timeout=httpx.Timeout(_ANSWER_S, connect=_CONNECT_S),
            trust_env=False,  # a proxy variable has no say over a local socket
        )

    async def __aenter__(self) -> "Client":
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.__aexit__(kind, error, trace)

    async def set_goal(self, request: api.GoalRequest) -> str:
        """The new goal's id. It is on the daemon's disk when this returns."""
        content = msgspec.json.encode(request)
        return (await self._ask("POST", api.GOALS, api.GoalReply, content=content)).goal

    async def goals(self) -> tuple[GoalLine, ...]:
        """All goals, newest last."""
        return await self._ask("GET", api.GOALS, tuple[GoalLine, ...])

    async def goal(self, goal: str = api.LATEST) -> GoalView:
        """The goal whose id begins with *goal*, with its whole tree."""
        return await self._ask("GET", _path(api.GOAL, goal), GoalView)

    async def task(self, task: str = api.LATEST) -> TaskPage:
        """The task whose id begins with *task*, and how it was decided; "latest" is the newest goal itself."""
        prefix = task if task == api.LATEST else api.task_prefix(task)
        return await self._ask("GET", api.TASK.replace("{task}", prefix), TaskPage)

    async def events(
        self, *, goal: str = "", task: str = "", peer: str = "", kinds: Sequence[str] = (), count: int = 100
    ) -> EventPage:
        """The latest *count* events that pass the filter, oldest first. *peer*: a name, an id, or an end of one."""
        params = {"goal": goal, "task": task, "peer": peer, "kind": list(kinds), "count": count}
        return await self._ask("GET", api.STORY, EventPage, params={k: v for k, v in params.items() if v})

    async def report(self, goal: str = api.LATEST) -> str:
        """The goal's report, Markdown."""
        return (await self._request("GET", _path(api.REPORT, goal))).text

    async def cancel(self, goal: str, reason: str = "") -> str:
        """Stop work on a goal; its full id."""
        return (await self._ask("DELETE", _path(api.GOAL, goal), api.GoalReply, params={"reason": reason})).goal

    async def peers(self) -> tuple[PeerView, ...]:
        """Everyone the daemon has heard from."""
        return await self._ask("GET", api.PEERS, tuple[PeerView, ...])

    async def status(self) -> StatusView:
        """How the daemon does."""
        return await self._ask("GET", api.STATUS, StatusView)

    @asynccontextmanager
    async def changes(self, goal: str = "") -> AsyncIterator[AsyncIterator[Change]]:
        """What changes from the moment this is entered, of one goal (and of no goal) or of all.

        Ends when the daemon ends the stream; raises Unreachable if it breaks.
        """
        params = {"goal": goal} if goal else {}
        timeout = httpx.Timeout(_ANSWER_S, read=3 * api.KEEPALIVE_S, connect=_CONNECT_S)
        try:
            async with self._http.stream("GET", api.CHANGES, params=params, timeout=timeout) as response:
                if response.is_error:
                    await response.aread()
                _raise_problem(response, self.path)
                async with aclosing(_lines(response)) as lines:
                    await anext(lines, None)  # the comment that says: from here on nothing is missed
                    async with aclosing(_decode_changes(lines, self.path)) as changes:
                        yield changes
        except httpx.HTTPError as error:
            raise _unreachable(error, self.path) from error

    async def _ask(self, method: str, path: str, kind: type[_T], **more: Any) -> _T:
        response = await self._request(method, path, **more)
        return _decode(response.content, kind, self.path)

    async def _request(self, method: str, path: str, **more: Any) -> httpx.Response:
        try:
            response = await self._http.request(method, path, **more)
        except httpx.HTTPError as error:
            raise _unreachable(error, self.path) from error
        _raise_problem(response, self.path)
        return response


async def _lines(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Lines as the daemon sent them (httpx would also break them at U+2028 and the like)."""
    rest = b""
    async for piece in response.aiter_bytes():
        *whole, rest = (rest + piece).split(b"\n")
        if len(rest) > _EVENT_BYTES_MAX:
            raise httpx.ReadError("an event without end")
        for line in whole:
            yield line


async def _decode_changes(lines: AsyncGenerator[bytes, None], path: Path) -> AsyncGenerator[Change, None]:
    async for line in lines:
        if line.startswith(b"data: "):
            yield _decode(line[6:], Change, path)


def _path(template: str, goal: str) -> str:
    return template.replace("{goal}", goal if goal == api.LATEST else api.goal_prefix(goal))


def _decode(content: bytes, kind: type[_T], path: Path) -> _T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _stranger(path) from error


def _raise_problem(response: httpx.Response, path: Path) -> None:
    if response.is_success:
        return
    problem: api.Problem = _decode(response.content, api.Problem, path)
    if problem.code == "unknown-id":
        raise UnknownId(problem.detail)
    if problem.status >= 500:
        raise RemoteFault(problem.detail)
    raise LocalMistake(problem.detail)


def _unreachable(error: httpx.HTTPError, path: Path) -> Unreachable:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, PermissionError):
        return Unreachable(f"you may not open {path}\n{_who_may(path)}")
    if isinstance(error, httpx.TimeoutException):
        return Unreachable(f"the daemon behind {path} does not answer in time\nSee `systemctl status swarmd`.")
    if isinstance(error, httpx.ConnectError):
        return Unreachable(
            f"no daemon answers on {path}\n"
            "Start one with `systemctl start swarmd`, or for yourself alone with `swarmd run`."
        )
    return Unreachable(
        f"the daemon behind {path} went away\nTry again; see `systemctl status swarmd` if it stays away."
    )


def _who_may(path: Path) -> str:
    """Whose permission it takes, as a sentence with the command that gets it."""
    for place in (path, *path.parents):
        try:
            facts = place.stat()
        except OSError:
            continue
        needed = 0o020 if place == path else 0o010  # writing to the socket, passing through a directory
        if not facts.st_mode & needed:
            return f"Only the user {_user(facts.st_uid)} may; try `sudo`."
        group = _group(facts.st_gid)
        return f"Join the group {group}: `sudo usermod -aG {group} {_user(os.getuid())}`, then log in again."
    return "Ask whoever set up swarmd on this machine."


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _stranger(path: Path) -> Unreachable:
    return Unreachable(
        f"what answers on {path} is not a swarmd of this version\nCompare `swarmctl version` with `swarmd --version`."
    )
