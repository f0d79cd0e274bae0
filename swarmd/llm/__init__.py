"""Models behind the `Llm` port: Ollama, a tiny embedded one, and a scripted one."""

from pathlib import Path
from typing import Literal, TypeAlias

from swarmd.ports import Llm
from swarmd.vocab.faults import LocalMistake

Kind: TypeAlias = Literal["auto", "ollama", "embedded", "scripted"]


async def choose(
    kind: str,
    *,
    host: str = "127.0.0.1:11434",
    model: str | None = None,
    model_path: Path | None = None,
    threads: int | None = None,
    slots: int = 1,
    delay_ms: int = 0,
) -> Llm:
    """The backend that *kind* names. "auto" probes Ollama and takes the embedded model if it is not there.

    *host*, *model*, *slots*: Ollama's. *model_path*, *threads*: the embedded model's. *delay_ms*: the scripted one's.
    Raises LocalMistake, saying what to do, if the kind is unknown or cannot run here.
    """
    # imported where used: Ollama's client and trio's processes cost a small machine half a second of start
    match kind:
        case "ollama":
            from swarmd.llm.ollama import OllamaLlm

            return OllamaLlm(host, model, slots=slots)
        case "embedded":
            from swarmd.llm.embedded import EmbeddedLlm

            return EmbeddedLlm(model_path, threads)
        case "scripted":
            from swarmd.llm.scripted import ScriptedLlm

            return ScriptedLlm(delay_ms, slots)
        case "auto":
            return await _auto(host, model, model_path, threads, slots)
    raise LocalMistake(f"there is no model backend {kind!r}: choose auto, ollama, embedded or scripted")


async def _auto(host: str, model: str | None, model_path: Path | None, threads: int | None, slots: int) -> Llm:
    from swarmd.llm.embedded import EmbeddedLlm
    from swarmd.llm.ollama import OllamaLlm

    ollama = OllamaLlm(host, model, slots=slots)
    try:
        await ollama.probe()
        return ollama
    except LocalMistake as no_ollama:
        await ollama.close()
        try:
            return EmbeddedLlm(model_path, threads)
        except LocalMistake as no_embedded:
            raise LocalMistake(f"{no_ollama}. And {no_embedded}") from no_embedded
