"""The mutants themselves must not rot: each can still be put in place, and the tests still catch some."""

import multiprocessing

import pytest

from tests.mutants.nets import by_simulator, by_tests
from tests.mutants.registry import MUTANTS
from tests.sim.weather import SCENARIOS


@pytest.mark.parametrize("name", ["quorum-off-by-one", "last-claim-wins"])
def test_the_tests_of_the_core_catch_a_mutant(name: str) -> None:
    assert by_tests(name).by


@pytest.mark.parametrize("name", ["nomination-unchecked", "strict-forgotten"])
def test_the_simulator_catches_a_mutant(name: str) -> None:
    assert by_simulator(name, 25, MUTANTS[name].storm).by


def test_every_mutant_still_finds_the_rule_that_it_breaks() -> None:
    children = multiprocessing.get_context("fork")  # a mutant must not outlive its process
    running = {name: children.Process(target=mutant.install) for name, mutant in MUTANTS.items()}
    for process in running.values():
        process.start()
        process.join()
    assert [name for name, process in running.items() if process.exitcode] == []
    assert {mutant.storm for mutant in MUTANTS.values()} <= SCENARIOS.keys()
    assert len({mutant.says for mutant in MUTANTS.values()}) == len(MUTANTS) >= 15
