"""A bounded number of storms on every run of the tests; `python -m tests.sim --seeds 20000` is the long form."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.weather import SCENARIOS, scenario_of
from tests.sim.world import run

_SEEDS = range(120)  # about ten seconds on one core


@pytest.mark.parametrize("first", _SEEDS[::20])
def test_no_storm_breaks_an_invariant(first: int) -> None:
    for seed in range(first, first + 20):
        run(seed, scenario_of(seed))


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_a_seed_replays_to_the_last_effect_under_any_hash_seed(scenario: str) -> None:
    traces = {_trace(scenario, hash_seed) for hash_seed in ("0", "1")}
    assert len(traces) == 1
    (trace,) = traces
    assert trace.count("\n") > 100


def _trace(scenario: str, hash_seed: str) -> str:
    command = [sys.executable, "-m", "tests.sim", "--seed", "3", "--scenario", scenario, "--trace"]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command,
        cwd=root,
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout
