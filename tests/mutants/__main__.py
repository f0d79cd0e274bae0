"""Break each rule on purpose; the tests of the core and the simulator must both notice.

`python -m tests.mutants` runs all, `python -m tests.mutants quorum-off-by-one` some. Exit status 1: one survived.
"""

import argparse
import sys
import time
from collections.abc import Callable

from tests.mutants.nets import Catch, CouldNotRun, by_simulator, by_tests, has_simulator
from tests.mutants.registry import MUTANTS


def main() -> int:
    """Returns the process's exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("names", nargs="*", metavar="MUTANT", help="which ones; none: all")
    parser.add_argument(
        "--seeds", type=int, default=100, help="storms that a mutant may outlive at most; 0: no simulator"
    )
    parser.add_argument("--no-tests", action="store_true", help="only the simulator")
    parser.add_argument("--list", action="store_true", help="say what each gets wrong, and run nothing")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - MUTANTS.keys():
        parser.error(f"no such mutant: {', '.join(sorted(unknown))}")
    chosen = [MUTANTS[name] for name in arguments.names or MUTANTS]
    if arguments.list:
        print("\n".join(f"{mutant.name:48} {mutant.says}" for mutant in chosen))
        return 0
    simulates = has_simulator() and arguments.seeds > 0
    if not arguments.no_tests and (broken := by_tests("").by):
        print(f"the tests fail without any mutant: {broken}")
        return 1
    if simulates and (broken := by_simulator("", arguments.seeds).by):
        print(f"the simulator finds a violation without any mutant: {broken}")
        return 1
    at_large = []
    print("mutant | property tests | simulator")
    for mutant in chosen:
        started = time.monotonic()
        cells = [
            "not run" if arguments.no_tests else said(by_tests, mutant.name),
            said(by_simulator, mutant.name, arguments.seeds) if simulates else "not run",
        ]
        at_large += [mutant.name] if not all(cell.startswith(("killed", "not run")) for cell in cells) else []
        print(f"{mutant.name}: {mutant.says} | {' | '.join(cells)} | {time.monotonic() - started:.0f} s", flush=True)
    print(f"{len(chosen)} mutants, {len(at_large)} at large" + (": " + ", ".join(at_large) if at_large else ""))
    return 1 if at_large else 0


def said(net: Callable[..., Catch], *arguments: object) -> str:
    """What a net says of a mutant, in a table's cell. One that tears does not end the sweep."""
    try:
        return str(net(*arguments))
    except CouldNotRun as torn:
        print(torn, file=sys.stderr)
        return "COULD NOT RUN"


if __name__ == "__main__":
    sys.exit(main())
