"""Storms against the mutant named in SWARMD_MUTANT, until the first that finds a violation:
`python -m tests.mutants.storm --seeds 25`."""

import argparse
import sys

import tests.mutants.plugin  # first: the mutant is in place before the simulator is imported
from tests.sim.__main__ import attempt
from tests.sim.weather import scenario_of


def main() -> int:
    """Returns the process's exit status: 1 if a storm found a violation."""
    assert tests.mutants.plugin
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.storm", description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--scenario", default="", help="instead of the one that the seed picks")
    arguments = parser.parse_args()
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        _, scenario, wrong, _ = attempt((seed, arguments.scenario or scenario_of(seed)))
        if wrong:
            print(f"FAILED seed {seed} {scenario}: {wrong}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
