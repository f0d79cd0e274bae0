"""The watch over the model, on virtual time."""

from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock

from swarmd.daemon.modelwatch import Choose, ModelWatch, Suit, everything
from swarmd.hardware import Suited
from swarmd.ports import Llm
from swarmd.replica.inputs import BackendChanged, Input
from swarmd.roles.work import Answer, Backend, Request
from swarmd.vocab.faults import LocalMistake, RemoteFault


class Model:
    """Notes when it is asked for what. *bad_tests*: so many self-tests come to nothing."""

    def __init__(self, name: str = "one", bad_tests: int = 0) -> None:
        self.name = name
        self.bad_tests = bad_tests
        self.tests = 0
        self.probes: list[float] = []
        self.away = ""
        self.speed: float | None = None
        self.closed = False

    async def probe(self) -> Backend:
        assert not self.closed
        self.probes.append(trio.current_time())
        if self.away:
            raise LocalMistake(self.away)
        return Backend(name="ollama", model=self.name, tier="small", tokens_per_s=self.speed)

    async def measure(self) -> None:
        self.tests += 1
        await trio.sleep(20)
        if self.tests <= self.bad_tests:
            raise RemoteFault("busy")
        self.speed = 7.0

    async def run(self, request: Request, on_text: Callable[[str], None]) -> Answer:
        raise AssertionError

    async def close(self) -> None:
        self.closed = True


def watch(models: list[Model], *steps: tuple[float, Callable[[ModelWatch], None]], seconds: float = 600) -> list[Input]:
    """What is delivered while each step is taken at its second. Every choice takes the next of *models*."""
    heard: list[Input] = []
    chosen = iter(models)

    async def choose() -> Llm:
        return next(chosen)

    async def main() -> None:
        watched = ModelWatch(choose, everything, heard.append)
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(watched.run)
                begun = trio.current_time()
                for second, step in steps:
                    await trio.sleep_until(begun + second)
                    step(watched)

    trio.run(main, clock=MockClock(autojump_threshold=0))
    return heard


def speeds(heard: list[Input]) -> list[float | None]:
    """Of the backends that were told of, without repeats."""
    told = [each.backend.tokens_per_s for each in heard if isinstance(each, BackendChanged) and each.backend]
    return list(dict.fromkeys(told))


def test_the_model_is_told_of_before_its_self_test_and_again_after_it() -> None:
    model = Model()
    assert speeds(watch([model])) == [None, 7.0]
    assert model.tests == 1
    assert model.closed  # when the watch ended


@pytest.mark.parametrize(("bad", "tests"), [(1, 2), (2, 3), (99, 3)])
def test_a_self_test_that_came_to_nothing_is_tried_again_but_not_for_ever(bad: int, tests: int) -> None:
    model = Model(bad_tests=bad)
    watch([model])
    assert model.tests == tests


def test_a_fault_in_its_work_has_it_asked_within_a_second_and_a_hundred_faults_no_oftener() -> None:
    model = Model()
    model.speed = 7.0

    def doubt(watched: ModelWatch) -> None:
        for _ in range(100):
            watched.doubt()

    watch([model], (10, doubt), (10.5, doubt), seconds=20)
    assert len(model.probes) == 2
    assert model.probes[1] - model.probes[0] == 11


def test_a_model_that_goes_is_let_go_and_the_next_one_is_tested_anew() -> None:
    first, second = Model(), Model("two")

    def leave(watched: ModelWatch) -> None:
        first.away = "run `ollama pull one`"

    heard = watch([first, second], (50, leave), seconds=300)
    assert BackendChanged(None) in heard
    assert first.closed
    assert (first.tests, second.tests) == (1, 1)


def test_another_configuration_takes_effect_at_once() -> None:
    first, second = Model(), Model("two")
    begun: list[float] = []

    def change(watched: ModelWatch) -> None:
        async def choose() -> Llm:
            begun.append(trio.current_time())
            return second

        begun.append(trio.current_time())
        watched.choose_by(choose, everything)

    watch([first], (5, change), seconds=60)
    assert begun[1] == begun[0]
    assert first.closed
    assert second.probes


@pytest.mark.parametrize("second", [1, 3, 5], ids=["being found", "being asked", "known"])
def test_each_model_is_judged_by_the_configuration_that_led_to_it(second: int) -> None:
    """A daemon died of a reload that came before its first model had answered."""
    judged: list[tuple[str, str]] = []

    class Slow(Model):
        async def probe(self) -> Backend:
            await trio.sleep(2)
            return await super().probe()

    def way(name: str) -> tuple[Choose, Suit]:
        async def choose() -> Llm:
            await trio.sleep(2)
            return Slow(name)

        def suit(backend: Backend) -> Suited:
            judged.append((name, backend.model))
            return everything(backend)

        return choose, suit

    async def main() -> None:
        watched = ModelWatch(*way("first"), lambda _: None)
        with trio.move_on_after(20):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(watched.run)
                await trio.sleep(second)
                watched.choose_by(*way("second"))

    trio.run(main, clock=MockClock(autojump_threshold=0))
    assert list(dict.fromkeys(judged)) == [("first", "first"), ("second", "second")]
