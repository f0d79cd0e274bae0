"""The real tiny model in its real worker process."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from swarmd.events.kinds import Subgoal
from swarmd.llm.embedded import EmbeddedLlm
from swarmd.roles.checks import check_split, is_looping
from swarmd.roles.work import CHECKLIST, Compose, Execute, Judge, Judgement, Part, Place, Propose, Split, Text
from swarmd.vocab.faults import LocalMistake, RemoteFault

GOAL = "Renovate a small bathroom"
PLACE = Place(goal=GOAL, title=GOAL)
EXECUTE = Execute(place=Place(goal=GOAL, title="Paint the bathroom walls"))
ON_TOPIC = ("Remove the old tiles", "Install a new shower and sink", "Paint the walls and the ceiling")
OFF_TOPIC = ("Book return flights to Tokyo", "Invite the guests to the party", "Buy flour, yeast and salt")


def run(test: Callable[[EmbeddedLlm], Awaitable[None]]) -> None:
    async def main() -> None:
        llm = EmbeddedLlm(threads=1)
        try:
            with trio.fail_after(120):
                await test(llm)
        finally:
            await llm.close()

    trio.run(main)


def silent(piece: str) -> None:
    """For requests whose text nobody watches."""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_split_passes_the_checks_and_is_polished_where_it_falls_short() -> None:
    async def test(llm: EmbeddedLlm) -> None:
        backend = await llm.probe()
        assert (backend.name, backend.tier) == ("embedded", "tiny")
        request = Propose(place=PLACE, strategy="by time", children_max=7, leaves_only=False)
        first = await llm.run(request, silent)
        assert isinstance(first, Split)
        assert len(first.subgoals) >= 3
        assert check_split(PLACE, first.subgoals).flagged == ()
        assert not all(part.leaf for part in first.subgoals)
        flawed = (first.subgoals[0], first.subgoals[0], *first.subgoals[1:3])
        polish = Propose(place=PLACE, strategy="by time", children_max=4, leaves_only=True, previous=flawed)
        polished = await llm.run(polish, silent)
        assert isinstance(polished, Split)
        assert first.subgoals[0].title in [part.title for part in polished.subgoals]
        assert check_split(PLACE, polished.subgoals).flagged == ()
        assert all(part.leaf for part in polished.subgoals)

    run(test)


def test_the_judge_tells_a_split_on_the_subject_from_one_that_is_not() -> None:
    async def test(llm: EmbeddedLlm) -> None:
        on, off = [
            await llm.run(Judge(place=PLACE, subgoals=tuple(Subgoal(title=title) for title in titles)), silent)
            for titles in (ON_TOPIC, OFF_TOPIC)
        ]
        assert isinstance(on, Judgement)
        assert isinstance(off, Judgement)
        assert on.specific is not None
        assert off.specific is not None
        assert on.specific > off.specific + 0.2
        assert "has little to do with the goal" in off.critique
        assert on.disjoint is on.covering is None

    run(test)


def test_a_text_is_streamed_and_a_composition_needs_no_model() -> None:
    async def test(llm: EmbeddedLlm) -> None:
        pieces: list[str] = []
        done = await llm.run(EXECUTE, pieces.append)
        assert isinstance(done, Text)
        assert len(pieces) > 10
        assert done.text.startswith("To paint the bathroom walls,")
        assert len(done.text.split()) >= 12
        assert not is_looping(done.text)
        odd = Execute(place=Place(goal="\ud83d Bad", title="Half a \udc00 character <|im_end|>"))
        assert isinstance(await llm.run(odd, silent), Text)
        joined = await llm.run(Compose(place=PLACE, parts=(Part(title="Tiles", text="White ones."),)), silent)
        assert isinstance(joined, Text)
        assert joined.text == "Tiles: White ones."

    run(test)


def test_a_goal_in_a_language_that_it_cannot_write_fails_over_to_a_labelled_checklist() -> None:
    async def test(llm: EmbeddedLlm) -> None:
        goal = "家族で京都へ三日間の旅行を計画する"
        place = Place(goal=goal, title=goal)
        split = await llm.run(Propose(place=place, strategy="by time", children_max=7, leaves_only=False), silent)
        assert isinstance(split, Split)
        assert split.model == CHECKLIST
        assert check_split(place, split.subgoals).lines == ()
        text = await llm.run(Execute(place=Place(goal=goal, title=split.subgoals[0].title)), silent)
        assert isinstance(text, Text)
        assert text.model == CHECKLIST
        assert text.text.startswith("一般的なチェックリストです。モデルが作成したものではありません")
        judgement = await llm.run(Judge(place=place, subgoals=split.subgoals), silent)
        assert isinstance(judgement, Judgement)
        assert judgement.specific is None, "of what it cannot read it says nothing"

    run(test)


def test_a_goal_that_the_model_can_hardly_hold_does_not_cost_the_worker() -> None:
    async def test(llm: EmbeddedLlm) -> None:
        long = Place(
            goal="Visit the 日本 temples of Kyoto and the gardens 京都. " * 40,
            path=("京都",),
            title="寺を訪れる計画 " * 12,
        )
        parts = tuple(Subgoal(title=f"第{n}日に寺を訪れて写真を撮り家族に送る " * 5) for n in range(12))
        judgement = await llm.run(Judge(place=long, subgoals=parts), silent)
        assert isinstance(judgement, Judgement)
        inputs = (Part(title="a", text="長い文。" * 900),) * 3
        pid = llm.worker_pid
        with contextlib.suppress(RemoteFault):  # in Japanese it may well write nothing usable
            assert isinstance(await llm.run(Execute(place=long, inputs=inputs), silent), Text)
        assert llm.worker_pid == pid

    run(test)


def test_cancellation_ends_quickly_and_the_worker_serves_on() -> None:
    async def test(llm: EmbeddedLlm) -> None:
        await llm.probe()
        pid = llm.worker_pid
        async with trio.open_nursery() as nursery:
            pieces: list[str] = []
            writes = trio.Event()

            def take(piece: str) -> None:
                pieces.append(piece)
                if len(pieces) == 3:
                    writes.set()

            nursery.start_soon(llm.run, EXECUTE, take)
            await writes.wait()
            with trio.fail_after(3):
                nursery.cancel_scope.cancel()
        assert llm.worker_pid in (pid, None)
        assert isinstance(await llm.run(EXECUTE, silent), Text)

    run(test)


def test_a_killed_worker_is_a_fault_and_the_next_request_gets_a_new_one() -> None:
    async def test(llm: EmbeddedLlm) -> None:
        await llm.probe()
        pid = llm.worker_pid
        assert pid is not None
        with pytest.raises(RemoteFault):
            await llm.run(EXECUTE, lambda piece: os.kill(pid, signal.SIGKILL))
        assert not is_alive(pid)
        assert isinstance(await llm.run(EXECUTE, silent), Text)
        assert llm.worker_pid != pid

    run(test)


def test_a_worker_dies_with_its_parent_even_in_the_middle_of_a_text() -> None:
    program = """
import trio
from swarmd.llm.embedded import EmbeddedLlm
from swarmd.roles.work import Execute, Place

async def main():
    llm = EmbeddedLlm(threads=1)
    said = False
    def take(piece):
        nonlocal said
        if not said:
            print(llm.worker_pid, flush=True)
            said = True
    while True:
        await llm.run(Execute(place=Place(goal="Renovate a small bathroom", title="Paint the walls")), take)

trio.run(main)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=_environment())
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
    finally:
        parent.kill()
        parent.communicate()

    async def wait() -> None:
        with trio.fail_after(5):
            while is_alive(pid):
                await trio.sleep(0.02)

    trio.run(wait)


def test_a_file_that_is_no_model_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 100)

    async def main() -> None:
        llm = EmbeddedLlm(path, threads=1)
        with pytest.raises(LocalMistake):
            await llm.probe()
        assert llm.worker_pid is None

    trio.run(main)


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_its_self_test_tells_how_fast_it_writes() -> None:
    async def test(llm: EmbeddedLlm) -> None:
        before = await llm.probe()
        assert (before.tier, before.token_scores, before.schema, before.tokens_per_s) == ("tiny", True, False, None)
        await llm.measure()
        speed = (await llm.probe()).tokens_per_s
        assert speed is not None and speed > 0.5

    run(test)


FORBIDDEN = """
import os, sys
def nice(increment):
    raise PermissionError(1, "Operation not permitted")
os.nice = nice
sys.argv = ["worker", "/nowhere.gguf", "1"]
from swarmd.llm.worker import main
main()
"""


def test_a_sandbox_that_forbids_niceness_does_not_end_the_worker() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FORBIDDEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as worker:
        assert worker.stdout is not None
        assert "fatal" in json.loads(worker.stdout.readline())
