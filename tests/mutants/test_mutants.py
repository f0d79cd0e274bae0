"""The mutants themselves must not rot: each can still be put in place, and the tests still catch some."""

import multiprocessing

import pytest

from tests.mutants.nets import by_tests
from tests.mutants.registry import MUTANTS


@pytest.mark.parametrize("name", ["quorum-off-by-one", "last-claim-wins"])
def test_the_tests_of_the_core_catch_a_mutant(name: str) -> None:
    assert by_tests(name).by


def test_every_mutant_still_finds_the_rule_that_it_breaks() -> None:
    children = multiprocessing.get_context("fork")  # a mutant must not outlive its process
    running = {name: children.Process(target=mutant.install) for name, mutant in MUTANTS.items()}
    for process in running.values():
        process.start()
        process.join()
    assert [name for name, process in running.items() if process.exitcode] == []
    assert len({mutant.says for mutant in MUTANTS.values()}) == len(MUTANTS) >= 15
