"""Sockets handed over as systemd does it: descriptor 3, and two variables that say for whom and how many."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """\
import os, sys
from swarmd.control.inherited import inherited_socket
from swarmd.vocab.faults import LocalMistake
os.dup2(int(sys.argv[1]), 3)
os.environ["LISTEN_PID"] = sys.argv[2] or str(os.getpid())
try:
    handed = inherited_socket(os.environ)
    print(handed and handed.getsockname(), sorted(name for name in os.environ if name.startswith("LISTEN_")))
    print(os.get_inheritable(3))
except LocalMistake as mistake:
    print("mistake:", mistake)
"""


def handed(descriptor: int, count: str, *, pid: str = "") -> str:
    """What a process says to which *descriptor* was handed over, or was meant for the process *pid*."""
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(descriptor), pid], pass_fds=[descriptor],
        env={"LISTEN_FDS": count, "LISTEN_FDNAMES": "x"}, stdout=subprocess.PIPE, encoding="utf-8", check=True,
        timeout=60, cwd=Path(__file__).parents[3],
    ).stdout  # fmt: skip


def test_a_listening_socket_is_taken_once_and_no_child_inherits_it(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        made.listen()
        assert handed(made.fileno(), "1") == f"{tmp_path / 's'} []\nFalse\n"


def test_what_is_meant_for_another_process_is_left_alone(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        made.listen()
        assert handed(made.fileno(), "1", pid="1").startswith("None []")


@pytest.mark.parametrize("count", ["2", "0", ""])
def test_another_number_of_sockets_is_a_mistake(count: str) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        assert "must have one ListenStream" in handed(made.fileno(), count)


@pytest.mark.parametrize("family", [socket.AF_UNIX, socket.AF_INET])
def test_another_kind_of_socket_is_a_mistake(family: int) -> None:
    with socket.socket(family) as silent:
        assert "another kind of socket" in handed(silent.fileno(), "1")
