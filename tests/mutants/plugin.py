"""A pytest plugin (`-p tests.mutants.plugin`): installs the mutant named in SWARMD_MUTANT before tests are imported."""

import os

from hypothesis import Phase, settings

from tests.mutants.registry import MUTANTS

if name := os.environ.get("SWARMD_MUTANT"):
    MUTANTS[name].install()


def pytest_configure() -> None:
    """That a mutant is caught is enough: the smallest example that catches it is not looked for."""
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", derandomize=True, deadline=None, database=None, phases=phases)
    settings.load_profile("mutants")
