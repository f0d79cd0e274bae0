"""One run of the tests on this machine: a folder and a name that no other run has, and what earlier runs left behind.

A run that is interrupted tidies up. One that is killed takes its processes, mounts and namespaces with it (the kernel
sees to that); its empty control groups and its disks are removed by the next run, which knows them by name.
"""

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.hosts.base import BUILD
from tests.hosts.cgroup import leftovers, remove

_RUNS = BUILD / "runs"
_GROUP = "swarmd-hosts"  # the control group that holds those of all runs


def group(run: Path) -> str:
    """The name of the control group for what belongs to *run*."""
    return f"{_GROUP}/{run.name}"


@contextmanager
def session() -> Iterator[Path]:
    """The folder of this run. Its name is unique on this machine."""
    _sweep()
    run = _RUNS / f"{os.getpid()}-{secrets.token_hex(3)}"
    run.mkdir(parents=True)
    with (run / "alive").open("w") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        try:
            yield run
        finally:
            _remove(run)


def _sweep() -> None:
    for run in _RUNS.glob("*"):
        with suppress(OSError), (run / "alive").open("r+") as alive:  # gone, or held by a run that lives
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(run)


def _remove(run: Path) -> None:
    for folder in leftovers(group(run)):
        remove(folder)
    for folder in leftovers(_GROUP):
        with suppress(OSError):  # another run's are in it
            folder.rmdir()
    shutil.rmtree(run)
