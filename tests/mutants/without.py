"""A plugin of pytest that leaves out one change of the library: `python -m pytest -p tests.mutants.without
--without _widen_queues …`."""

import pytest

from swarmd.net import containment


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without", required=True, help="a function that containment.contain() calls")


def pytest_configure(config: pytest.Config) -> None:
    change = config.getoption("--without")
    assert callable(getattr(containment, change)), f"containment has no {change}"
    setattr(containment, change, lambda: None)
