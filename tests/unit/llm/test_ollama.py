import json
import re
from typing import Any

import pytest
import trio

from swarmd.events.kinds import Subgoal
from swarmd.llm import choose
from swarmd.llm.ollama import Deadlines, OllamaLlm
from swarmd.roles.work import Execute, Judge, Judgement, Place, Propose, Split, Text
from swarmd.vocab.faults import LocalMistake, RemoteFault
from tests.unit.llm.fake_ollama import PIECES_LONG, FakeOllama, run_with

GOAL = "Plan a two-week trip to Japan"
PLACE = Place(goal=GOAL, title=GOAL)
PROPOSE = Propose(place=PLACE, strategy="by time", children_max=7, leaves_only=False)
EXECUTE = Execute(place=Place(goal=GOAL, title="Buy rail passes"))
JUDGE = Judge(place=PLACE, subgoals=(Subgoal(title="Buy rail passes"), Subgoal(title="Book hotels")))
SPLIT = json.dumps(
    {"subgoals": [{"title": t} for t in ("Book return flights", "Reserve hotels in Kyoto", "Buy rail passes")]}
)
MODELS = {"qwen3:4b": "4.0B"}
QUICK = Deadlines(first_token=0.3, next_token=0.3, backoff=0.01)


def adapter(fake: FakeOllama, model: str | None = None) -> OllamaLlm:
    return OllamaLlm(fake.host, model, deadlines=QUICK)


def silent(piece: str) -> None:
    """For requests whose text nobody watches."""


async def fails(fake: FakeOllama, request: Any = PROPOSE) -> str:
    llm = adapter(fake)
    with pytest.raises(RemoteFault) as fault:
        await llm.run(request, silent)
    await llm.close()
    return str(fault.value)


def test_a_split_is_asked_for_with_a_schema_one_context_and_bounds() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        backend = await llm.probe()
        assert (backend.name, backend.model, backend.tier, backend.slots) == ("ollama", "qwen3:4b", "small", 1)
        answer = await llm.run(PROPOSE, silent)
        assert isinstance(answer, Split)
        assert [part.title for part in answer.subgoals][2] == "Buy rail passes"
        assert answer.model == "qwen3:4b"
        assert answer.usage.tokens > 0
        asked = fake.asked[0]
        assert asked["format"]["required"] == ["subgoals"]
        assert asked["options"]["num_ctx"] == 4_096
        assert 0 < asked["options"]["num_predict"] <= 2_048
        assert "think" not in asked
        assert asked["keep_alive"]
        await llm.run(EXECUTE, silent)
        assert fake.asked[1]["options"]["num_ctx"] == 4_096
        assert not fake.asked[1].get("format")
        await llm.close()

    run_with(FakeOllama(MODELS, [SPLIT, "Buy them online."]), test)


def test_a_text_is_streamed_piece_by_piece() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        pieces: list[str] = []
        answer = await llm.run(EXECUTE, pieces.append)
        assert isinstance(answer, Text)
        assert "".join(pieces) == answer.text == "Buy two passes online, ünd collect them."
        assert len(pieces) > 3
        await llm.close()

    run_with(FakeOllama(MODELS, ["Buy two passes online, ünd collect them."]), test)


def test_a_thinking_model_is_told_not_to_and_is_read_if_it_does_all_the_same() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        answer = await llm.run(PROPOSE, silent)
        assert isinstance(answer, Split)
        assert fake.asked[0]["think"] is False
        assert len(fake.asked) == 2  # the unclosed block was asked again
        await llm.close()

    run_with(FakeOllama(MODELS, ["<think>hm {", f"<think>hm {{}}</think>```json\n{SPLIT}\n```"], ("thinking",)), test)


def test_a_model_that_is_not_pulled_is_named_with_the_command_that_pulls_it() -> None:
    async def test(fake: FakeOllama) -> None:
        with pytest.raises(LocalMistake, match="ollama pull gemma3:1b"):
            await adapter(fake, "gemma3:1b").probe()
        fake.models = {}
        with pytest.raises(LocalMistake, match="ollama pull"):
            await adapter(fake).probe()

    run_with(FakeOllama(MODELS, [SPLIT]), test)


def test_a_model_that_is_removed_while_in_use_is_a_fault_with_the_command() -> None:
    async def test(fake: FakeOllama) -> None:
        assert "ollama pull qwen3:4b" in await fails(fake)
        assert len(fake.asked) == 1

    run_with(FakeOllama(MODELS, ["missing"]), test)


def test_nobody_at_the_address_is_a_mistake_that_names_it() -> None:
    async def test() -> None:
        for host in ("127.0.0.1:9", "http://127.0.0.1:9"):
            with pytest.raises(LocalMistake, match=re.escape("127.0.0.1:9")):
                await OllamaLlm(host).probe()

    trio.run(test)


def test_without_a_wish_the_largest_sensible_model_is_taken() -> None:
    models = {
        "gemma3:1b": "999.89M",
        "qwen3:8b": "8.2B",
        "llama3.1:405b": "405.9B",
        "gpt-oss:120b-cloud": "20B",
        "nomic-embed-text:latest": "137M",
        "mxbai-embed-large": "30B",
    }

    async def test(fake: FakeOllama) -> None:
        assert (await adapter(fake).probe()).model == "qwen3:8b"
        assert (await adapter(fake).probe()).tier == "good"
        assert (await adapter(fake, "gemma3:1b").probe()).tier == "tiny"

    run_with(FakeOllama(models, [SPLIT]), test)


def test_a_busy_server_is_asked_again_a_little_later() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        assert isinstance(await llm.run(PROPOSE, silent), Split)
        assert len(fake.asked) == 3
        await llm.close()

    run_with(FakeOllama(MODELS, ["busy", "busy", SPLIT]), test)


def test_a_server_that_is_busy_five_times_serves_the_next_request_but_one() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        with pytest.raises(RemoteFault, match="busy"):
            await llm.run(PROPOSE, silent)
        assert len(fake.asked) == 3
        assert isinstance(await llm.run(PROPOSE, silent), Split)
        await llm.close()

    run_with(FakeOllama(MODELS, ["busy"] * 5 + [SPLIT]), test)


@pytest.mark.parametrize(
    "reply", ["no done", "truncated", "bad line", "no object", "error line", "crash", "", "No JSON."]
)
def test_a_broken_answer_is_asked_for_at_most_twice_more(reply: str) -> None:
    async def test(fake: FakeOllama) -> None:
        await fails(fake)
        assert len(fake.asked) <= 3

    run_with(FakeOllama(MODELS, [reply]), test)


@pytest.mark.parametrize("reply", ["no done", "truncated", "bad line", "crash", ""])
def test_a_broken_answer_followed_by_a_whole_one_is_enough(reply: str) -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        assert isinstance(await llm.run(PROPOSE, silent), Split)
        assert len({json.dumps(asked["options"]["seed"]) for asked in fake.asked}) == 2
        await llm.close()

    run_with(FakeOllama(MODELS, [reply, SPLIT]), test)


@pytest.mark.parametrize("reply", ["no done", "truncated", "bad line"])
def test_a_text_that_viewers_saw_break_off_is_not_written_again(reply: str) -> None:
    async def test(fake: FakeOllama) -> None:
        await fails(fake, EXECUTE)
        assert len(fake.asked) == 1

    run_with(FakeOllama(MODELS, [reply]), test)


def test_a_split_cut_at_its_limit_is_asked_for_with_more_room() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        assert isinstance(await llm.run(PROPOSE, silent), Split)
        first, second = (asked["options"]["num_predict"] for asked in fake.asked)
        assert second > first
        await llm.close()

    run_with(FakeOllama(MODELS, ['{"subgoals": [{"title": "Bo…', SPLIT]), test)


@pytest.mark.parametrize("reply", ["hang", "stall"])
def test_a_server_that_falls_silent_is_given_up_in_time(reply: str) -> None:
    async def test(fake: FakeOllama) -> None:
        assert "said nothing for 0.3 s" in await fails(fake)
        assert len(fake.asked) == 1

    run_with(FakeOllama(MODELS, [reply]), test, seconds=5)


def test_cancellation_stops_the_server() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        started = trio.Event()
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                await llm.run(EXECUTE, lambda piece: started.set())

            nursery.start_soon(run)
            await started.wait()
            nursery.cancel_scope.cancel()
        await fake.cut_off.wait()
        assert fake.sent < PIECES_LONG
        await llm.close()

    run_with(FakeOllama(MODELS, ["long"]), test)


def test_a_judge_that_always_gives_the_same_marks_loses_them() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        for count in range(6):
            answer = await llm.run(JUDGE, silent)
            assert isinstance(answer, Judgement)
            assert answer.specific == (0.7 if count < 4 else None)
            assert answer.critique == "ok"
        await llm.close()

    run_with(FakeOllama(MODELS, ['{"critique": "ok", "specific": 0.7, "disjoint": 0.7, "covering": 0.7}']), test)


def test_what_is_asked_of_auto_is_what_answers() -> None:
    async def test(fake: FakeOllama) -> None:
        chosen = await choose("auto", host=fake.host)
        assert isinstance(chosen, OllamaLlm)
        await chosen.close()

    run_with(FakeOllama(MODELS, [SPLIT]), test)
