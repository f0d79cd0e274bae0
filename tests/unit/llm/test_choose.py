from collections.abc import Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from swarmd.llm import choose
from swarmd.llm.auto import AutoLlm
from swarmd.llm.embedded import EmbeddedLlm, check_machine
from swarmd.llm.ollama import OllamaLlm
from swarmd.llm.openai import OpenAiLlm
from swarmd.llm.scripted import ScriptedLlm
from swarmd.roles.work import Answer, Backend, Request
from swarmd.vocab.faults import LocalMistake
from tests.unit.llm.fake_ollama import FakeOllama
from tests.unit.llm.fake_openai import FakeOpenAi
from tests.unit.llm.fake_server import FakeServer, run_with
from tests.unit.llm.test_asking import EXECUTE, silent

NOBODY = "127.0.0.1:9"


MODELS = {"qwen3:4b": "4.0B"}


class Spare:
    """A tiny model that needs no worker; whether one is loaded."""

    def __init__(self) -> None:
        self.loaded = False

    async def probe(self) -> Backend:
        self.loaded = True
        return Backend(name="embedded", model="spare", tier="tiny", why="it comes with swarmd")

    async def measure(self) -> None: ...

    async def run(self, request: Request, on_text: Callable[[str], None]) -> Answer:
        await trio.sleep_forever()
        raise AssertionError

    async def close(self) -> None:
        self.loaded = False


def test_a_backend_is_taken_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").touch()
    assert isinstance(choose("scripted"), ScriptedLlm)
    assert isinstance(choose("ollama"), OllamaLlm)
    assert isinstance(choose("openai"), OpenAiLlm)
    assert isinstance(choose("embedded", model_path=tmp_path / "m.gguf"), EmbeddedLlm)
    assert isinstance(choose("auto"), AutoLlm)


def test_an_unknown_backend_is_a_mistake_that_lists_the_known_ones() -> None:
    with pytest.raises(LocalMistake, match="auto, ollama, openai, embedded or scripted"):
        choose("oracle")


def test_a_key_is_read_from_its_file_and_a_file_without_one_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret\n")

    async def test(fake: FakeOpenAi) -> None:
        llm = choose("openai", host=fake.host, key_file=tmp_path / "key")
        assert (await llm.probe()).model == "tiny-1b"
        await llm.close()

    run_with(FakeOpenAi({"tiny-1b": ""}, [], key="secret"), test)
    with pytest.raises(LocalMistake, match="cannot read key_file"):
        choose("openai", key_file=tmp_path / "none")
    for nothing in ("", "two\nlines", "ключ"):
        (tmp_path / "key").write_text(nothing)
        with pytest.raises(LocalMistake, match="holds no key"):
            choose("openai", key_file=tmp_path / "key")


@pytest.mark.parametrize("kind", [FakeOllama, FakeOpenAi])
def test_auto_takes_whatever_server_answers(kind: type[FakeOllama] | type[FakeOpenAi]) -> None:
    async def test(fake: FakeServer) -> None:
        llm = choose("auto", host=fake.host)
        backend = await llm.probe()
        assert (backend.name, backend.model) == ("ollama" if kind is FakeOllama else "openai", "qwen3:4b")
        await llm.close()

    run_with(kind(MODELS, []), test)


def test_auto_takes_the_tiny_model_while_no_server_answers_and_goes_back_to_it() -> None:
    async def main() -> None:
        fake, spare = FakeOllama(MODELS, []), Spare()
        async with fake.open():
            llm = AutoLlm(OllamaLlm(fake.host), OpenAiLlm(fake.host), lambda: spare)
            assert (await llm.probe()).model == "qwen3:4b"
        for _ in range(2):
            backend = await llm.probe()
            assert backend.model == "spare"
            assert "no Ollama answers" in backend.why
            assert spare.loaded
            async with fake.open(), trio.open_nursery() as nursery:
                nursery.start_soon(llm.run, EXECUTE, silent)  # on the spare one
                await trio.testing.wait_all_tasks_blocked()
                assert (await llm.probe()).model == "qwen3:4b"
                assert spare.loaded
                nursery.cancel_scope.cancel()
            async with fake.open():
                assert (await llm.probe()).model == "qwen3:4b"
                assert not spare.loaded  # its memory is the server's now
        await llm.close()

    trio.run(main)


def test_auto_tells_which_command_would_get_a_better_model() -> None:
    async def test(fake: FakeOllama) -> None:
        backend = await AutoLlm(OllamaLlm(fake.host), OpenAiLlm(fake.host), Spare).probe()
        assert backend.model == "spare"
        assert "ollama pull" in backend.why

    run_with(FakeOllama({}, []), test)


def test_auto_with_nothing_at_all_says_both_ways_out(tmp_path: Path) -> None:
    with pytest.raises(LocalMistake, match=r"no Ollama answers at 127\.0\.0\.1:9.*there is no model at"):
        trio.run(choose("auto", host=NOBODY, model_path=tmp_path / "none.gguf").probe)


def test_auto_loads_no_tiny_model_where_there_is_no_room_for_it(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").touch()
    with pytest.raises(LocalMistake, match="too little memory"):
        trio.run(choose("auto", host=NOBODY, model_path=tmp_path / "m.gguf", room=False).probe)


@pytest.mark.parametrize(
    ("machine", "flags", "missing"),
    [
        ("x86_64", "sse4_2 avx", "avx2, bmi2, f16c, fma"),
        ("x86_64", "avx avx2 f16c bmi2", "fma"),
        ("armv7l", "", "armv7l"),
    ],
)
def test_a_processor_that_cannot_run_the_model_is_sent_to_ollama(
    tmp_path: Path, machine: str, flags: str, missing: str
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags\t\t: fpu {flags}\n")
    with pytest.raises(LocalMistake, match=missing) as mistake:
        check_machine(tmp_path / "cpuinfo", machine)
    assert "Ollama" in str(mistake.value)


@pytest.mark.parametrize(("machine", "flags"), [("x86_64", "avx2 fma f16c bmi2 avx512f"), ("aarch64", "")])
def test_a_processor_that_can_run_the_model_is_let_through(tmp_path: Path, machine: str, flags: str) -> None:
    (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n" if flags else "Features : fp asimd\n")
    check_machine(tmp_path / "cpuinfo", machine)
    check_machine(tmp_path / "none", machine)
