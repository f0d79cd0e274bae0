"""Which addresses are told to others, from recorded lists of adapters."""

from typing import NamedTuple

import pytest
from multiaddr import Multiaddr

from swarmd.net.addresses import expanded, multiaddress, reachable, socket_text


class Ip(NamedTuple):
    ip: str | tuple[str, int, int]


class Adapter(NamedTuple):
    name: str
    ips: list[Ip]


LAN = Adapter("enp3s0", [Ip("192.168.1.20"), Ip(("fd00::20", 0, 0)), Ip(("fe80::20", 0, 2))])
ELSEWHERE = [
    Adapter("lo", [Ip("127.0.0.1"), Ip(("::1", 0, 0))]),
    Adapter("docker0", [Ip("172.17.0.1")]),
    Adapter("br-5f3a", [Ip("172.18.0.1")]),
    Adapter("veth12", [Ip("169.254.3.4")]),
    Adapter("virbr0", [Ip("192.168.122.1")]),
    Adapter("cni-podman0", [Ip("10.88.0.1")]),
    Adapter("flannel.1", [Ip("10.244.0.0")]),
    Adapter("podman1", [Ip("10.89.0.1")]),
    Adapter("tun0", [Ip("10.8.0.2")]),
    Adapter("tap0", [Ip("10.9.0.2")]),
    Adapter("wg0", [Ip("10.10.0.2")]),
    Adapter("tailscale0", [Ip("100.64.0.7")]),
    Adapter("ppp0", [Ip("10.11.0.2")]),
]


def test_only_addresses_of_the_lan_are_reachable() -> None:
    assert reachable([*ELSEWHERE, LAN]) == ("192.168.1.20", "fd00::20", "fe80::20%enp3s0")


@pytest.mark.parametrize("name", ["br0", "eth0", "wlan0", "wlp2s0", "end0", "bond0"])
def test_the_usual_names_of_lan_interfaces_pass(name: str) -> None:
    assert reachable([Adapter(name, [Ip("10.0.0.5")])]) == ("10.0.0.5",)


def test_self_assigned_addresses_come_after_given_ones() -> None:
    assert reachable([Adapter("eth0", [Ip("169.254.9.9"), Ip("192.168.1.2")])]) == ("192.168.1.2", "169.254.9.9")


def test_no_interface_means_no_address() -> None:
    assert reachable(ELSEWHERE) == ()


def test_listening_everywhere_is_told_as_the_addresses_of_the_lan_and_never_as_zero() -> None:
    told = expanded([Multiaddr("/ip4/0.0.0.0/tcp/7400"), Multiaddr("/ip6/::/tcp/7400")], ["192.168.1.20", "fd00::20"])
    assert list(map(str, told)) == ["/ip4/192.168.1.20/tcp/7400", "/ip6/fd00::20/tcp/7400"]


def test_an_address_of_one_link_only_is_told_to_nobody() -> None:
    assert expanded([Multiaddr("/ip6/::/tcp/7400")], ["fe80::20%eth0"]) == []


def test_people_read_addresses_the_way_they_write_them() -> None:
    said = [socket_text(multiaddress(ip, 7400)) for ip in ("192.168.1.20", "fd00::20")]
    assert said == ["192.168.1.20:7400", "[fd00::20]:7400"]


def test_a_given_listening_address_is_told_as_it_is() -> None:
    given = Multiaddr("/ip4/127.0.0.1/tcp/7400")
    assert expanded([given, given], ["192.168.1.20"]) == [given]


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (["enp3s0"], ("192.168.1.20", "fd00::20", "fe80::20%enp3s0")),
        (["wg0", "docker0"], ("10.10.0.2", "172.17.0.1")),
        (["lo"], ("127.0.0.1", "::1")),
        (["127.0.0.1"], ("127.0.0.1",)),
        (["wlan7"], ()),
    ],
)
def test_interfaces_that_the_person_names_count_whatever_they_are(only: list[str], expected: tuple[str, ...]) -> None:
    assert reachable([*ELSEWHERE, LAN], only) == expected
