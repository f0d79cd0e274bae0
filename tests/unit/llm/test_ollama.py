"""What is Ollama's own. What holds of every server is in `test_asking`."""

import re
from collections.abc import Sequence

import pytest
import trio

from swarmd.llm.ollama import OllamaLlm
from swarmd.ports import Candidate, Picked
from swarmd.roles.work import Split
from swarmd.vocab.faults import LocalMistake, RemoteFault
from tests.unit.llm.fake_ollama import FakeOllama
from tests.unit.llm.fake_server import Reply, run_with, whole_out
from tests.unit.llm.test_asking import EXECUTE, JUDGE, MODELS, PATIENT, PROPOSE, SPLIT, silent

MARKS = '{"critique": "ok", "specific": 0.7, "disjoint": 0.6, "covering": 0.5}'


def adapter(fake: FakeOllama, model: str | None = None, context_tokens: int | None = None) -> OllamaLlm:
    return OllamaLlm(fake.host, model, context_tokens=context_tokens, deadlines=PATIENT)


def test_every_request_of_a_model_has_the_same_context_and_keeps_it_loaded() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        backend = await llm.probe()
        await llm.measure()
        for request in (PROPOSE, JUDGE, EXECUTE):
            await llm.run(request, silent)
        assert {asked["options"]["num_ctx"] for asked in fake.asked} == {backend.context_tokens} == {4_096}
        assert {asked["keep_alive"] for asked in fake.asked} == {"15m"}
        assert all(asked["options"]["num_predict"] > 0 for asked in fake.asked)
        assert fake.loads == 1
        assert fake.forgot == 0
        await llm.close()

    run_with(FakeOllama(MODELS, ["one two three", SPLIT, MARKS, "Done."]), test)


def test_what_the_backend_can_do_is_told() -> None:
    async def test(fake: FakeOllama) -> None:
        backend = await adapter(fake).probe()
        assert (backend.name, backend.model, backend.tier, backend.slots) == ("ollama", "qwen3:4b", "small", 1)
        assert (backend.schema, backend.token_scores, backend.local) == (True, False, True)
        assert backend.why
        assert not fake.asked  # it loads nothing

    run_with(FakeOllama(MODELS, [SPLIT]), test)


@pytest.mark.parametrize(
    ("own", "wanted", "given"), [(2_048, None, 2_048), (40_960, 6_000, 6_000), (2_048, 6_000, 2_048)]
)
def test_the_context_is_what_is_wanted_and_never_over_what_the_model_has(
    own: int, wanted: int | None, given: int
) -> None:
    async def test(fake: FakeOllama) -> None:
        assert (await adapter(fake, context_tokens=wanted).probe()).context_tokens == given

    run_with(FakeOllama(MODELS, [SPLIT], context=own), test)


def test_a_thinking_model_is_told_not_to_and_is_read_if_it_does_all_the_same() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        for _ in range(2):
            assert isinstance(await llm.run(PROPOSE, silent), Split)
        assert [asked["think"] for asked in fake.asked] == [False, False, False]
        assert len(fake.asked) == 3  # the unclosed block was asked again
        await llm.close()

    thinking = Reply(SPLIT, thought="The user wants a split {…}")
    script: list[str | Reply] = ["<think>hm {", f"<think>hm {{}}</think>```json\n{SPLIT}\n```", thinking]
    run_with(FakeOllama(MODELS, script, ("thinking",)), test)


def test_a_model_that_cannot_think_is_not_asked_about_it() -> None:
    async def test(fake: FakeOllama) -> None:  # which would refuse
        llm = adapter(fake)
        assert isinstance(await llm.run(PROPOSE, silent), Split)
        assert "think" not in fake.asked[0]
        await llm.close()

    run_with(FakeOllama(MODELS, [SPLIT]), test)


def test_gpt_oss_is_asked_to_think_little_since_it_cannot_do_without() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        await llm.run(PROPOSE, silent)
        assert fake.asked[0]["think"] == "low"
        await llm.close()

    run_with(FakeOllama({"gpt-oss:20b": "20.9B"}, [SPLIT], ("completion", "thinking")), test)


def test_a_model_that_is_not_pulled_is_named_with_the_command_that_pulls_it() -> None:
    async def test(fake: FakeOllama) -> None:
        with pytest.raises(LocalMistake, match="ollama pull gemma3:1b"):
            await adapter(fake, "gemma3:1b").probe()
        fake.models = {}
        with pytest.raises(LocalMistake, match="ollama pull"):
            await adapter(fake).probe()

    run_with(FakeOllama(MODELS, [SPLIT]), test)


def test_nobody_at_the_address_is_a_mistake_that_names_it() -> None:
    async def test() -> None:
        for host in ("127.0.0.1:9", "http://127.0.0.1:9"):
            with pytest.raises(LocalMistake, match=re.escape("127.0.0.1:9")):
                await OllamaLlm(host).probe()

    trio.run(test)


def test_a_server_that_goes_away_in_the_middle_is_a_fault() -> None:
    async def test() -> None:
        fake = FakeOllama(MODELS, [Reply(SPLIT, load_s=30)])
        with trio.fail_after(60):
            async with fake.open():
                llm = adapter(fake)
                await llm.probe()
            with pytest.raises(RemoteFault, match="does not answer"):
                await llm.run(PROPOSE, silent)
            await llm.close()

    trio.run(test)


def test_without_a_wish_what_is_picked_among_the_writers_of_this_home_is_taken() -> None:
    models = {
        "gemma3:1b": "999.89M",
        "qwen3:8b": "8.2B",
        "llama3.1:405b": "405.9B",
        "gpt-oss:120b-cloud": "20B",
        "nomic-embed-text:latest": "137M",
        "mxbai-embed-large": "30B",
    }
    offered: list[Candidate] = []

    def pick(candidates: Sequence[Candidate], local: bool) -> Picked:
        offered.extend(candidates)
        assert local
        return Picked("gemma3:1b", "it is small")

    async def test(fake: FakeOllama) -> None:
        assert (await adapter(fake).probe()).model == "qwen3:8b"
        assert (await adapter(fake).probe()).tier == "good"
        assert (await adapter(fake, "gemma3:1b").probe()).tier == "tiny"
        backend = await OllamaLlm(fake.host, pick=pick).probe()
        assert (backend.model, backend.why) == ("gemma3:1b", "it is small")
        assert [each.name for each in offered] == ["gemma3:1b", "qwen3:8b", "llama3.1:405b"]

    run_with(FakeOllama(models, [SPLIT]), test)


def test_a_self_test_tells_how_fast_it_is_and_whether_it_lies_in_the_gpu() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        await llm.measure()
        backend = await llm.probe()
        assert (backend.tokens_per_s, backend.gpu) == (8.0, 1.0)  # by the server's own count, loading left out
        await llm.close()

    run_with(FakeOllama(MODELS, [Reply("one, two", load_s=0.2)], in_vram=1), test)


def test_an_answer_is_by_the_model_that_was_asked_whatever_is_chosen_meanwhile() -> None:
    async def test(fake: FakeOllama) -> None:
        llm = adapter(fake)
        assert (await llm.probe()).model == "qwen3:4b"
        fake.models["qwen3:8b"] = "8.2B"

        def reply(request: object) -> Reply | str:
            return Reply(fault="crash") if len(fake.asked) == 1 else SPLIT

        fake.script = reply
        answers: list[object] = []
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                answers.append(await llm.run(PROPOSE, silent))

            nursery.start_soon(run)
            assert (await llm.probe()).model == "qwen3:8b"
        assert [asked["model"] for asked in fake.asked] == ["qwen3:4b", "qwen3:4b"]
        (answer,) = answers
        assert isinstance(answer, Split) and answer.model == "qwen3:4b"
        await llm.close()

    run_with(FakeOllama(dict(MODELS), []), test)


def test_a_page_of_another_server_is_no_ollama() -> None:
    class Other(FakeOllama):
        async def route(self, *request: object) -> None:
            await whole_out(request[-1], 200, "<html>a router</html>")  # type: ignore[arg-type]

    async def test(fake: FakeOllama) -> None:
        with pytest.raises(LocalMistake, match="is no Ollama"):
            await adapter(fake).probe()

    run_with(Other(MODELS, []), test)
