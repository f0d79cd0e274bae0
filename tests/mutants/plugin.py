"""A pytest plugin (`-p tests.mutants.plugin`): installs the mutant named in SWARMD_MUTANT before tests are imported."""

import os

from tests.mutants.registry import MUTANTS

if name := os.environ.get("SWARMD_MUTANT"):
    MUTANTS[name].install()
