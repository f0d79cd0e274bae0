from pathlib import Path

import pytest
import trio

from swarmd.llm import choose
from swarmd.llm.embedded import EmbeddedLlm, check_machine
from swarmd.llm.ollama import OllamaLlm
from swarmd.llm.scripted import ScriptedLlm
from swarmd.ports import Llm
from swarmd.vocab.faults import LocalMistake

NOBODY = "127.0.0.1:9"


def chosen(kind: str, model_path: Path | None = None) -> Llm:
    async def main() -> Llm:
        return await choose(kind, host=NOBODY, model_path=model_path)

    return trio.run(main)


def test_a_backend_is_taken_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").touch()
    assert isinstance(chosen("scripted"), ScriptedLlm)
    assert isinstance(chosen("ollama"), OllamaLlm)
    assert isinstance(chosen("embedded", tmp_path / "m.gguf"), EmbeddedLlm)


def test_an_unknown_backend_is_a_mistake_that_lists_the_known_ones() -> None:
    with pytest.raises(LocalMistake, match="auto, ollama, embedded or scripted"):
        chosen("oracle")


def test_auto_takes_the_embedded_model_where_no_ollama_answers(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").touch()
    assert isinstance(chosen("auto", tmp_path / "m.gguf"), EmbeddedLlm)


def test_auto_with_nothing_at_all_says_both_ways_out(tmp_path: Path) -> None:
    with pytest.raises(LocalMistake, match=r"no Ollama answers at 127\.0\.0\.1:9.*there is no model at"):
        chosen("auto", tmp_path / "none.gguf")


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
