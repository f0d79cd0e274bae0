"""The control server: the daemon's door as HTTP on a UNIX socket that only this machine's people can open.

Every answer is JSON, Markdown or an event stream; every failure is a problem (RFC 9457). Readers that are slow or gone
cost a bounded wait and a bounded buffer, and never hold up the daemon or its end.
"""

import errno
import logging
import os
import pwd
import socket
import stat
import struct
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar, get_args

import msgspec
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from swarmd.control import api
from swarmd.control.door import Door
from swarmd.control.metrics import metrics
from swarmd.events.kinds import Limits, Policy
from swarmd.plan.report import report
from swarmd.plan.views import ChangeKind, GoalView
from swarmd.replica.inputs import CancelGoal, ListEvents, ListGoals, ListPeers, ShowGoal, ShowStatus, ShowTask
from swarmd.replica.status import StatusView
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake, UnknownId
from swarmd.vocab.ids import short
from swarmd.vocab.text import clean

PATH_BYTES_MAX = 107  # what a socket's address has room for, unix(7)
CONNECTIONS_MAX = 2 * limits.WATCHERS_MAX + 64  # every watcher, who asks beside it, and room for who only asks
BODY_S_MAX = 10.0  # 64 KiB over a local socket take milliseconds; longer is a sender that hangs
DRAIN_BYTES_MAX = 16 * limits.BODY_BYTES_MAX  # read and thrown away, so that the sender gets to read the refusal
SEND_S_MAX = 30.0  # a terminal paused by its user; who reads nothing for longer is cut off and may come back

_PEERCRED = struct.Struct("3i")  # struct ucred of unix(7): pid, uid, gid

_log = logging.getLogger("swarmd.control")
_caller: ContextVar[str] = ContextVar("caller")  # whose connection this task serves
_T = TypeVar("_T")


async def serve(
    path: Path,
    door: Door,
    *,
    mode: int = 0o600,
    handed: socket.socket | None = None,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve *door* on a UNIX socket at *path* until cancelled; the file is removed at the end. Or serve it on *handed*,
    which listens already and whose file is left to whoever made it.

    Reports started once the socket accepts. *mode*: the permissions of the socket file. Raises LocalMistake if another
    daemon answers there, or if no socket can be made there.
    """
    if handed is not None:
        listener, inode = trio.SocketListener(trio.socket.from_stdlib_socket(handed)), None
    else:
        listener, inode = _listen(path, mode)
    server = _Server(application(door))
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.close_at_the_end)
            await nursery.start(trio.serve_listeners, server.converse, [listener])
            task_status.started()
    finally:
        listener.socket.close()
        if inode is not None:
            _remove(path, inode)


def application(door: Door) -> Starlette:
    """The routes, as an ASGI application."""
    routes = _Routes(door)
    app = Starlette(
        routes=[
            Route(api.GOALS, routes.set_goal, methods=["POST"]),
            Route(api.GOALS, routes.goals, methods=["GET"]),
            Route(api.GOAL, routes.goal, methods=["GET"]),
            Route(api.GOAL, routes.cancel, methods=["DELETE"]),
            Route(api.REPORT, routes.report, methods=["GET"]),
            Route(api.TASK, routes.task, methods=["GET"]),
            Route(api.STORY, routes.events, methods=["GET"]),
            Route(api.PEERS, routes.peers, methods=["GET"]),
            Route(api.STATUS, routes.status, methods=["GET"]),
            Route(api.CHANGES, routes.changes, methods=["GET"]),
            Route(api.METRICS, routes.metrics, methods=["GET"]),
        ],
        exception_handlers={
            UnknownId: _unknown_id,
            LocalMistake: _mistake,
            _Refused: _refused,
            HTTPException: _no_such_path,
            Exception: _internal,
        },
    )
    app.router.redirect_slashes = False
    return app


# --- the socket ----------------------------------------------------------------------------------------------------


def _listen(path: Path, mode: int) -> tuple[trio.SocketListener, int]:
    """A listening socket and its inode. It is made beside *path* and moved there when it accepts, so that nobody ever
    finds a socket that refuses, or one with other permissions than *mode*."""
    if len(os.fsencode(path)) > PATH_BYTES_MAX:
        raise LocalMistake(
            f"the control socket's path has more than {PATH_BYTES_MAX} bytes: {path}\n"
            "Choose a shorter one with --socket or SWARMD_CONTROL_SOCKET."
        )
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _clear(path)
        made = path.with_name(f".{os.getpid()}")
        made.unlink(missing_ok=True)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.bind(str(made))
            made.chmod(mode)
            sock.listen(CONNECTIONS_MAX)
            inode = made.stat().st_ino
            made.rename(path)
        except BaseException:
            sock.close()
            made.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise LocalMistake(
            f"no control socket can be made at {path}: {error.strerror or error}\n"
            "Choose another place with --socket or SWARMD_CONTROL_SOCKET."
        ) from error
    return trio.SocketListener(trio.socket.from_stdlib_socket(sock)), inode


def _clear(path: Path) -> None:
    """Remove what a killed daemon left, after checking that nobody answers."""
    try:
        is_socket = stat.S_ISSOCK(path.stat().st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        raise LocalMistake(
            f"{path} is in the way and is not a socket\nRemove it, or choose another place with --socket."
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        answer = probe.connect_ex(str(path))
    # a full queue of callers (EAGAIN) is a daemon too, only a busy one
    if answer not in (errno.ECONNREFUSED, errno.ENOENT):
        raise LocalMistake(f"a daemon answers on {path} already\nStop it first, or choose another place with --socket.")
    path.unlink(missing_ok=True)


def _remove(path: Path, inode: int) -> None:
    try:
        if path.stat().st_ino == inode:
            path.unlink()
    except OSError:
        _log.warning("could not remove the control socket %s", path)


# --- connections ---------------------------------------------------------------------------------------------------


class _Patient:
    """A connection whose writes end. Hypercorn shields its writes from cancellation, so a reader who does not read
    would hold up the daemon's end for ever: here a write has a limit, and `close` ends it at once."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self.socket = stream.socket
        self.receive_some = stream.receive_some
        self.send_eof = stream.send_eof
        self.aclose = stream.aclose

    async def send_all(self, data: bytes) -> None:
        with trio.move_on_after(SEND_S_MAX) as patience:
            await self._stream.send_all(data)
        if patience.cancelled_caught:
            self.close()
            raise trio.BrokenResourceError("the reader does not read")

    def close(self) -> None:
        self.socket.close()


class _Server:
    """Speaks HTTP on each connection, by Hypercorn's trio worker."""

    def __init__(self, app: Starlette) -> None:
        self._app = ASGIWrapper(app)  # type: ignore[arg-type]  # two libraries' types of the same ASGI callable
        self._config = Config()
        self._config.accesslog = None
        self._config.errorlog = _log
        self._config.include_server_header = False
        self._context = WorkerContext(None)
        self._open: set[_Patient] = set()

    async def converse(self, stream: trio.SocketStream) -> None:
        """One connection, from its first request to its end. What goes wrong in it stays in it."""
        if len(self._open) >= CONNECTIONS_MAX:
            return
        _caller.set(_person(stream))
        connection = _Patient(stream)
        self._open.add(connection)
        try:
            await TCPServer(
                self._app,
                self._config,
                self._context,
                ConnectionState({}),
                connection,  # type: ignore[arg-type]
            ).run()
        except Exception:
            _log.debug("a control connection broke", exc_info=True)
        finally:
            self._open.discard(connection)

    async def close_at_the_end(self) -> None:
        """When cancelled, end the writes that nobody reads."""
        try:
            await trio.sleep_forever()
        finally:
            for connection in self._open:
                connection.close()


def _person(stream: trio.SocketStream) -> str:
    """Who opened a connection, by the kernel's word (SO_PEERCRED): "alice (uid 1000)"."""
    _, uid, _ = _PEERCRED.unpack(stream.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEERCRED.size))
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


# --- requests ------------------------------------------------------------------------------------------------------


class _Refused(Exception):
    """A request that is wrong before the daemon is asked."""

    def __init__(self, status: HTTPStatus, code: api.ProblemCode, detail: str) -> None:
        self.status, self.code, self.detail = status, code, detail


class _Routes:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._watchers = 0

    async def set_goal(self, request: Request) -> Response:
        body = await _body(request)
        asked = _decode(body, api.GoalRequest)
        _no_strange_rules(msgspec.json.decode(body))
        goal = await self._door.command(asked.command())
        assert isinstance(goal, str)
        _log.info("%s sets goal %s", _caller.get("somebody"), short(goal), extra={"goal": goal, "kind": "goal"})
        return _json(api.GoalReply(goal=goal), HTTPStatus.CREATED)

    async def goals(self, request: Request) -> Response:
        return _json(await self._door.command(ListGoals()))

    async def goal(self, request: Request) -> Response:
        return _json(await self._view(request.path_params["goal"]))

    async def report(self, request: Request) -> Response:
        text = report(await self._view(request.path_params["goal"]))
        return Response(text, headers={"content-type": api.MARKDOWN})

    async def cancel(self, request: Request) -> Response:
        reason = clean(request.query_params.get("reason", ""), limits.REASON_BYTES_MAX)
        goal = await self._door.command(CancelGoal(goal=api.goal_prefix(request.path_params["goal"]), reason=reason))
        assert isinstance(goal, str)
        _log.info("%s cancels goal %s", _caller.get("somebody"), short(goal), extra={"goal": goal, "kind": "cancel"})
        return _json(api.GoalReply(goal=goal))

    async def task(self, request: Request) -> Response:
        task = request.path_params["task"]
        return _json(await self._door.command(ShowTask(task="" if task == api.LATEST else api.task_prefix(task))))

    async def events(self, request: Request) -> Response:
        return _json(await self._door.command(_event_filter(request)))

    async def peers(self, request: Request) -> Response:
        return _json(await self._door.command(ListPeers()))

    async def status(self, request: Request) -> Response:
        return _json(await self._door.command(ShowStatus()))

    async def metrics(self, request: Request) -> Response:
        status = await self._door.command(ShowStatus())
        assert isinstance(status, StatusView)
        return Response(metrics(status), headers={"content-type": api.PROMETHEUS})

    async def changes(self, request: Request) -> Response:
        """What happens, as server-sent events (WHATWG HTML, section 9.2). `?goal=` leaves out other goals' changes."""
        wanted = request.query_params.get("goal", "")
        goal = (await self._view(wanted)).id if wanted else ""
        return _ChangeStream(self, goal)

    async def stream_changes(self, goal: str, send: Send) -> None:
        """Send changes until the daemon has no more."""
        if self._watchers >= limits.WATCHERS_MAX:
            raise _Refused(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "too-many",
                f"{limits.WATCHERS_MAX} watchers are connected, which is the limit\nEnd one of them, then try again.",
            )
        self._watchers += 1
        try:
            with self._door.watch() as changes:
                headers = [(b"content-type", api.EVENTS.encode()), (b"cache-control", b"no-store")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                piece: bytes | None = b": watching\n\n"  # tells the reader that nothing is missed from here on
                while piece is not None:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    piece = await _next_piece(changes, goal)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._watchers -= 1

    async def _view(self, goal: str) -> GoalView:
        view = await self._door.command(ShowGoal(goal="" if goal == api.LATEST else api.goal_prefix(goal)))
        assert isinstance(view, GoalView)
        return view


class _ChangeStream(Response):
    """An event stream that ends when the reader goes away, even while nothing changes."""

    def __init__(self, routes: _Routes, goal: str) -> None:
        super().__init__()
        self._routes = routes
        self._goal = goal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def until_gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            nursery.cancel_scope.cancel()

        refused: _Refused | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(until_gone)
            try:
                await self._routes.stream_changes(self._goal, send)
            except _Refused as refusal:
                refused = refusal
            nursery.cancel_scope.cancel()
        if refused is not None:
            raise refused


async def _next_piece(changes: "trio.MemoryReceiveChannel[msgspec.Struct]", goal: str) -> bytes | None:
    """The next event, or a comment after a long silence, or None at the end."""
    with trio.move_on_after(api.KEEPALIVE_S):
        async for change in changes:
            if not goal or getattr(change, "goal", "") in ("", goal):
                return b"data: " + msgspec.json.encode(change) + b"\n\n"
        return None
    return b": still here\n\n"


async def _body(request: Request) -> bytes:
    """The request's body. Raises _Refused if it is larger or comes slower than a goal needs."""
    body, size = bytearray(), 0
    with trio.move_on_after(BODY_S_MAX):
        async for piece in request.stream():
            size += len(piece)
            if size <= limits.BODY_BYTES_MAX:
                body += piece
            elif size > DRAIN_BYTES_MAX:
                break
        if size > limits.BODY_BYTES_MAX:
            raise _Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                "too-large",
                f"the request is over the limit of {limits.BODY_BYTES_MAX:,} bytes\n"
                f"A goal has at most {limits.GOAL_BYTES_MAX:,} bytes; say it in fewer words.",
            )
        return bytes(body)
    raise _Refused(HTTPStatus.REQUEST_TIMEOUT, "too-slow", f"the request did not arrive within {BODY_S_MAX:g} seconds")


def _event_filter(request: Request) -> ListEvents:
    """What `/v1/events` was asked for. Raises LocalMistake naming the parameter that is wrong."""
    params = request.query_params
    if unknown := sorted(set(params) - {"goal", "task", "peer", "kind", "count"}):
        raise LocalMistake(f"no parameter {clean(unknown[0], 80)!r}: known are goal, task, peer, kind and count")
    kinds = tuple(params.getlist("kind"))
    for kind in kinds:
        if kind not in get_args(ChangeKind):
            raise LocalMistake(f"there is no kind {clean(kind, 80)!r}: known are {', '.join(get_args(ChangeKind))}")
    count = params.get("count", "100")
    if not count.isascii() or not count.isdecimal() or not 1 <= int(count[:5]) <= api.STORY_MAX:
        raise LocalMistake(f"count must be a number from 1 to {api.STORY_MAX:,}")
    goal, task = params.get("goal", ""), params.get("task", "")
    return ListEvents(
        goal=api.goal_prefix(goal) if goal else "",
        task=api.task_prefix(task) if task else "",
        peer=clean(params.get("peer", ""), limits.NAME_BYTES_MAX),
        kinds=kinds,
        count=int(count),
    )


def _decode(body: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise LocalMistake(f"the request does not fit: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _Refused(HTTPStatus.BAD_REQUEST, "malformed", f"the request is not JSON: {error}") from error


def _no_strange_rules(asked: dict[str, dict[str, object]]) -> None:
    """Raises LocalMistake for a limit or rule that nobody knows: a fact of a newer peer may hold such, a request means
    it."""
    for part, known in (("limits", Limits.__struct_fields__), ("policy", Policy.__struct_fields__)):
        if unknown := sorted(set(asked.get(part, ())) - set(known)):
            raise LocalMistake(
                f"the request does not fit: {part} has no {clean(unknown[0], 80)!r}: known are {', '.join(known)}"
            )


# --- answers -------------------------------------------------------------------------------------------------------


def _json(value: object, status: HTTPStatus = HTTPStatus.OK) -> Response:
    return Response(msgspec.json.encode(value), status, media_type=api.JSON)


def _problem(status: int, code: api.ProblemCode, detail: str) -> Response:
    problem = api.Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, code=code)
    return Response(msgspec.json.encode(problem), status, media_type=api.PROBLEM)


_Handler = Callable[[Request, Exception], Awaitable[Response]]


async def _unknown_id(request: Request, error: Exception) -> Response:
    return _problem(HTTPStatus.NOT_FOUND, "unknown-id", str(error))


async def _mistake(request: Request, error: Exception) -> Response:
    return _problem(HTTPStatus.UNPROCESSABLE_ENTITY, "mistake", str(error))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, _Refused)
    return _problem(error.status, error.code, error.detail)


async def _no_such_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = clean(f"{request.method} {request.url.path}", 200)
    answer = _problem(error.status_code, "no-such-path", f"{what} is not something this daemon does")
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:  # Starlette names the methods of one route only
        here = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
        answer.headers["allow"] = ", ".join(sorted(set().union(*(route.methods for route in here))))
    return answer


async def _internal(request: Request, error: Exception) -> Response:
    detail = "the daemon made a mistake of its own\nSee `journalctl -u swarmd`, and please report it."
    return _problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", detail)
