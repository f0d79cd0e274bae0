"""Models behind the `Llm` port: Ollama, servers that speak OpenAI's API, a tiny embedded one, and a scripted one."""

from pathlib import Path

from swarmd.ports import Llm, Pick
from swarmd.vocab.faults import LocalMistake


def choose(
    kind: str,
    *,
    host: str = "http://127.0.0.1:11434",
    model: str | None = None,
    key_file: Path | None = None,
    model_path: Path | None = None,
    threads: int | None = None,
    slots: int | None = None,
    context_tokens: int | None = None,
    pick: Pick | None = None,
    room: bool = True,
    delay_ms: int = 0,
) -> Llm:
    """The backend that *kind* names. "auto" is whatever answers at *host*, else the embedded model.

    *host*, *model*, *key_file*, *slots*, *context_tokens*, *pick* (None: the largest): the servers'. *model_path*,
    *threads*: the embedded model's; *room*: whether "auto" may load it here. *delay_ms*: the scripted one's. Raises
    LocalMistake, saying what to do, if the kind is unknown or cannot run here.
    """
    # imported where used: Ollama's client and trio's processes cost a small machine half a second of start
    from swarmd.llm.candidates import largest

    pick = pick or largest
    match kind:
        case "ollama":
            from swarmd.llm.ollama import OllamaLlm

            return OllamaLlm(host, model, slots=slots or 1, context_tokens=context_tokens, pick=pick)
        case "openai":
            from swarmd.llm.openai import OpenAiLlm

            key = _key(key_file)
            return OpenAiLlm(host, model, key=key, slots=slots, context_tokens=context_tokens, pick=pick)
        case "embedded":
            from swarmd.llm.embedded import EmbeddedLlm

            return EmbeddedLlm(model_path, threads)
        case "scripted":
            from swarmd.llm.scripted import ScriptedLlm

            return ScriptedLlm(delay_ms, slots or 1)
        case "auto":
            from swarmd.llm.auto import AutoLlm

            def spare() -> Llm:
                from swarmd.llm.embedded import EmbeddedLlm

                if not room:
                    raise LocalMistake("this machine has too little memory for the embedded model")
                return EmbeddedLlm(model_path, threads)

            def server(kind: str) -> Llm:
                return choose(
                    kind,
                    host=host,
                    model=model,
                    key_file=key_file,
                    slots=slots,
                    context_tokens=context_tokens,
                    pick=pick,
                )

            return AutoLlm(server("ollama"), server("openai"), spare)
    raise LocalMistake(f"there is no model backend {kind!r}: choose auto, ollama, openai, embedded or scripted")


def _key(file: Path | None) -> str:
    """The key in *file*; no file, no key. Raises LocalMistake if it cannot be read or holds something else."""
    if file is None:
        return ""
    try:
        key = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LocalMistake(f"cannot read key_file of [model]: {file}: {error}") from error
    if not key.isascii() or not key.isprintable() or not key:
        raise LocalMistake(f"{file} holds no key: key_file of [model] must be one line of plain characters")
    return key
