"""The package from its first installation to its last trace, on hosts of every suite (case by case what people do)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hosts.command import CommandFailed
from tests.hosts.daemon import HOME_KEY, SCRIPTED, answers, ctl, give, join, state
from tests.hosts.host import Host
from tests.hosts.lan import Lan
from tests.hosts.packages import APT, install, package, release

pytestmark = pytest.mark.timeout(900)

BIG_REPLY = """\
import trio
from pathlib import Path
from swarmd.control.api import GoalRequest
from swarmd.control.client import Client

async def main():
    async with Client(Path("/run/swarmd/control.sock")) as client:
        for number in range(26):
            await client.set_goal(GoalRequest(text=f"{number} " + "Tidy the shed. " * 540))
        print(sum(len(goal.text) for goal in await client.goals()))

trio.run(main)
"""


@pytest.fixture
def version(suite: str) -> Callable[[str], str]:
    """A version of this suite's package: "1.2" is 1.2~deb12u1."""
    tag = package(suite).name.split("~")[1].split("_")[0]
    return lambda number: f"{number}~{tag}"


def installed_version(host: Host) -> str:
    return host.run("dpkg-query", "--show", "--showformat=${Version} ${db:Status-Status}", "swarmd")


def has_bytecode(host: Host) -> bool:
    """Whether the package's modules are compiled: a start takes a third of the time."""
    return "loop" in host.run("find", "/usr/lib/swarmd", "-path", "*/swarmd/daemon/__pycache__/*", "-printf", "%f ")


@pytest.mark.core
def test_a_first_installation_waits_quietly_for_a_key_and_then_serves_its_group(home: Lan, suite: str) -> None:
    host = home.host("pi", suite)
    said = install(host, package(suite))
    assert "swarmd key new --system" in said and "systemctl start swarmd" in said
    host.reboot()
    assert host.run("systemctl", "--failed", "--no-legend") == ""
    assert host.attempt("systemctl", "is-active", "swarmd", "swarmd.socket").stdout.split() == ["inactive"] * 2
    host.run("useradd", "--create-home", "--groups", "swarmd", "anna")
    assert "systemctl start swarmd" in host.attempt("swarmctl", "status", user="anna").stderr

    host.run("swarmd", "key", "new", "--system")
    host.run("systemctl", "start", "swarmd")
    assert answers(host, "anna")
    for _ in range(3):
        host.run("systemctl", "restart", "swarmd")
        assert answers(host, "anna")
    host.write("/etc/swarmd/config.d/mute.toml", '[model]\nbackend = "ollama"\n')  # there is none: goals only wait
    host.run("systemctl", "restart", "swarmd")
    assert int(host.run("/usr/lib/swarmd/bin/python", "-IB", "-", feed=BIG_REPLY, user="anna")) > 200_000
    host.reboot()
    host.until(lambda: answers(host, "anna"))


@pytest.mark.core
def test_an_upgrade_in_the_middle_of_a_goal_keeps_the_goal_the_settings_and_the_identity(
    peer: Host, suite: str, version: Callable[[str], str], tmp_path: Path
) -> None:
    join(peer, settings=SCRIPTED.format(delay_ms=60_000))  # it thinks for longer than an upgrade takes
    before = ctl(peer, "status")["id"]
    edited = peer.read("/etc/swarmd/config.toml").replace('name = ""', 'name = "kitchen"')
    peer.write("/etc/swarmd/config.toml", edited)
    goal = give(peer, "A week of dinners")
    peer.until(lambda: ctl(peer, "status")["running"] > 0)
    install(peer, release(package(suite), version("9.1"), tmp_path))
    assert installed_version(peer) == f"{version('9.1')} installed"
    assert state(peer, goal) == "open"
    peer.write("/etc/swarmd/config.d/test.toml", SCRIPTED.format(delay_ms=50))
    newer = release(package(suite), version("9.2"), tmp_path, settings="# a new remark\n")
    install(peer, newer, "-o", "Dpkg::Options::=--force-confold")
    assert installed_version(peer) == f"{version('9.2')} installed"
    peer.until(lambda: state(peer, goal) == "done")
    assert ctl(peer, "status")["id"] == before
    assert ctl(peer, "status")["name"] == "kitchen"
    assert peer.read("/etc/swarmd/config.toml") == edited


def test_a_downgrade_is_refused_and_the_daemon_goes_on(
    peer: Host, suite: str, version: Callable[[str], str], tmp_path: Path
) -> None:
    older = release(package(suite), version("0.0.1"), tmp_path)
    with pytest.raises(CommandFailed, match="remove it first"):
        install(peer, older, "--allow-downgrades")
    assert installed_version(peer).endswith(" installed") and version("0.0.1") not in installed_version(peer)
    peer.until(lambda: answers(peer))
    assert peer.run("dpkg", "--audit") == ""
    assert has_bytecode(peer)
    before = ctl(peer, "status")["id"]
    peer.run(*APT, "remove", "swarmd")
    install(peer, older)
    assert installed_version(peer) == f"{version('0.0.1')} installed"
    peer.until(lambda: answers(peer))
    assert ctl(peer, "status")["id"] == before


@pytest.mark.core
def test_it_comes_back_as_who_it_was_after_removal_and_a_purge_leaves_homes_alone_and_nothing_else(
    peer: Host, suite: str
) -> None:
    peer.run("useradd", "--create-home", "--groups", "swarmd", "anna")
    peer.write("/home/anna/swarmd/notes", "mine\n")
    before = ctl(peer, "status")["id"]
    goal = give(peer, "A picnic", "--depth", "1")
    peer.until(lambda: state(peer, goal) == "done")
    peer.run(*APT, "remove", "swarmd")
    assert peer.attempt("pgrep", "--full", "swarmd run").returncode == 1
    assert peer.attempt("ls", "/usr/lib/swarmd").returncode != 0
    install(peer, package(suite))
    peer.until(lambda: answers(peer))
    assert ctl(peer, "status")["id"] == before
    assert state(peer, goal) == "done"
    peer.run(*APT, "purge", "swarmd")
    left = peer.run(
        "find", "/etc", "/var", "/run", "/usr", "(", "-path", "/var/log/journal", "-o", "-path", "/var/log/apt", ")",
        "-prune", "-o", "-iname", "*swarmd*", "-print",
    )  # fmt: skip
    assert left == ""
    assert peer.run("systemctl", "--failed", "--no-legend") == ""
    assert peer.read("/home/anna/swarmd/notes") == "mine\n"


@pytest.mark.parametrize("moment", ["half-installed", "half-configured"])
def test_a_power_cut_in_the_middle_of_an_upgrade_is_mended(
    peer: Host, suite: str, version: Callable[[str], str], tmp_path: Path, moment: str
) -> None:
    before = ctl(peer, "status")["id"]
    newer = release(package(suite), version("9.1"), tmp_path)
    peer.put(newer, "/root/newer.deb")
    with peer.start("dpkg", "--install", "/root/newer.deb"):
        # half-configured is the old version, too, before the new one is unpacked
        wanted = f"{version('9.1')} {moment}" if moment == "half-configured" else f" {moment}"
        peer.until(lambda: installed_version(peer).endswith(wanted))
        peer.kill()
    peer.boot()
    assert peer.run("dpkg", "--audit") != ""
    if moment == "half-configured":
        peer.run("dpkg", "--configure", "-a", seconds=300)
    else:
        peer.run("dpkg", "--install", "/root/newer.deb", seconds=300)
    assert peer.run("dpkg", "--audit") == ""
    peer.until(lambda: answers(peer))
    assert ctl(peer, "status")["id"] == before


def test_a_disk_that_fills_up_during_the_installation_is_told_and_a_second_try_succeeds(home: Lan, suite: str) -> None:
    host = home.host("pi", suite)
    host.write("/etc/swarmd/swarm.key", f"{HOME_KEY}\n", 0o600)
    host.run("mkdir", "/usr/lib/swarmd")
    host.run("mount", "-t", "tmpfs", "-o", "size=30m", "none", "/usr/lib/swarmd")
    with pytest.raises(CommandFailed, match="No space left on device"):
        install(host, package(suite))
    host.run("umount", "/usr/lib/swarmd")
    install(host, package(suite))
    assert host.run("dpkg", "--audit") == ""
    host.until(lambda: answers(host))


def test_it_runs_on_a_read_only_usr_where_an_upgrade_fails_and_harms_nothing(
    peer: Host, suite: str, version: Callable[[str], str], tmp_path: Path
) -> None:
    peer.run("mount", "--bind", "/usr", "/usr")
    peer.run("mount", "-o", "remount,bind,ro", "/usr")
    peer.run("systemctl", "restart", "swarmd")
    goal = give(peer, "A picnic", "--depth", "1")
    peer.until(lambda: state(peer, goal) == "done")
    newer = release(package(suite), version("9.1"), tmp_path)
    with pytest.raises(CommandFailed, match="Read-only file system"):
        install(peer, newer)
    peer.until(lambda: answers(peer))
    peer.run("mount", "-o", "remount,bind,rw", "/usr")
    install(peer, newer)
    assert installed_version(peer) == f"{version('9.1')} installed"
    peer.until(lambda: answers(peer))


@pytest.mark.core
def test_the_demo_runs_from_the_package_where_python_has_no_packages(peer: Host) -> None:
    peer.run("useradd", "--create-home", "anna")
    assert peer.attempt("python3", "-c", "import trio").returncode != 0
    demo = ("swarmd", "demo", "--nodes", "4", "--model", "scripted", "--report", "/home/anna/plan.md", "A picnic")
    peer.run(*demo, user="anna", seconds=300)
    assert peer.read("/home/anna/plan.md").startswith("# A picnic")
