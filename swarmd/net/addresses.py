"""Which addresses of this machine others can reach: those of its LAN interfaces, and nothing else by default.

An IPv6 link-local address means something on one link only; it is written with the interface that leads there, its zone
(RFC 4007): fe80::20%eth0.
"""

import fcntl
import ipaddress
import re
import socket
import struct
from collections.abc import Iterable, Sequence
from typing import Protocol

import ifaddr
from multiaddr import Multiaddr

# container bridges and tunnels lead to no other machine of the LAN ("br0" is a bridge that people make: it stays)
_NOT_LAN = re.compile(
    r"(lo\d*$|docker|br-|veth|virbr|vmnet|vboxnet|lxcbr|lxdbr|incusbr|cni|cali|cilium|flannel|kube|podman"
    r"|tun|tap|utun|wg|tailscale|zt|nebula|ppp|ipsec|gre|sit|ip6tnl|dummy|ifb)"
)

_SIOCGIFFLAGS = 0x8913  # netdevice(7): the flags of an interface
_UP_AND_RUNNING = 0x1 | 0x40  # IFF_UP, IFF_RUNNING: switched on, and with a cable or a radio link


class _Ip(Protocol):
    """An address of an adapter as ifaddr gives it: text, or for IPv6 (text, flow, scope)."""

    @property
    def ip(self) -> "str | tuple[str, int, int]": ...


class _Adapter(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def ips(self) -> Sequence[_Ip]: ...


def lan_addresses(only: Sequence[str] = ()) -> tuple[str, ...]:
    """The addresses at which the LAN reaches this machine now. Reads the system: a few milliseconds."""
    return reachable((adapter for adapter in ifaddr.get_adapters() if _is_up(adapter.name)), only)


def reachable(adapters: Iterable[_Adapter], only: Sequence[str] = ()) -> tuple[str, ...]:
    """The addresses of *adapters* that are of the LAN, or that *only* asks for by interface or address. IPv4 first;
    IPv6 link-local ones last, with their zone."""
    found = set()
    for adapter in adapters:
        for entry in adapter.ips:
            ip = ipaddress.ip_address(entry.ip if isinstance(entry.ip, str) else entry.ip[0])
            asked = adapter.name in only or str(ip) in only
            of_lan = not only and not ip.is_loopback and not _NOT_LAN.match(adapter.name)
            if (asked or of_lan) and not (ip.is_unspecified or ip.is_multicast):
                found.add((ip.version, ip.is_link_local, int(ip), str(ip), adapter.name))
    return tuple(
        f"{ip}%{zone}" if version == 6 and local else ip for version, local, _, ip, zone in sorted(found)
    )  # fmt: skip


def expanded(listening: Iterable[Multiaddr], ips: Sequence[str]) -> list[Multiaddr]:
    """What to tell others of *listening*: "every address" becomes each of *ips*, and other addresses stay. Addresses
    with a zone are left out: the zone is this machine's own word for the link."""
    result: list[Multiaddr] = []
    for address in listening:
        six = "ip6" in {protocol.name for protocol in address.protocols()}
        ip = ipaddress.ip_address(address.value_for_protocol("ip6" if six else "ip4"))
        port = address.value_for_protocol("tcp")
        if ip.is_unspecified:
            result += [multiaddress(each, int(port)) for each in ips if (":" in each) == six and "%" not in each]
        else:
            result.append(multiaddress(str(ip), int(port)))
    return list(dict.fromkeys(result))


def multiaddress(ip: str, port: int) -> Multiaddr:
    """The TCP multiaddress of an IP address and a port. A zone is not part of it: see `containment.zones`."""
    ip = ip.partition("%")[0]
    return Multiaddr(f"/{'ip6' if ':' in ip else 'ip4'}/{ip}/tcp/{port}")


def socket_text(address: Multiaddr) -> str:
    """*address* as people write it: 192.168.1.20:4001, [fd00::20]:4001."""
    _, _, host, _, port, *_ = str(address).split("/")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_link_local(ip: str) -> bool:
    """Whether *ip* is an IPv6 address that means something on one link only."""
    return ":" in ip and ipaddress.ip_address(ip.partition("%")[0]).is_link_local


def _is_up(interface: str) -> bool:
    """Whether *interface* can carry anything now. It keeps its addresses when its cable is pulled."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            answer = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, struct.pack("16sh14x", interface.encode()[:15], 0))
        except OSError:  # it has just gone
            return False
    flags: int = struct.unpack_from("16sH", answer)[1]
    return flags & _UP_AND_RUNNING == _UP_AND_RUNNING
