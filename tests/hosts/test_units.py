"""The service and its socket: what systemd does with them, and what the sandbox keeps in and lets through."""

import ipaddress
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hosts.command import until
from tests.hosts.daemon import QUICK, answers, ctl, give, join, set_clock, state
from tests.hosts.host import LAN_INTERFACE, Host
from tests.hosts.lan import OUR_ADDRESS, Lan
from tests.hosts.packages import install, package
from tests.hosts.times import Times

pytestmark = pytest.mark.timeout(900)

EXPOSURE_MAX = 1.2  # of 10, by systemd-analyze(1)


def shown(host: Host, name: str, unit: str = "swarmd.service") -> str:
    """A property of a unit."""
    return host.run("systemctl", "show", "--property", name, "--value", unit).strip()


@pytest.mark.core
def test_the_units_are_understood_and_expose_little(peer: Host) -> None:
    units = ["swarmd.service", "swarmd.socket"]
    said = peer.attempt("systemd-analyze", "verify", "--man=no", *units)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
    overall = peer.run("systemd-analyze", "security", "--no-pager", "swarmd.service").splitlines()[-1]
    assert float(overall.split(":")[1].split()[0]) <= EXPOSURE_MAX, overall
    assert "Unknown" not in peer.run("journalctl", "--no-pager", "--output=cat", "_PID=1")


@pytest.mark.core
def test_every_address_of_a_home_gets_through_and_none_of_the_internet(peer: Host) -> None:
    allowed = [ipaddress.ip_network(network) for network in shown(peer, "IPAddressAllow").split()]
    assert set(shown(peer, "IPAddressDeny").split()) == {"::/0", "0.0.0.0/0"}

    def passes(address: str) -> bool:
        ip = ipaddress.ip_address(address)
        return any(ip in network for network in allowed if network.version == ip.version)

    ollama_here, ollama_there, mdns = ["127.0.0.1", "::1"], ["192.168.1.7", "10.0.0.7", "172.20.0.7"], ["224.0.0.251"]
    six = ["fd12:3456::7", "fe80::7", "ff02::fb"]
    assert all(passes(address) for address in [*ollama_here, *ollama_there, *mdns, *six, "100.100.1.1"])
    assert not any(passes(address) for address in ["9.9.9.9", "2606:4700::1111", "172.32.0.1"])


def use(host: Host, ollama: str) -> None:
    """Let the daemon of *host* work with the Ollama at this address."""
    join(host, settings=f'[model]\nbackend = "ollama"\nhost = "http://{ollama}:11434"\n{QUICK}')


@pytest.mark.core
def test_an_ollama_elsewhere_in_the_house_works_by_every_kind_of_address(peer: Host, home: Lan) -> None:
    home.bridge.ip("addr", "add", "fd00:77::1/64", "dev", "br0", "nodad")
    home.bridge.ip("addr", "add", "fe80::77/64", "dev", "br0", "nodad")
    peer.net.ip("addr", "add", "fd00:77::2/64", "dev", LAN_INTERFACE, "nodad")
    with home.serve(sys.executable, "-m", "tests.hosts.ollama", "qwen3:4b"):
        for ollama in (OUR_ADDRESS, "[fd00:77::1]", f"[fe80::77%{LAN_INTERFACE}]"):
            use(peer, ollama)
            peer.until(lambda: ctl(peer, "status")["model"] == "qwen3:4b")
            peer.run("swarmctl", "goal", "A picnic by the lake", "--depth", "1", "--wait")


@pytest.mark.core
def test_the_internet_is_out_of_reach_until_a_line_lets_one_address_through(peer: Host, home: Lan) -> None:
    home.bridge.ip("addr", "add", "11.22.33.44/32", "dev", "br0")
    with home.serve(sys.executable, "-m", "tests.hosts.ollama", "qwen3:4b"):
        use(peer, "11.22.33.44")
        peer.until(lambda: "`systemctl edit swarmd` says IPAddressAllow=11.22.33.44 under [Service]" in peer.log())
        peer.run("bash", "-c", "true >/dev/tcp/11.22.33.44/11434")  # anything else on this host reaches it
        peer.write("/etc/systemd/system/swarmd.service.d/ollama.conf", "[Service]\nIPAddressAllow=11.22.33.44\n")
        peer.run("systemctl", "daemon-reload")
        use(peer, "11.22.33.44")
        peer.until(lambda: ctl(peer, "status")["model"] == "qwen3:4b")


@pytest.mark.core
def test_a_hung_daemon_is_killed_and_comes_back_and_its_socket_stays(peer: Host) -> None:
    peer.run("systemctl", "kill", "--signal=STOP", "swarmd")
    hung, socket = shown(peer, "MainPID"), peer.run("stat", "-c", "%i", "/run/swarmd/control.sock")
    peer.until(lambda: "Watchdog timeout" in peer.log(), 60)
    peer.until(lambda: answers(peer))
    assert shown(peer, "MainPID") != hung
    assert peer.run("stat", "-c", "%i", "/run/swarmd/control.sock") == socket


def test_a_daemon_that_cannot_start_is_tried_for_ever_and_starts_when_it_can(peer: Host) -> None:
    peer.write("/etc/swarmd/config.d/slip.toml", "naem = 'x'\n")
    peer.attempt("systemctl", "restart", "swarmd")
    peer.until(lambda: int(shown(peer, "NRestarts")) >= 6)  # systemd's own limit would be five
    assert "did you mean 'name'" in peer.log()
    peer.run("rm", "/etc/swarmd/config.d/slip.toml")
    peer.until(lambda: answers(peer))


def test_a_stopped_daemon_is_started_by_the_next_caller_and_stopping_the_socket_stops_both(peer: Host) -> None:
    peer.run("systemctl", "stop", "swarmd")
    assert shown(peer, "ActiveState") == "inactive"
    peer.until(lambda: answers(peer))  # nobody else starts it
    peer.run("systemctl", "stop", "swarmd.socket")
    assert not answers(peer)
    assert peer.attempt("systemctl", "is-active", "swarmd", "swarmd.socket").stdout.split() == ["inactive"] * 2
    peer.run("systemctl", "start", "swarmd")
    assert answers(peer)


@pytest.mark.core
def test_people_of_the_group_are_known_by_name_and_others_are_told_what_to_do(peer: Host) -> None:
    peer.run("useradd", "--create-home", "--groups", "swarmd", "anna")
    peer.run("useradd", "--create-home", "bob")
    ctl(peer, "goal", "A picnic", user="anna")
    peer.until(lambda: "anna (uid 1000) sets goal" in peer.log())
    refused = peer.attempt("swarmctl", "status", user="bob")
    assert refused.returncode == 3 and "usermod -aG swarmd bob" in refused.stderr
    assert peer.run("stat", "-c", "%U:%G %a", "/run/swarmd/control.sock").strip() == "root:swarmd 660"


@pytest.mark.core
def test_the_key_and_the_state_are_nobody_elses_to_read(peer: Host) -> None:
    for path in ("/etc/swarmd/swarm.key", "/var/lib/swarmd", "/var/lib/swarmd/identity.key"):
        assert peer.run("stat", "-c", "%a", path).strip() in ("600", "700"), path
    credential = "/run/credentials/swarmd.service/swarm.key"
    peer.run("useradd", "--create-home", "bob")
    assert peer.attempt("cat", credential, user="bob").returncode != 0


def test_the_embedded_model_works_in_the_sandbox(home: Lan, suite: str, installed: Callable[[str], Path]) -> None:
    host = home.host("peer", suite, installed(suite))
    install(host, package(suite, "swarmd-model-smollm2"))
    join(host, settings='[model]\nbackend = "embedded"\n' + QUICK)
    host.until(lambda: ctl(host, "status")["backend"] == "embedded")
    goal = give(host, "A birthday party for a ten-year-old", "--depth", "1")
    host.until(lambda: state(host, goal) == "done", 480)  # half a minute of a core that it has for itself
    assert "SIGSYS" not in host.log() and "Traceback" not in host.log()


@pytest.mark.parametrize("offset", ["+1h", "@1970-01-01 00:01:00"])
def test_a_daemon_can_be_given_a_wrong_clock_and_lives_with_it(peer: Host, offset: str) -> None:
    set_clock(peer, offset)
    peer.until(lambda: answers(peer))
    pid = shown(peer, "MainPID")
    assert "libfaketime" in peer.run("cat", f"/proc/{pid}/maps")
    goal = give(peer, "A picnic", "--depth", "1")
    peer.until(lambda: state(peer, goal) == "done")
    told = ctl(peer, "show", goal)["created_ms"] / 1000 - float(peer.run("date", "+%s"))
    assert told < -1e9 if "1970" in offset else 3_000 < told < 3_700
    set_clock(peer, None)
    peer.until(lambda: answers(peer))


def test_two_hosts_with_ipv6_alone_find_each_other(home: Lan, suite: str, installed: Callable[[str], Path]) -> None:
    hosts = [home.host(name, suite, installed(suite), boot=False) for name in ("one", "two")]
    for host in hosts:
        host.net.ip("-4", "addr", "flush", "dev", "host0")
    hosts[0].net.ip("addr", "add", "fd00:77::1/64", "dev", "host0", "nodad")
    home.boot()
    for host in hosts:
        join(host)
    hosts[0].until(lambda: ctl(hosts[0], "status")["peers_connected"] == 1)
    goal = give(hosts[0], "A picnic", "--depth", "1")
    hosts[1].until(lambda: state(hosts[1], goal) == "done")


def test_hosts_meet_at_once_though_they_have_addresses_of_the_internet_as_well(
    home: Lan, suite: str, installed: Callable[[str], Path], times: Times
) -> None:
    hosts = [home.host(name, suite, installed(suite), boot=False) for name in ("one", "two")]
    for number, host in enumerate(hosts, 1):
        host.net.ip("addr", "add", f"2a00:77::{number}/64", "dev", LAN_INTERFACE, "nodad")
    home.boot()
    for host in hosts:
        join(host)
    seconds = until(lambda: all(ctl(host, "status")["peers_connected"] == 1 for host in hosts))
    times.note("a global IPv6 address beside IPv4", "two hosts that start have met", seconds)
