import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from swarmd.llm.link import Link
from swarmd.vocab.faults import LocalMistake, RemoteFault

WORKER = str(Path(__file__).with_name("fake_worker.py"))


def link(mode: str = "", silence_s: float = 10) -> Link:
    return Link([sys.executable, WORKER, mode], silence_s=silence_s, obey_s=0.3)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        with trio.fail_after(20):
            await test()

    trio.run(main)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def given_up(worker: Link, op: str) -> None:
    """Ask for *op* and cancel once it talks."""
    async with trio.open_nursery() as nursery:
        talks = trio.Event()

        async def ask() -> None:
            await worker.ask({"op": op}, lambda text: talks.set())

        nursery.start_soon(ask)
        await talks.wait()
        nursery.cancel_scope.cancel()


def test_jobs_are_answered_with_their_text_on_the_way() -> None:
    async def test() -> None:
        worker = link()
        heard: list[str] = []
        assert await worker.ask({"op": "echo", "value": [1, "ü"]}, heard.append) == [1, "ü"]
        with pytest.raises(RemoteFault, match="it failed"):
            await worker.ask({"op": "fail"})
        assert heard == ["a"]
        await worker.close()

    run(test)


def test_a_cancelled_job_ends_and_its_worker_serves_on() -> None:
    async def test() -> None:
        worker = link()
        await worker.start()
        pid = worker.pid
        await given_up(worker, "talk")
        assert await worker.ask({"op": "echo", "value": 1}) == 1
        assert worker.pid == pid
        await worker.close()

    run(test)


def test_a_worker_that_does_not_obey_is_killed_and_replaced() -> None:
    async def test() -> None:
        worker = link()
        await worker.start()
        pid = worker.pid
        assert pid is not None
        await given_up(worker, "deaf")
        assert not is_alive(pid)
        assert worker.pid is None
        assert await worker.ask({"op": "echo", "value": 1}) == 1
        await worker.close()

    run(test)


@pytest.mark.parametrize(
    ("op", "told"),
    [
        ("die", "ended with status 3$"),
        ("killed", r"died \(Killed\), as happens when memory is short$"),
        ("crash", r"died \(Segmentation fault\)$"),
        ("leave", "closed its output$"),
        ("flood", "wrote a line without end$"),
    ],
)
def test_a_worker_that_dies_or_runs_away_is_a_fault_that_says_how_and_is_replaced(op: str, told: str) -> None:
    async def test() -> None:
        worker = link()
        with pytest.raises(RemoteFault, match=told):
            await worker.ask({"op": op})
        assert await worker.ask({"op": "echo", "value": 1}) == 1
        await worker.close()

    run(test)


def test_a_worker_that_hangs_is_given_up() -> None:
    async def test() -> None:
        worker = link(silence_s=0.5)
        await worker.start()
        pid = worker.pid
        assert pid is not None
        with pytest.raises(RemoteFault, match=r"silent for 0\.5 s"):
            await worker.ask({"op": "deaf"})
        assert not is_alive(pid)

    run(test)


@pytest.mark.parametrize(("mode", "kind"), [("fatal", LocalMistake), ("mute", RemoteFault), ("garbage", RemoteFault)])
def test_a_worker_that_does_not_start_leaves_nothing_behind(mode: str, kind: type[Exception]) -> None:
    async def test() -> None:
        worker = link(mode, silence_s=0.5)
        with pytest.raises(kind):
            await worker.start()
        assert worker.pid is None

    run(test)


def test_closing_in_the_middle_of_cancellation_ends_the_process() -> None:
    async def test() -> None:
        worker = link()
        await worker.start()
        pid = worker.pid
        assert pid is not None
        with trio.CancelScope() as scope:
            scope.cancel()
            await worker.close()
        assert not is_alive(pid)

    run(test)


def test_requests_at_the_same_time_are_served_one_after_another() -> None:
    async def test() -> None:
        worker = link()
        answers: list[int] = []

        async def ask(value: int) -> None:
            answers.append(await worker.ask({"op": "echo", "value": value}))

        async with trio.open_nursery() as nursery:
            for value in range(5):
                nursery.start_soon(ask, value)
        assert sorted(answers) == [0, 1, 2, 3, 4]
        await worker.close()

    run(test)


@pytest.mark.parametrize("op", ["talk", "deaf"])
def test_a_worker_that_is_closed_in_the_middle_of_a_job_is_a_fault_of_that_job(op: str) -> None:
    async def test() -> None:
        worker = link()
        talks = trio.Event()

        async def ask() -> None:
            with pytest.raises(RemoteFault, match="was ended"):
                await worker.ask({"op": op}, lambda text: talks.set())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await talks.wait()
            await worker.close()

    run(test)
