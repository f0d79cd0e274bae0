"""The best model that is there now: a model server if one answers, else the tiny model that comes with swarmd.

Servers start after us, stop and come back, so the better one is looked for at every probe.
"""

from collections.abc import Callable

from msgspec.structs import replace

from swarmd.llm.ollama import NotOllama
from swarmd.ports import Llm
from swarmd.roles.work import Answer, Backend, Request
from swarmd.vocab.faults import LocalMistake, RemoteFault


class AutoLlm:
    """*ollama*, *openai*: at the same address. *spare*: makes the tiny model, or raises LocalMistake saying why it
    cannot run here."""

    def __init__(self, ollama: Llm, openai: Llm, spare: Callable[[], Llm]) -> None:
        self._ollama = ollama
        self._openai = openai
        self._make_spare = spare
        self._spare: Llm | None = None
        self._now: Llm | None = None
        self._running = 0

    async def probe(self) -> Backend:
        """See `ports.Llm`."""
        try:
            backend = await self._served()
        except LocalMistake as no_server:
            try:
                self._spare = self._spare or self._make_spare()
                backend = await self._spare.probe()
            except LocalMistake as no_spare:
                self._now = None
                raise LocalMistake(f"{no_server}. And {no_spare}") from no_spare
            self._now = self._spare
            return replace(backend, why=f"{backend.why}, and {no_server}")
        if self._spare is not None and not self._running:
            await self._spare.close()  # it holds memory that the server can use, and starts again when it is needed
        return backend

    async def measure(self) -> None:
        """See `ports.Llm`."""
        await self._chosen().measure()

    async def run(self, request: Request, on_text: Callable[[str], None]) -> Answer:
        """See `ports.Llm`."""
        self._running += 1
        try:
            return await self._chosen().run(request, on_text)
        finally:
            self._running -= 1

    async def close(self) -> None:
        """See `ports.Llm`."""
        for llm in (self._ollama, self._openai, self._spare):
            if llm is not None:
                await llm.close()

    async def _served(self) -> Backend:
        try:
            backend = await self._ollama.probe()
            self._now = self._ollama
        except NotOllama as not_ollama:
            try:
                backend = await self._openai.probe()
            except LocalMistake:
                raise not_ollama from None
            self._now = self._openai
        return backend

    def _chosen(self) -> Llm:
        if self._now is None:
            raise RemoteFault("no model was found yet")
        return self._now
