"""Break each rule on purpose; the tests of the core and the simulator must both notice.

`python -m tests.mutants` runs all, `python -m tests.mutants quorum-off-by-one` some. Exit status 1: one survived.
"""

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.mutants.nets import Catch, CouldNotRun, by_simulator, by_tests
from tests.mutants.registry import MUTANTS, Mutant


def main() -> int:
    """Returns the process's exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("names", nargs="*", metavar="MUTANT", help="which ones; none: all")
    parser.add_argument(
        "--seeds", type=int, default=100, help="storms of a scenario that a mutant may outlive at most; 0: no simulator"
    )
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--no-tests", action="store_true", help="only the simulator")
    parser.add_argument("--list", action="store_true", help="say what each gets wrong, and run nothing")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - MUTANTS.keys():
        parser.error(f"no such mutant: {', '.join(sorted(unknown))}")
    started = time.monotonic()
    chosen = [MUTANTS[name] for name in arguments.names or MUTANTS]
    if arguments.list:
        print("\n".join(f"{mutant.name:48} {mutant.says}" for mutant in chosen))
        return 0
    with ThreadPoolExecutor(arguments.jobs) as pool:  # the nets are processes of their own
        for broken in pool.map(lambda net: net(), whole(arguments.no_tests, arguments.seeds)):
            if broken.by:
                print(f"without any mutant something is wrong: {broken.by}")
                return 1
        at_large = []
        print("mutant | property tests | simulator", flush=True)
        for mutant, cells in zip(
            chosen, pool.map(lambda m: hunt(m, arguments.no_tests, arguments.seeds), chosen), strict=True
        ):
            at_large += [] if all(cell.startswith(("killed", "not run")) for cell in cells) else [mutant.name]
            print(f"{mutant.name}: {mutant.says} | {' | '.join(cells)}", flush=True)
    spent = time.monotonic() - started
    print(f"{len(chosen)} mutants, {len(at_large)} at large" + (": " + ", ".join(at_large) if at_large else ""), end="")
    print(f"; {spent:.0f} s")
    return 1 if at_large else 0


def whole(no_tests: bool, seeds: int) -> list[Callable[[], Catch]]:
    """What must find nothing in the core as it is."""
    nets: list[Callable[[], Catch]] = [] if no_tests else [partial(by_tests, "")]
    return nets + ([partial(by_simulator, "", seeds)] if seeds else [])


def hunt(mutant: Mutant, no_tests: bool, seeds: int) -> tuple[str, str]:
    """What both nets say of a mutant."""
    return (
        "not run" if no_tests else said(by_tests, mutant.name),
        said(by_simulator, mutant.name, seeds, mutant.storm) if seeds else "not run",
    )


def said(net: Callable[..., Catch], *arguments: object) -> str:
    """What a net says of a mutant, in a table's cell. One that tears does not end the sweep."""
    try:
        return str(net(*arguments))
    except CouldNotRun as torn:
        print(torn, file=sys.stderr)
        return "COULD NOT RUN"


if __name__ == "__main__":
    sys.exit(main())
