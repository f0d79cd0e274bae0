"""What holds of every model server, whatever it does: the same faults over real HTTP, once as Ollama, once as a server
of OpenAI's API."""

import itertools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from swarmd.events.kinds import Subgoal
from swarmd.llm.asking import BUSY_RETRIES_MAX, RETRIES_MAX, Asker, Busy, Deadlines, Piece
from swarmd.llm.ollama import OllamaLlm
from swarmd.llm.openai import OpenAiLlm
from swarmd.llm.prompts import Prompt
from swarmd.ports import Llm
from swarmd.roles.work import Execute, Judge, Judgement, Place, Propose, Request, Split, Text
from swarmd.vocab.faults import LocalMistake, RemoteFault
from tests.unit.llm import fake_ollama, fake_openai
from tests.unit.llm.fake_server import PIECES_LONG, FakeServer, Fault, Reply, Script

GOAL = "Plan a two-week trip to Japan"
PLACE = Place(goal=GOAL, title=GOAL)
PROPOSE = Propose(place=PLACE, strategy="by time", children_max=7, leaves_only=False)
EXECUTE = Execute(place=Place(goal=GOAL, title="Buy rail passes"))
JUDGE = Judge(place=PLACE, subgoals=(Subgoal(title="Buy rail passes"), Subgoal(title="Book hotels")))
SPLIT = json.dumps(
    {"subgoals": [{"title": t} for t in ("Book return flights", "Reserve hotels in Kyoto", "Buy rail passes")]}
)
MODELS = {"qwen3:4b": "4.0B"}
PATIENT = Deadlines(first_token=30, next_token=30, backoff=0.01)  # with a crowded machine, not with a silent server
QUICK = Deadlines(first_token=0.4, next_token=0.4, backoff=0.01)  # for servers that never speak

Test = Callable[[Llm, FakeServer], Awaitable[None]]


def silent(piece: str) -> None:
    """For requests whose text nobody watches."""


@pytest.fixture(params=["ollama", "openai"])
def serve(request: pytest.FixtureRequest) -> Callable[[Script, Test], None]:
    """Runs a test beside a scripted server of either kind, with an adapter that is closed afterwards."""

    def run(script: Script, test: Test, deadlines: Deadlines = PATIENT) -> None:
        async def main() -> None:
            kind = fake_ollama.FakeOllama if request.param == "ollama" else fake_openai.FakeOpenAi
            fake: FakeServer = kind(MODELS, script)
            with trio.fail_after(60):
                async with fake.open():
                    adapter = OllamaLlm if request.param == "ollama" else OpenAiLlm
                    llm: Llm = adapter(fake.host, deadlines=deadlines)
                    try:
                        await test(llm, fake)
                    finally:
                        await llm.close()

        trio.run(main)

    return run


async def fault_of(llm: Llm, request: Request = PROPOSE) -> str:
    with pytest.raises(RemoteFault) as fault:
        await llm.run(request, silent)
    return str(fault.value)


def test_a_split_is_streamed_held_to_a_form_and_bounded(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        answer = await llm.run(PROPOSE, silent)
        assert isinstance(answer, Split)
        assert [part.title for part in answer.subgoals][2] == "Buy rail passes"
        assert answer.model == "qwen3:4b"
        assert answer.usage.tokens in (64, 42)
        asked = fake.asked[0]
        assert asked["stream"] is True
        form = asked.get("format") or asked["response_format"]["json_schema"]["schema"]
        assert form["required"] == ["subgoals"]
        assert 0 < (asked.get("max_tokens") or asked["options"]["num_predict"]) <= 2_048
        await llm.run(EXECUTE, silent)
        assert not fake.asked[1].get("format") and "response_format" not in fake.asked[1]

    serve([SPLIT, "Buy them online."], test)


def test_a_text_is_streamed_piece_by_piece(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        pieces: list[str] = []
        answer = await llm.run(EXECUTE, pieces.append)
        assert isinstance(answer, Text)
        assert "".join(pieces) == answer.text == "Buy two passes online, ünd collect them."
        assert len(pieces) > 3

    serve(["Buy two passes online, ünd collect them."], test)


@pytest.mark.parametrize(
    "disguise",
    [
        f"```json\n{SPLIT}\n```",
        f"<think>hm {{}}</think>{SPLIT}",
        f"Sure! Here it is:\n{SPLIT}\n[Note: adjust as needed]",
        f"{{{SPLIT}}}",
        SPLIT.replace('"title": "Buy rail passes"', '"title": "Buy rail passes", "detail": "run `ls` ```now```"'),
    ],
    ids=["fenced", "thought", "prose around it", "doubled braces", "backticks inside"],
)
def test_an_answer_in_disguise_is_read_at_once(serve: Any, disguise: str) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        assert isinstance(await llm.run(PROPOSE, silent), Split)
        assert len(fake.asked) == 1

    serve([disguise], test)


def test_a_server_that_is_busy_five_times_is_waited_for(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        assert isinstance(await llm.run(PROPOSE, silent), Split)
        assert len(fake.asked) == 6

    serve([Reply(fault="busy")] * 5 + [SPLIT], test)


def test_waits_for_a_busy_server_double_and_two_peers_do_not_wait_in_step() -> None:
    def waits() -> list[float]:
        asked: list[float] = []

        async def send(prompt: Prompt, seed: int) -> AsyncGenerator[Piece, None]:
            asked.append(trio.current_time())
            if asked:
                raise Busy("too much to do")
            yield Piece()

        async def main() -> None:
            with pytest.raises(Busy):
                await Asker("it", Deadlines()).ask(PROPOSE, "m", 4_096, send, silent)

        trio.run(main, clock=MockClock(autojump_threshold=0))
        return [after - before for before, after in itertools.pairwise(asked)]

    first, second = waits(), waits()
    assert len(first) == BUSY_RETRIES_MAX
    assert all(0.5 * 2**n <= wait <= 1.5 * 2**n for n, wait in enumerate(first))
    assert first != second


BROKEN: list[Reply] = [
    Reply(fault=fault)
    for fault in (
        "no done",
        "closed",
        "bad line",
        "no object",
        "deep line",
        "error line",
        "crash",
        "gateway",
        "dropped",
    )
] + [Reply("No JSON."), Reply('{"subgoals": "none"}'), Reply("<think>on and on {")]


@pytest.mark.parametrize("reply", BROKEN, ids=lambda reply: reply.fault or reply.text)
def test_a_broken_answer_is_asked_for_twice_more_and_no_oftener(serve: Any, reply: Reply) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        await fault_of(llm)
        assert len(fake.asked) == 1 + RETRIES_MAX

    serve([reply], test)


@pytest.mark.parametrize("reply", BROKEN, ids=lambda reply: reply.fault or reply.text)
def test_a_broken_answer_followed_by_a_whole_one_is_enough(serve: Any, reply: Reply) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        assert isinstance(await llm.run(PROPOSE, silent), Split)
        seeds = [asked.get("seed") or asked["options"]["seed"] for asked in fake.asked]
        assert len(set(seeds)) == 2  # the same chance would give the same answer

    serve([reply, SPLIT], test)


def test_an_empty_answer_is_asked_for_once_more(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        assert "answered nothing" in await fault_of(llm)
        assert "wrote nothing" in await fault_of(llm, EXECUTE)
        assert len(fake.asked) == 4

    serve([Reply("")], test)


def test_what_could_not_be_read_is_kept_escaped(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        assert r"it said 'I would rather\nnot \x1b[31m.'" in await fault_of(llm)

    serve(["I would rather\nnot \x1b[31m."], test)


@pytest.mark.parametrize("fault", ["no done", "closed", "bad line", "error line"])
def test_a_text_that_viewers_saw_break_off_is_not_written_again(serve: Any, fault: Fault) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        await fault_of(llm, EXECUTE)
        assert len(fake.asked) == 1

    serve([Reply("Buy two passes online.", fault)], test)


def test_a_split_cut_at_its_limit_is_asked_for_with_more_room_and_never_repaired(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        assert isinstance(await llm.run(PROPOSE, silent), Split)
        first, second = (asked.get("max_tokens") or asked["options"]["num_predict"] for asked in fake.asked)
        assert second > first

    serve([Reply(SPLIT[:-3], "length"), SPLIT], test)


def test_a_text_cut_at_its_limit_says_so(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        answer = await llm.run(EXECUTE, silent)
        assert isinstance(answer, Text)
        assert answer.text.endswith("[cut: the model had no room to finish]")

    serve([Reply("Buy two passes online, and then", "length")], test)


def test_a_cold_load_is_waited_for(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        assert isinstance(await llm.run(PROPOSE, silent), Split)
        assert len(fake.asked) == 1

    serve([Reply(SPLIT, load_s=1.5)], test, Deadlines(first_token=30, next_token=1, backoff=0.01))


@pytest.mark.parametrize("fault", ["hang", "stall"])
def test_a_server_that_falls_silent_is_given_up_in_time_and_let_go(serve: Any, fault: Fault) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        assert "said nothing for 0.4 s" in await fault_of(llm)
        assert len(fake.asked) == 1
        await fake.cut_off.wait()

    serve([Reply(fault=fault)], test, QUICK)


@pytest.mark.parametrize("reply", [Reply(fault="runaway"), Reply(SPLIT, load_s=60)], ids=["writing", "loading"])
def test_cancellation_stops_the_server(serve: Any, reply: Reply) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(llm.run, EXECUTE, silent)
            while not fake.asked or (reply.fault and fake.sent < 3):
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
        await fake.cut_off.wait()
        assert fake.sent < PIECES_LONG

    serve([reply], test, Deadlines(first_token=30, next_token=1))


def test_an_answer_that_runs_away_is_ended_by_us(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        assert "ran over" in await fault_of(llm, EXECUTE)
        await fake.cut_off.wait()

    serve([Reply("x" * 200_000)], test)


def test_an_answer_that_drips_for_ever_is_ended_by_us(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        assert "did not finish within 0.5 s" in await fault_of(llm)
        await fake.cut_off.wait()

    serve([Reply(fault="runaway", piece_s=0.05)], test, Deadlines(first_token=2, next_token=2, whole=0.5))


def test_a_line_without_an_end_is_given_up_before_it_fills_the_memory(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        await fault_of(llm, EXECUTE)
        await fake.cut_off.wait()

    serve([Reply("one", "endless line")], test)


def test_a_model_that_is_let_go_in_the_middle_of_its_work_is_a_fault_of_the_model(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                with pytest.raises(RemoteFault):
                    await llm.run(PROPOSE, silent)

            nursery.start_soon(run)
            while fake.sent < 2:
                await trio.sleep(0.01)
            await llm.close()
        await fault_of(llm)

    serve([Reply(fault="runaway")], test)


@pytest.mark.parametrize("mark", ["98989", "-1", '"8/10"', '"0.7"', "NaN", "Infinity", "true", "null", "1.01"])
def test_a_mark_out_of_range_is_void_and_the_others_count(serve: Any, mark: str) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        answer = await llm.run(JUDGE, silent)
        assert isinstance(answer, Judgement)
        assert (answer.specific, answer.disjoint, answer.covering) == (None, 0.5, 1.0)

    serve([f'{{"critique": "ok", "specific": {mark}, "disjoint": 0.5, "covering": 1}}'], test)


def test_marks_of_which_none_is_valid_are_asked_for_again(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        assert "no valid mark" in await fault_of(llm, JUDGE)
        assert len(fake.asked) == 1 + RETRIES_MAX

    serve(['{"critique": "ok", "specific": 7, "disjoint": "7/10", "covering": -1}'], test)


def test_a_self_test_measures_64_tokens_and_is_remembered(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        assert (await llm.probe()).tokens_per_s is None
        await llm.measure()
        speed = (await llm.probe()).tokens_per_s
        assert speed is not None and speed > 1
        assert (fake.asked[0].get("max_tokens") or fake.asked[0]["options"]["num_predict"]) == 64
        assert (await llm.probe()).tokens_per_s == speed
        assert len(fake.asked) == 1

    serve([Reply("one, two, three, four, five", piece_s=0.01)], test)


@pytest.mark.parametrize("fault", ["busy", "crash", "hang", "closed", "dropped"])
def test_a_self_test_that_comes_to_nothing_leaves_the_speed_unknown(serve: Any, fault: Fault) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        with pytest.raises(RemoteFault):
            await llm.measure()
        assert (await llm.probe()).tokens_per_s is None

    serve([Reply("one", fault)], test, QUICK)


def test_a_model_that_was_removed_is_a_mistake_that_says_what_to_do(serve: Any) -> None:
    async def test(llm: Llm, fake: FakeServer) -> None:
        await llm.probe()
        with pytest.raises(LocalMistake, match=r"ollama pull qwen3:4b|load it there"):
            await llm.run(PROPOSE, silent)
        assert len(fake.asked) == 1

    serve([Reply(fault="missing")], test)


def test_a_proxy_variable_does_not_take_loopback_away(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")

    async def test(llm: Llm, fake: FakeServer) -> None:
        assert isinstance(await llm.run(PROPOSE, silent), Split)

    serve([SPLIT], test)


@pytest.mark.parametrize("filler", ["word ", "слово ", "日本語 ", "🗾"], ids=["Latin", "Cyrillic", "Japanese", "emoji"])
def test_a_prompt_longer_than_the_context_is_trimmed_by_us_and_keeps_the_goal(serve: Any, filler: str) -> None:
    long = Propose(
        place=Place(goal=GOAL, path=("Prepare",), title="Book", detail=filler * 9_000, siblings=(filler * 300,) * 12),
        strategy="by time",
        children_max=7,
        leaves_only=False,
        previous=(Subgoal(title=filler * 60),) * 12,
        critiques=(filler * 400,) * 8,
    )

    async def test(llm: Llm, fake: FakeServer) -> None:
        backend = await llm.probe()
        assert isinstance(await llm.run(long, silent), Split)
        asked = fake.asked[0]
        said = "".join(message["content"] for message in asked["messages"])
        assert f"«{GOAL}»" in said
        answer_tokens = asked.get("max_tokens") or asked["options"]["num_predict"]
        assert len(said.encode()) / 3 + answer_tokens <= backend.context_tokens

    serve([SPLIT], test)
