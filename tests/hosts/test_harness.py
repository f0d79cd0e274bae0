"""The hosts themselves: that they boot, keep their disks, feel the faults, and leave nothing behind."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosts.base import SUITES
from tests.hosts.cgroup import leftovers
from tests.hosts.command import until
from tests.hosts.host import Host
from tests.hosts.lan import Lan
from tests.hosts.session import group

pytestmark = pytest.mark.timeout(600)


def reaches(host: Host, other: Host) -> bool:
    """Whether *other*'s SSH greets *host* within three seconds."""
    script = "import socket, sys; print(socket.create_connection((sys.argv[1], 22), 3).recv(3))"
    return "SSH" in host.attempt("timeout", "3", "python3", "-c", script, other.address).stdout


def echoes(host: Host, other: Host) -> int:
    """How many of a hundred pings come back."""
    said = host.run("ping", "-q", "-c", "100", "-i", "0.01", "-W", "1", other.address, check=False)
    received = re.search(r"(\d+) received", said)
    assert received, said
    return int(received[1])


@pytest.mark.core
@pytest.mark.parametrize("suite", SUITES)
def test_a_host_boots_and_its_disk_outlives_a_power_cut(home: Lan, suite: str) -> None:
    host = home.host("pi", suite)
    assert suite in host.read("/etc/os-release")
    assert host.run("systemctl", "--failed", "--no-legend") == ""
    host.write("/var/lib/kept", "what was written\n")
    host.run("sync", "/var/lib/kept")
    host.kill()
    assert not host.on
    host.boot()
    assert host.read("/var/lib/kept") == "what was written\n"
    host.reboot()
    assert host.run("hostname") == "pi\n"


@pytest.mark.core
def test_the_weather_on_the_bridge_does_what_it_says(home: Lan) -> None:
    one, two, three = (home.host(name, boot=False) for name in ("one", "two", "three"))
    home.boot()
    assert reaches(one, two) and reaches(two, three)
    home.partition([one, two], [three])
    assert reaches(one, two) and not reaches(two, three)
    home.heal()
    home.plug(two, into_switch=False)
    assert "NO-CARRIER" in two.run("ip", "link", "show", "host0") and not reaches(one, two)
    home.plug(two, into_switch=True)
    home.cable(two, whole=False)
    assert "NO-CARRIER" not in two.run("ip", "link", "show", "host0") and not reaches(one, two)
    home.cable(two, whole=True)
    home.address(two, "10.77.0.99")
    one.until(lambda: reaches(one, two))
    home.lose(50)
    assert 2 < echoes(one, two) < 75  # of a hundred: half of the requests, and of their answers half
    home.heal()
    home.drop_multicast()
    assert reaches(one, two)
    home.bandwidth(two, 500)
    assert reaches(one, two)
    home.bandwidth(two, None)


@pytest.mark.core
def test_a_frozen_host_says_nothing_and_goes_on_where_it_was(home: Lan) -> None:
    one, two = home.host("one"), home.host("two")
    two.freeze()
    assert not reaches(one, two)
    two.thaw()
    one.until(lambda: reaches(one, two))


ENDLESS = """\
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and their children
from tests.hosts.lan import lan
from tests.hosts.session import group, session
with session() as run, lan(group(run), run / "disks") as home:
    print(run, home.host("pi").run("cat", "/proc/sys/kernel/random/boot_id").strip(), flush=True)
    time.sleep(600)
"""


@pytest.mark.core
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_interrupted_or_killed_leaves_nothing(this_run: Path, signal_number: int) -> None:
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, encoding="utf-8") as other:
        try:
            assert other.stdout is not None
            run = Path(other.stdout.readline().split()[0])
            assert leftovers(group(run))
            other.send_signal(signal_number)
            other.wait(60)
        finally:
            other.kill()
    until(lambda: not [pid for folder in leftovers(group(run)) for pid in _processes(folder)], 30)
    assert str(run) not in Path("/proc/mounts").read_text()
    subprocess.run([sys.executable, "-c", "from tests.hosts.session import session\nwith session(): pass"], check=True)
    assert not leftovers(group(run))
    assert not run.exists()


def _processes(folder: Path) -> list[str]:
    return [pid for file in folder.rglob("cgroup.procs") for pid in file.read_text().split()]
