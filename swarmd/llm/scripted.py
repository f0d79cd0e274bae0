"""The scripted model as an adapter: the answers of `roles.canned`, at a pace that shows."""

from collections.abc import Callable

import trio

from swarmd.roles.canned import MODEL, answer
from swarmd.roles.work import Answer, Backend, Request, Text

_CHUNKS = 8  # of one text, so that a kill in the middle is possible


class ScriptedLlm:
    """*delay_ms*: what a request takes; texts are streamed over it. *slots*: requests served at once."""

    def __init__(self, delay_ms: int = 0, slots: int = 1) -> None:
        self._delay_ms = delay_ms
        self._slots = slots

    async def probe(self) -> Backend:
        """Always there."""
        why = "canned answers were asked for"
        return Backend(name="scripted", model=MODEL, tier="small", why=why, slots=self._slots)

    async def measure(self) -> None:
        """There is nothing to measure."""

    async def run(self, request: Request, on_text: Callable[[str], None]) -> Answer:
        """See `ports.Llm`. Never fails."""
        said = answer(request)
        text = said.text if isinstance(said, Text) else ""
        step = max(1, -(-len(text) // _CHUNKS))
        chunks = [text[at : at + step] for at in range(0, len(text), step)] or [""]
        for chunk in chunks:
            await trio.sleep(self._delay_ms / 1000 / len(chunks))
            if chunk:
                on_text(chunk)
        return said

    async def close(self) -> None:
        """Nothing to end."""
