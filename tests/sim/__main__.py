"""Run seeds: `python -m tests.sim --seeds 300`, or replay one: `python -m tests.sim --seed 7 --scenario storm
--trace`."""

import argparse
import multiprocessing
import sys
import time
import traceback
from collections import Counter

from tests.sim.violation import Violation
from tests.sim.weather import SCENARIOS, scenario_of
from tests.sim.world import run


def attempt(job: tuple[int, str]) -> tuple[int, str, str, Counter[str]]:
    """Seed, scenario, what went wrong (empty: nothing) and what the run met."""
    seed, scenario = job
    try:
        world = run(seed, scenario)
    except Violation as violation:
        return seed, scenario, str(violation), Counter()
    except Exception as error:
        where = "".join(traceback.format_exception(error)[-3:])
        return seed, scenario, f"containment: {type(error).__name__}: {error}\n{where}", Counter()
    world.met["inputs"] = world.inputs
    return seed, scenario, "", world.met


def main() -> int:
    """Returns the process's exit status: 1 if any seed failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=300, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, help="run this one alone")
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), help="instead of the one that the seed picks")
    parser.add_argument("--trace", action="store_true", help="print every input and effect")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        scenario = arguments.scenario or scenario_of(arguments.seed)
        try:
            world = run(arguments.seed, scenario, print if arguments.trace else None)
        except Violation as violation:
            print(violation)
            return 1
        print(f"seed {arguments.seed} {scenario}: {world.inputs} inputs, {world.t_ms} ms, no violation")
        return 0
    jobs = [
        (seed, arguments.scenario or scenario_of(seed))
        for seed in range(arguments.first, arguments.first + arguments.seeds)
    ]
    return sweep(jobs, arguments.jobs)


def sweep(jobs: list[tuple[int, str]], processes: int) -> int:
    """Run all *jobs*, print what failed and how long it took."""
    started = time.monotonic()
    failed = 0
    met: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for seed, scenario, wrong, counts in pool.imap_unordered(attempt, jobs, chunksize=4):
            ran[scenario] += 1
            met += counts
            if wrong:
                failed += 1
                print(f"FAILED seed {seed} {scenario}: {wrong}", flush=True)
    spent = time.monotonic() - started
    mix = ", ".join(f"{count} {name}" for name, count in sorted(ran.items()))
    rate = len(jobs) / spent / processes
    print("met: " + ", ".join(f"{count:,} {what}" for what, count in sorted(met.items())))
    print(f"{len(jobs)} runs ({mix}), {failed} violations; {spent:.1f} s, {rate:.1f} runs a second and process")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
