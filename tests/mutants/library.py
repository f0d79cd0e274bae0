"""Every change of the library is needed: without it, the test that it is there for fails.

`make mutants` runs this file; it is no part of `make test`, since what fails takes its time.
"""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from swarmd.net import containment
from tests.integration.bridge import needs_root

REPOSITORY = Path(__file__).parents[2]
FOLDER = REPOSITORY / "tests" / "integration"
SECONDS = 60  # for one test; with its change it takes a few, and without it some wait for what never comes
FAILED = 1  # pytest's exit status; it has others for what could not be run

NEEDED_BY = {
    "_survive_messages": "test_net_hostile.py::test_a_validator_that_raises_does_not_end_the_process",
    "_survive_streams": "test_net_hostile.py::test_a_stream_handler_that_raises_does_not_end_the_process",
    "_limit_handshakes": "test_net_hostile.py::test_thousands_of_silent_sockets_keep_nobody_out_and_are_let_go",
    "_release_inbound_slots": (
        "test_net_hostile.py::test_the_slot_of_an_inbound_connection_is_free_again_when_it_closes"
    ),
    "_never_repeat_sequence_numbers": (
        "test_net_hostile.py::test_messages_of_a_peer_that_restarts_are_not_taken_for_old_ones"
    ),
    "_let_clocks_go_back": "test_net.py::test_a_peer_that_restarts_with_an_earlier_clock_is_heard_in_both_directions",
    "_widen_queues": "test_net_hostile.py::test_200_messages_without_a_pause_are_not_lost_in_the_librarys_queues",
    "_keep_subscriptions": "test_net.py::test_a_peer_is_heard_on_when_either_of_two_connections_to_it_closes",
    "_keep_zones": "test_namespaces.py::test_two_hosts_with_nothing_but_link_local_addresses_find_each_other",
    "_put_up_our_wall": (
        "test_net.py::test_a_wrong_swarm_key_is_told_apart_from_a_host_that_does_not_answer_within_15_seconds[True]"
    ),
    "_quieten": "test_net_hostile.py::test_routine_trouble_is_not_in_the_log_in_red",
}


# Python runs this first in every process, and so in the daemons that a test starts
WITHOUT = """\
from swarmd.net import containment
containment.{change}
containment.{change} = lambda: None
"""


def run(folder: Path, without: str, *tests: str) -> "subprocess.CompletedProcess[str]":
    """Run *tests* where one change of the library is left out, or none."""
    (folder / "sitecustomize.py").write_text(WITHOUT.format(change=without) if without else "")
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider"),
            *("--timeout", str(SECONDS), *(str(FOLDER / test) for test in tests)),
        ],
        cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": f"{folder}:{REPOSITORY}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.timeout(SECONDS * len(NEEDED_BY))
def test_with_every_change_each_of_these_tests_passes(tmp_path: Path) -> None:
    ended = run(tmp_path, "", *NEEDED_BY.values())
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]


@pytest.mark.parametrize("change", [pytest.param(c, marks=needs_root if c == "_keep_zones" else ()) for c in NEEDED_BY])
def test_without_this_change_of_the_library_its_test_fails(change: str, tmp_path: Path) -> None:
    ended = run(tmp_path, change, NEEDED_BY[change])
    assert ended.returncode == FAILED, ended.stdout[-3000:] + ended.stderr[-3000:]


def test_every_change_is_listed() -> None:
    assert set(re.findall(r"^    (_\w+)\(\)$", inspect.getsource(containment.contain), re.MULTILINE)) == set(NEEDED_BY)
