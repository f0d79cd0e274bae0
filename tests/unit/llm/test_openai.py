"""What is peculiar to servers of OpenAI's API. What holds of every server is in `test_asking`."""

import pytest
import trio

from swarmd.llm.openai import OpenAiLlm
from swarmd.roles.work import Split, Text
from swarmd.vocab.faults import LocalMistake, RemoteFault
from tests.unit.llm.fake_openai import FakeOpenAi, Manner
from tests.unit.llm.fake_server import Reply, run_with, whole_out
from tests.unit.llm.test_asking import EXECUTE, PATIENT, PROPOSE, SPLIT, silent

ONE = {"Qwen2.5-7B-Instruct": ""}


def adapter(fake: FakeOpenAi, model: str | None = None, key: str = "") -> OpenAiLlm:
    return OpenAiLlm(fake.host, model, key=key, deadlines=PATIENT)


@pytest.mark.parametrize(
    ("manner", "context", "slots"),
    [("llamacpp", 6_144, 4), ("lmstudio", 3_000, 1), ("vllm", 6_000, 4), ("bare", 4_096, 1)],
)
def test_context_and_slots_are_what_each_server_tells_of_itself(manner: Manner, context: int, slots: int) -> None:
    async def test(fake: FakeOpenAi) -> None:
        backend = await adapter(fake).probe()
        assert (backend.name, backend.model, backend.tier) == ("openai", "Qwen2.5-7B-Instruct", "good")
        assert (backend.context_tokens, backend.slots) == (context, slots)
        assert backend.schema and backend.local
        assert "the only one" in backend.why
        assert not fake.asked

    run_with(FakeOpenAi(ONE, [SPLIT], manner), test)


def test_the_address_may_end_in_v1() -> None:
    async def test(fake: FakeOpenAi) -> None:
        llm = OpenAiLlm(f"{fake.host}/v1/", deadlines=PATIENT)
        assert isinstance(await llm.run(PROPOSE, silent), Split)
        await llm.close()

    run_with(FakeOpenAi(ONE, [SPLIT]), test)


@pytest.mark.parametrize(
    "minds", [("response_format",), ("chat_template_kwargs",), ("stream_options", "response_format")]
)
def test_what_a_server_refuses_is_left_out_from_then_on(minds: tuple[str, ...]) -> None:
    async def test(fake: FakeOpenAi) -> None:
        llm = adapter(fake)
        for _ in range(2):
            assert isinstance(await llm.run(PROPOSE, silent), Split)
        asked = fake.asked[len(minds) :]
        assert len(asked) == 2  # the refusals came once
        courtesies = {"response_format", "chat_template_kwargs", "stream_options"}
        assert all(courtesies & request.keys() == courtesies - set(minds) for request in asked)
        assert (await llm.probe()).schema == ("response_format" not in minds)
        await llm.close()

    run_with(FakeOpenAi(ONE, [SPLIT], minds=minds), test)


def test_a_refusal_for_another_reason_costs_no_courtesy() -> None:
    async def test(fake: FakeOpenAi) -> None:
        llm = adapter(fake)
        with pytest.raises(RemoteFault, match="exceeds the available context size"):
            await llm.run(PROPOSE, silent)
        assert len(fake.asked) == 1
        await llm.run(PROPOSE, silent)
        assert "response_format" in fake.asked[1]
        await llm.close()

    run_with(FakeOpenAi(ONE, [Reply(fault="refused"), SPLIT]), test)


def test_a_key_is_sent_and_its_absence_is_named() -> None:
    async def test(fake: FakeOpenAi) -> None:
        llm = adapter(fake, key="secret")
        assert isinstance(await llm.run(PROPOSE, silent), Split)
        await llm.close()
        for wrong in ("", "other"):
            with pytest.raises(LocalMistake, match="key_file") as mistake:
                await adapter(fake, key=wrong).probe()
            assert "other" not in str(mistake.value)

    run_with(FakeOpenAi(ONE, [SPLIT], key="secret"), test)


def test_a_model_that_it_does_not_have_is_named_beside_those_that_it_has() -> None:
    async def test(fake: FakeOpenAi) -> None:
        assert (await adapter(fake, "tiny-1b").probe()).model == "tiny-1b"
        with pytest.raises(LocalMistake, match=r"no model qwen9.*it has big-30b, tiny-1b"):
            await adapter(fake, "qwen9").probe()
        assert (await adapter(fake).probe()).model == "big-30b"
        fake.models = {"text-embedding-nomic": ""}
        with pytest.raises(LocalMistake, match="no model loaded"):
            await adapter(fake).probe()

    run_with(FakeOpenAi({"tiny-1b": "", "big-30b": "", "nomic-embed": ""}, [SPLIT]), test)


def test_a_server_that_is_loading_is_told_apart_from_one_that_is_wrong() -> None:
    async def test(fake: FakeOpenAi) -> None:
        fake.loading = True
        with pytest.raises(LocalMistake, match="still loading"):
            await adapter(fake).probe()

    run_with(FakeOpenAi(ONE, []), test)


def test_a_packed_answer_is_not_unpacked() -> None:
    class Packing(FakeOpenAi):
        async def route(self, *request: object) -> None:
            body = b"\x1f\x8b\x08\x00 whatever it grows to"
            head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
            await request[-1].send_all(head.encode() + body)  # type: ignore[attr-defined]

    async def test(fake: FakeOpenAi) -> None:
        with pytest.raises(LocalMistake, match="no model server answers"):
            await adapter(fake).probe()

    run_with(Packing(ONE, []), test)


def test_without_a_count_the_pieces_are_counted() -> None:
    async def test(fake: FakeOpenAi) -> None:
        llm = adapter(fake)
        answer = await llm.run(EXECUTE, silent)
        assert isinstance(answer, Text)
        assert answer.usage.tokens == 4
        await llm.close()

    run_with(FakeOpenAi(ONE, ["Buy two passes online now"], counts=False), test)


def test_nobody_at_the_address_and_somebody_else_are_mistakes_that_say_so() -> None:
    async def test() -> None:
        with pytest.raises(LocalMistake, match=r"no model server answers at http://127\.0\.0\.1:9"):
            await OpenAiLlm("http://127.0.0.1:9").probe()

    trio.run(test)

    class Router(FakeOpenAi):
        async def route(self, *request: object) -> None:
            await whole_out(request[-1], 200, "<html>a router</html>")  # type: ignore[arg-type]

    async def other(fake: FakeOpenAi) -> None:
        with pytest.raises(LocalMistake, match="lists no models"):
            await adapter(fake).probe()

    run_with(Router(ONE, []), other)
