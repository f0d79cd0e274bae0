"""The two nets that every mutant must be caught in, each in a process of its own: tests of the core, and simulator."""

import os
import subprocess
import sys
from dataclasses import dataclass

PROPERTY_TESTS = (
    "tests/property/test_any_ballot.py",
    "tests/property/test_any_race.py",
    "tests/property/test_any_order.py",
    "tests/property/test_any_two_sets.py",
    "tests/unit/plan",
    "tests/unit/gossip",
    "tests/unit/roles",
    "tests/unit/replica",
    "tests/property/test_any_interleaving.py",
)
_TESTS_S_MAX = 180  # the whole net takes 20 s on one core; a mutant that makes a test hang is caught as well
_SEEDS_AT_A_TIME = 25
_SIM_S_MAX = 300
_TESTS_FAILED = 1  # pytest's exit status when tests ran and some failed; others mean that they could not run


@dataclass(frozen=True, slots=True)
class Catch:
    """What a net says of a mutant. *by*: the test or seed that killed it; empty: it survived."""

    by: str

    def __str__(self) -> str:
        return f"killed by {self.by}" if self.by else "SURVIVED"


class CouldNotRun(Exception):
    """A net tore before it could catch anything: a fault of the tests or of this machine, not of the mutant."""


def by_tests(name: str) -> Catch:
    """Run the tests of the core against a mutant until one fails. An empty name runs them against the core as it is."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "tests.mutants.plugin"]
    done = _run([*command, *PROPERTY_TESTS], name, _TESTS_S_MAX)
    if done is None:
        return Catch("a test that no longer ends")
    if done.returncode == 0:
        return Catch("")
    failed = [line.split(" ")[1] for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    if done.returncode != _TESTS_FAILED or not failed:
        raise CouldNotRun(
            f"the tests could not run against {name or 'the core'}:\n{done.stdout[-3_000:]}{done.stderr[-3_000:]}"
        )
    return Catch(failed[0].rpartition("::")[2])


def by_simulator(name: str, seeds: int, scenario: str = "") -> Catch:
    """Run storms against a mutant until one finds a violation: first of the *scenario* in which it shows soonest, then
    of the general mix; at most *seeds* of each."""
    for weather in dict.fromkeys((scenario, "")):
        for first in range(0, seeds, _SEEDS_AT_A_TIME):
            count = min(_SEEDS_AT_A_TIME, seeds - first)
            catch = _storms(name, first, count, weather)
            if catch.by:
                return catch
    return Catch("")


def _storms(name: str, first: int, count: int, scenario: str) -> Catch:
    command = [sys.executable, "-m", "tests.mutants.storm", "--first", str(first), "--seeds", str(count)]
    done = _run([*command, *(["--scenario", scenario] if scenario else [])], name, _SIM_S_MAX)
    if done is None:
        return Catch(f"a storm of seeds {first} to {first + count - 1} that no longer ends")
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED seed ")]
    if failed:
        _, _, seed, weather, said = failed[0].split(" ", 4)
        return Catch(f"seed {seed} of {weather.rstrip(':')}: {said.partition(' (seed ')[0][:80]}")
    if done.returncode != 0:
        raise CouldNotRun(f"the simulator could not run against {name}:\n{done.stdout[-3_000:]}{done.stderr[-3_000:]}")
    return Catch("")


def _run(command: list[str], name: str, seconds_max: int) -> "subprocess.CompletedProcess[str] | None":
    environment = {**os.environ, "SWARMD_MUTANT": name}
    try:
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=seconds_max, check=False
        )
    except subprocess.TimeoutExpired:
        return None
