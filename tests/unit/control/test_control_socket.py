"""The control socket as people and programs find it: a real UNIX socket, a daemon that lives in memory."""

import grp
import json
import logging
import os
import pwd
import re
import socket
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import trio

from swarmd.control import api, server
from swarmd.control.api import GoalRequest
from swarmd.control.client import Client
from swarmd.control.server import serve
from swarmd.events.kinds import Limits, Policy
from swarmd.plan.report import report
from swarmd.plan.views import Change
from swarmd.replica.effects import Value
from swarmd.replica.inputs import CancelGoal, Command, ListEvents, SetGoal
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake, RemoteFault, UnknownId, Unreachable
from tests.unit.invented import GOAL_ID, STATUS, InMemoryDoor, goal_view, mid_run, peers, result, task

LIMIT_S = 60.0  # for what takes milliseconds, or two seconds for 200 clients; a crowded machine takes longer


def served(path: Path, door: InMemoryDoor, errand: Callable[[Client], Awaitable[None]]) -> None:
    """Do *errand* against a control server of *door*, and see that the server ends at once and cleans up."""

    async def run() -> None:
        with trio.fail_after(LIMIT_S):
            async with trio.open_nursery() as nursery:
                await nursery.start(serve, path, door)
                async with Client(path) as client:
                    await errand(client)
                    before = trio.current_time()
                    nursery.cancel_scope.cancel()
            assert trio.current_time() - before < 1.0
        assert not path.exists()

    trio.run(run)


def raw(path: Path) -> httpx.AsyncClient:
    """A client that knows nothing of swarmd."""
    return httpx.AsyncClient(
        transport=httpx.AsyncHTTPTransport(uds=str(path)), base_url="http://swarmd", trust_env=False
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control.sock"


# --- every route ---------------------------------------------------------------------------------------------------


def test_every_question_gets_the_daemons_answer(path: Path) -> None:
    goal = mid_run()

    async def errand(client: Client) -> None:
        assert await client.goal() == goal
        assert await client.goal(GOAL_ID[:8]) == goal
        assert [line.id for line in await client.goals()] == [GOAL_ID]
        assert await client.peers() == peers()
        assert await client.status() == STATUS
        assert await client.report() == report(goal)

    served(path, InMemoryDoor(goal), errand)


def test_a_goal_is_set_as_asked_and_cancelled_with_its_reason(path: Path) -> None:
    door = InMemoryDoor()

    async def errand(client: Client) -> None:
        request = GoalRequest(text="  A picnic\n", quorum=3, limits=Limits(depth=1), policy=Policy(strict=True))
        goal = await client.set_goal(request)
        assert await client.cancel(goal, "it\nrains\x1b[31m") == goal
        assert door.asked == [
            SetGoal(text="A picnic", quorum=3, limits=Limits(depth=1), policy=Policy(strict=True)),
            CancelGoal(goal=goal, reason="it rains"),
        ]

    served(path, door, errand)


def test_a_goal_set_by_curl_needs_its_text_only(path: Path) -> None:
    async def errand(client: Client) -> None:
        async with raw(path) as curl:
            answer = await curl.post(api.GOALS, content=b'{"text": "A picnic"}')
        assert answer.status_code == 201
        assert (await client.goal(answer.json()["goal"])).text == "A picnic"

    served(path, InMemoryDoor(), errand)


def test_the_report_is_markdown(path: Path) -> None:
    async def errand(client: Client) -> None:
        async with raw(path) as curl:
            answer = await curl.get("/v1/goals/latest/report")
        assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
        assert answer.text.startswith("# Two weeks in Japan for four\n")

    served(path, InMemoryDoor(mid_run()), errand)


def test_a_task_is_shown_with_its_ballots_and_the_story_with_its_filter(path: Path) -> None:
    goal = mid_run()
    door = InMemoryDoor(goal)

    async def errand(client: Client) -> None:
        assert (await client.task()).task == goal.root
        kyoto = goal.root.children[1]
        page = await client.task(kyoto.id[:8])
        assert (page.task, page.path, page.quorum) == (kyoto, (goal.text,), 2)
        await client.events(goal="8f", task="4b", peer="nas", kinds=("vote", "score"), count=3)
        assert door.asked[-1] == ListEvents(goal="8f", task="4b", peer="nas", kinds=("vote", "score"), count=3)

    served(path, door, errand)


def test_metrics_are_what_prometheus_reads(path: Path) -> None:
    async def errand(client: Client) -> None:
        async with raw(path) as curl:
            answer = await curl.get(api.METRICS)
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        for line in answer.text.splitlines():
            assert re.fullmatch(r"# (HELP|TYPE) swarmd_\w+ .+|swarmd_\w+(\{(\w+=\".*\",?)+\})? -?[0-9.]+", line), line
        assert "swarmd_events 57\n" in answer.text
        assert 'swarmd_refused_total{reason="malformed event"} 2\n' in answer.text

    served(path, InMemoryDoor(), errand)


def test_every_change_is_logged_with_the_user_who_wanted_it(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def errand(client: Client) -> None:
        await client.goals()
        await client.cancel(await client.set_goal(GoalRequest(text="A picnic")))

    with caplog.at_level(logging.INFO, "swarmd.control"):
        served(path, InMemoryDoor(), errand)
    user = f"{pwd.getpwuid(os.getuid()).pw_name} (uid {os.getuid()})"
    assert [record.getMessage() for record in caplog.records if record.name == "swarmd.control"] == [
        f"{user} sets goal 00000000",
        f"{user} cancels goal 00000000",
    ]


# --- every refusal -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "place", "body", "status", "code", "word"),
    [
        ("GET", "/v1/nothing", b"", 404, "no-such-path", "/v1/nothing"),
        ("GET", "/v1/goals/", b"", 404, "no-such-path", "/v1/goals/"),
        ("PUT", "/v1/goals", b"{}", 405, "no-such-path", "PUT"),
        ("POST", "/v1/goals", b"", 400, "malformed", "JSON"),
        ("POST", "/v1/goals", b'{"text": ', 400, "malformed", "JSON"),
        ("POST", "/v1/goals", b'{"text": "\xff"}', 400, "malformed", "JSON"),
        ("POST", "/v1/goals", b"[" * 60_000, 422, "mistake", "fit"),
        ("POST", "/v1/goals", b"{}", 422, "mistake", "text"),
        ("POST", "/v1/goals", b'{"text": 7}', 422, "mistake", "text"),
        ("POST", "/v1/goals", b'{"text": "a", "qourum": 2}', 422, "mistake", "qourum"),
        ("POST", "/v1/goals", b'{"text": "a", "limits": {"dephts": 2}}', 422, "mistake", "dephts"),
        ("POST", "/v1/goals", b'{"text": "a", "policy": {"strickt": true}}', 422, "mistake", "strickt"),
        ("POST", "/v1/goals", b'{"text": "a", "quorum": 0}', 422, "mistake", "quorum"),
        ("POST", "/v1/goals", b'{"text": "a", "limits": {"depth": 99}}', 422, "mistake", "depth"),
        ("POST", "/v1/goals", b'{"text": " \\n\\u0007 "}', 422, "mistake", "empty"),
        ("POST", "/v1/goals", b'{"text": "' + b"x" * 9_000 + b'"}', 422, "mistake", "8,192"),
        ("POST", "/v1/goals", b"x" * (limits.BODY_BYTES_MAX + 1), 413, "too-large", "65,536"),
        ("POST", "/v1/goals", b"x" * (4 * server.DRAIN_BYTES_MAX // 5), 413, "too-large", "65,536"),
        ("GET", "/v1/goals/abcd", b"", 404, "unknown-id", "abcd"),
        ("GET", "/v1/goals/not-hex", b"", 404, "unknown-id", "not-hex"),
        ("GET", "/v1/goals/%1b%5b31mred", b"", 404, "unknown-id", "red"),
        ("GET", "/v1/goals/" + "a" * 65, b"", 404, "unknown-id", "aaaa"),
        ("GET", "/v1/goals/abcd/report", b"", 404, "unknown-id", "abcd"),
        ("DELETE", "/v1/goals/abcd", b"", 404, "unknown-id", "abcd"),
        ("DELETE", "/v1/goals/latest", b"", 404, "unknown-id", "latest"),
        ("GET", "/v1/changes?goal=abcd", b"", 404, "unknown-id", "abcd"),
        ("GET", "/v1/tasks/abcd", b"", 404, "unknown-id", "abcd"),
        ("GET", "/v1/tasks/no-hex", b"", 404, "unknown-id", "no-hex"),
        ("GET", "/v1/events?kind=voting", b"", 422, "mistake", "voting"),
        ("GET", "/v1/events?count=0", b"", 422, "mistake", "1,000"),
        ("GET", "/v1/events?count=%D9%A3", b"", 422, "mistake", "1,000"),
        ("GET", "/v1/events?since=1", b"", 422, "mistake", "since"),
        ("GET", "/v1/events?goal=xyz", b"", 404, "unknown-id", "xyz"),
    ],
)
def test_every_wrong_request_is_answered_with_a_problem(
    path: Path, method: str, place: str, body: bytes, status: int, code: str, word: str
) -> None:
    async def errand(client: Client) -> None:
        async with raw(path) as curl:
            answer = await curl.request(method, place, content=body)
        assert answer.headers["content-type"] == "application/problem+json"
        problem = msgspec.json.decode(answer.content, type=api.Problem)
        assert (answer.status_code, problem.status, problem.code) == (status, status, code)
        assert word in problem.detail
        assert "\x1b" not in problem.detail
        assert await client.status() == STATUS  # and the server goes on

    served(path, InMemoryDoor(mid_run()), errand)


def test_a_wrong_method_is_told_which_ones_there_are(path: Path) -> None:
    async def errand(client: Client) -> None:
        async with raw(path) as curl:
            answer = await curl.request("PATCH", "/v1/goals")
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET, HEAD, POST"

    served(path, InMemoryDoor(), errand)


def test_the_client_raises_what_the_daemon_says(path: Path) -> None:
    goals = [goal_view(task("One", "open", 0), id="ab" * 32), goal_view(task("Two", "open", 0), id="ac" * 32)]

    async def errand(client: Client) -> None:
        with pytest.raises(UnknownId, match="2 goals have an id that begins with a"):
            await client.goal("a")
        with pytest.raises(UnknownId, match="no goal has"):
            await client.cancel("ff")
        with pytest.raises(UnknownId, match="no goal has"):
            await client.goal("../status")
        with pytest.raises(LocalMistake, match="the goal is empty"):
            await client.set_goal(GoalRequest(text=""))
        with pytest.raises(UnknownId, match="no goal has"):
            async with client.changes("ff"):
                pass

    served(path, InMemoryDoor(*goals), errand)


def test_a_bug_behind_the_door_is_a_problem_and_not_the_end(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(InMemoryDoor):
        async def command(self, command: Command) -> Value:
            raise ZeroDivisionError

    async def errand(client: Client) -> None:
        for _ in range(2):
            with pytest.raises(RemoteFault, match="a mistake of its own"):
                await client.status()

    served(path, Broken(), errand)
    assert "ZeroDivisionError" in caplog.text  # told to whoever keeps the log


@pytest.mark.parametrize(
    "junk",
    [
        b"\x00" * 5_000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/goals HTTP/1.1\r\nhost: a\r\ncontent-length: -5\r\n\r\n",
        b"POST /v1/goals HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET /v1/status HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 40_000 + b"\r\n\r\n",
        b"GET /v1/changes HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 200,
    ],
)
def test_junk_on_the_socket_ends_its_own_connection_only(path: Path, junk: bytes) -> None:
    async def errand(client: Client) -> None:
        async with await trio.open_unix_socket(str(path)) as stream:
            await stream.send_all(junk)
            with trio.move_on_after(0.2):
                while await stream.receive_some():
                    pass
        assert await client.status() == STATUS

    served(path, InMemoryDoor(), errand)


# --- what changes --------------------------------------------------------------------------------------------------


def change(text: str, goal: str = "", **more: Any) -> Change:
    return Change(kind=more.pop("kind", "claim"), text=text, goal=goal, **more)


def test_a_watcher_hears_its_goal_and_the_swarm_but_not_other_goals(path: Path) -> None:
    door = InMemoryDoor(mid_run())
    mine = change("mine", GOAL_ID, kind="live", chunk="a line\nand\u2028another", wall_ms=5)

    async def errand(client: Client) -> None:
        async with client.changes(GOAL_ID[:6]) as changes:
            for told in (change("other", "ab" * 32), mine, change("a peer joined", kind="joined")):
                door.tell(told)
            assert await anext(changes) == mine
            assert (await anext(changes)).text == "a peer joined"
        async with client.changes() as everything:
            door.tell(change("other", "ab" * 32))
            assert (await anext(everything)).text == "other"

    served(path, door, errand)


def test_a_silent_stream_says_that_it_lives(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "KEEPALIVE_S", 0.02)

    async def errand(client: Client) -> None:
        async with raw(path) as curl, curl.stream("GET", api.CHANGES) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            heard = b""
            async for piece in answer.aiter_bytes():
                heard += piece
                if heard.count(b": still here\n\n") == 2:
                    break

    served(path, InMemoryDoor(), errand)


def test_a_stream_ends_when_the_daemon_has_no_more_to_say(path: Path) -> None:
    door = InMemoryDoor()

    async def errand(client: Client) -> None:
        async with client.changes() as changes:
            door.tell(change("last"))
            door.watchers[0].close()
            assert [told.text async for told in changes] == ["last"]

    served(path, door, errand)


def test_watchers_that_vanish_leave_nothing_behind(path: Path) -> None:
    door = InMemoryDoor()

    async def errand(client: Client) -> None:
        for _ in range(20):
            async with await trio.open_unix_socket(str(path)) as stream:
                await stream.send_all(b"GET /v1/changes HTTP/1.1\r\nhost: swarmd\r\n\r\n")
                await stream.receive_some()
        while door.watchers:
            await trio.sleep(0.01)
        assert await client.status() == STATUS

    served(path, door, errand)


def test_a_watcher_that_does_not_read_holds_up_neither_the_daemon_nor_its_end(path: Path) -> None:
    door = InMemoryDoor(room=8)

    async def errand(client: Client) -> None:
        async with await trio.open_unix_socket(str(path)) as stuck:
            await stuck.send_all(b"GET /v1/changes HTTP/1.1\r\nhost: swarmd\r\n\r\n")
            while not door.watchers:
                await trio.sleep(0.01)
            big = change("x" * 100_000)
            for _ in range(40):  # more than any socket buffers
                door.tell(big)
                await trio.sleep(0.002)
            assert door.watchers[0].statistics().current_buffer_used == 8  # it is stuck, and loses
            assert await client.status() == STATUS

    served(path, door, errand)


def test_a_reader_that_does_not_read_is_cut_off(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SEND_S_MAX", 0.05)
    door = InMemoryDoor(large_goal())

    async def errand(client: Client) -> None:
        async with await trio.open_unix_socket(str(path)) as stuck:
            await stuck.send_all(b"GET /v1/goals/latest HTTP/1.1\r\nhost: swarmd\r\n\r\n")
            await trio.sleep(0.3)
            size = 0
            try:
                while piece := await stuck.receive_some():
                    size += len(piece)
            except trio.BrokenResourceError:
                pass
            assert size < 3_000_000
        assert await client.status() == STATUS

    served(path, door, errand)


def test_one_watcher_too_many_is_told_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WATCHERS_MAX", 1)

    async def errand(client: Client) -> None:
        async with client.changes():
            with pytest.raises(RemoteFault, match="1 watchers are connected"):
                async with client.changes():
                    pass
        assert await client.status() == STATUS

    served(path, InMemoryDoor(), errand)


# --- many and large ------------------------------------------------------------------------------------------------


def large_goal() -> Any:
    """A goal of about 4 MB."""
    parts = tuple(
        task(f"Part {number}", "done", results=(result("12D3KooWM", f"{number}: " + "слово " * 9_000),))
        for number in range(40)
    )
    return goal_view(task("A large goal", "split", 0, children=parts))


def test_a_reply_of_several_megabytes_arrives_whole(path: Path) -> None:
    goal = large_goal()

    async def errand(client: Client) -> None:
        assert await client.goal() == goal
        assert len(msgspec.json.encode(goal)) > 3_000_000

    served(path, InMemoryDoor(goal), errand)


def test_two_hundred_clients_at_once_are_all_served(path: Path) -> None:
    door = InMemoryDoor(mid_run())
    heard: list[str] = []

    async def one(number: int) -> None:
        async with Client(path) as client, client.changes() as changes:
            assert (await client.goal()).id == GOAL_ID
            heard.append((await anext(changes)).text)

    async def errand(client: Client) -> None:
        async with trio.open_nursery() as nursery:
            for number in range(200):
                nursery.start_soon(one, number)
            while len(door.watchers) < 200:
                await trio.sleep(0.01)
            door.tell(change("hello"))
        assert heard == ["hello"] * 200

    served(path, door, errand)


def test_more_connections_than_the_limit_are_closed_and_the_others_go_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 3)

    async def errand(client: Client) -> None:
        assert await client.status() == STATUS
        silent = [await trio.open_unix_socket(str(path)) for _ in range(3)]
        assert await silent[-1].receive_some() == b""
        assert await client.status() == STATUS
        for stream in silent:
            await stream.aclose()

    served(path, InMemoryDoor(), errand)


# --- the socket file -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o660])
def test_the_socket_has_the_permissions_asked_for_whatever_the_umask(path: Path, mode: int) -> None:
    async def run() -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(lambda task_status: serve(path, InMemoryDoor(), mode=mode, task_status=task_status))
            assert stat.S_IMODE(path.stat().st_mode) == mode
            assert os.listdir(path.parent) == [path.name]
            nursery.cancel_scope.cancel()

    trio.run(run)


def test_a_socket_that_a_killed_daemon_left_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))

    async def errand(client: Client) -> None:
        assert await client.status() == STATUS

    served(path, InMemoryDoor(), errand)


def test_a_second_daemon_does_not_take_the_socket_of_the_first(path: Path) -> None:
    async def errand(client: Client) -> None:
        with pytest.raises(LocalMistake, match="a daemon answers on"):
            await serve(path, InMemoryDoor())
        assert await client.status() == STATUS

    served(path, InMemoryDoor(), errand)


def test_a_file_that_is_no_socket_is_left_alone(path: Path) -> None:
    path.write_text("dear diary")
    with pytest.raises(LocalMistake, match="is not a socket"):
        trio.run(serve, path, InMemoryDoor())
    assert path.read_text() == "dear diary"


def test_a_path_too_long_for_a_socket_says_so(tmp_path: Path) -> None:
    with pytest.raises(LocalMistake, match="107 bytes"):
        trio.run(serve, tmp_path / ("x" * 120), InMemoryDoor())
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "swarmd" / "control.sock"

    async def errand(client: Client) -> None:
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    served(path, InMemoryDoor(), errand)


def test_the_socket_of_a_successor_is_not_removed(path: Path) -> None:
    async def run() -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(serve, path, InMemoryDoor())
            path.unlink()
            path.write_text("somebody else's")
            nursery.cancel_scope.cancel()

    trio.run(run)
    assert path.read_text() == "somebody else's"


def test_a_socket_that_systemd_made_is_served_and_left_in_its_place(path: Path) -> None:
    async def run() -> None:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
            made.listen()
            for _ in range(2):  # a daemon and the next one
                async with trio.open_nursery() as nursery, Client(path) as client:
                    handed = made.dup()
                    await nursery.start(
                        lambda task_status, handed=handed: serve(
                            path, InMemoryDoor(), handed=handed, task_status=task_status
                        )
                    )
                    assert await client.status() == STATUS
                    nursery.cancel_scope.cancel()

    trio.run(run)
    assert path.exists()


# --- no daemon -----------------------------------------------------------------------------------------------------


def test_without_a_daemon_the_client_says_how_to_start_one(path: Path) -> None:
    async def run() -> None:
        async with Client(path) as client:
            with pytest.raises(Unreachable, match=r"systemctl start swarmd.*swarmd run"):
                await client.status()
            with pytest.raises(Unreachable, match=r"systemctl start swarmd.*swarmd run"):
                async with client.changes():
                    pass

    trio.run(run)


def test_a_daemon_that_goes_away_is_told_as_such(path: Path) -> None:
    async def hang_up(stream: trio.SocketStream) -> None:
        await stream.receive_some()

    async def run() -> None:
        sock = trio.socket.socket(trio.socket.AF_UNIX)
        await sock.bind(str(path))
        sock.listen(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, hang_up, [trio.SocketListener(sock)])
            async with Client(path) as client:
                with pytest.raises(Unreachable, match="went away"):
                    await client.status()
            nursery.cancel_scope.cancel()

    trio.run(run)


def test_something_else_on_the_socket_is_recognised(path: Path) -> None:
    async def other(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{"hello": 1}')

    async def run() -> None:
        sock = trio.socket.socket(trio.socket.AF_UNIX)
        await sock.bind(str(path))
        sock.listen(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, other, [trio.SocketListener(sock)])
            async with Client(path) as client:
                with pytest.raises(Unreachable, match="not a swarmd of this version"):
                    await client.status()
            nursery.cancel_scope.cancel()

    trio.run(run)


def test_the_group_to_join_is_named_where_permission_is_missing(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise httpx.ConnectError("denied") from PermissionError(13, "Permission denied")

    monkeypatch.setattr(httpx.AsyncClient, "request", refuse)
    path.touch()

    async def say() -> str:
        async with Client(path) as client:
            with pytest.raises(Unreachable) as told:
                await client.status()
        return str(told.value)

    path.chmod(0o660)
    group = grp.getgrgid(path.stat().st_gid).gr_name
    assert f"Join the group {group}: `sudo usermod -aG {group} " in trio.run(say)
    path.chmod(0o600)
    assert "Only the user " in trio.run(say)


def test_json_of_the_api_is_plain_json(path: Path) -> None:
    async def errand(client: Client) -> None:
        async with raw(path) as curl:
            answer = await curl.get("/v1/goals/latest")
        told = json.loads(answer.content)
        assert told["root"]["children"][1]["children"][0]["claim"]["attempt"] == 2

    served(path, InMemoryDoor(mid_run()), errand)
