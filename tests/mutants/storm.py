"""The simulator, run against the mutant named in SWARMD_MUTANT: `python -m tests.mutants.storm --seeds 25`."""

import runpy

import tests.mutants.plugin

if __name__ == "__main__":
    assert tests.mutants.plugin  # the mutant is in place before the simulator is imported
    runpy.run_module("tests.sim", run_name="__main__", alter_sys=True)
