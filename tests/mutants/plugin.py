"""A pytest plugin (`-p tests.mutants.plugin`) that installs the mutant named in SWARMD_MUTANT before any test is imported."""

import os

from tests.mutants.registry import MUTANTS

if name := os.environ.get("SWARMD_MUTANT"):
    MUTANTS[name].install()
