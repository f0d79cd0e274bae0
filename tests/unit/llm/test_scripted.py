import trio
import trio.testing

from swarmd.llm.scripted import ScriptedLlm
from swarmd.roles.canned import answer
from swarmd.roles.work import Execute, Place, Text

REQUEST = Execute(place=Place(goal="g", title="Book the hall"))


def test_a_scripted_text_is_streamed_over_its_delay() -> None:
    async def main() -> None:
        llm = ScriptedLlm(delay_ms=4_000)
        pieces: list[tuple[float, str]] = []
        start = trio.current_time()
        said = await llm.run(REQUEST, lambda piece: pieces.append((trio.current_time() - start, piece)))
        assert said == answer(REQUEST)
        assert isinstance(said, Text)
        assert "".join(piece for _, piece in pieces) == said.text
        assert len(pieces) >= 4
        assert pieces[0][0] < 1
        assert 3.9 <= trio.current_time() - start <= 4.1
        assert (await llm.probe()).name == "scripted"
        await llm.close()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
