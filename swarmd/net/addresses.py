"""Which addresses of this machine others can reach: those of its LAN interfaces, and nothing else by default."""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

import ifaddr
from multiaddr import Multiaddr

# container bridges and tunnels lead to no other machine of the LAN ("br0" is a bridge that people make: it stays)
_NOT_LAN = re.compile(r"(lo|docker|br-|veth|virbr|cni|flannel|podman|tun|tap|wg|tailscale|ppp)")


class _Ip(Protocol):
    """An address of an adapter as ifaddr gives it: text, or for IPv6 (text, flow, scope)."""

    @property
    def ip(self) -> "str | tuple[str, int, int]": ...


class _Adapter(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def ips(self) -> Sequence[_Ip]: ...


def lan_addresses(only: Sequence[str] | None = None) -> tuple[str, ...]:
    """The addresses at which the LAN reaches this machine now. *only*: names of the interfaces that count, or addresses
    themselves; None: all that look like the LAN's. Reads the system: a few milliseconds."""
    return reachable(ifaddr.get_adapters(), only)


def reachable(adapters: Iterable[_Adapter], only: Sequence[str] | None = None) -> tuple[str, ...]:
    """The addresses of *adapters* that are of the LAN, or of those named in *only*, IPv4 first. IPv6 link-local ones
    are left out: the library cannot dial an address that needs an interface's name beside it."""
    found = {ipaddress.ip_address(named) for named in only or () if _is_ip(named)}
    for adapter in adapters:
        if _NOT_LAN.match(adapter.name) if only is None else adapter.name not in only:
            continue
        for entry in adapter.ips:
            ip = ipaddress.ip_address(entry.ip if isinstance(entry.ip, str) else entry.ip[0])
            loopback = ip.is_loopback and only is None
            if not (loopback or ip.is_unspecified or ip.is_multicast or (ip.version == 6 and ip.is_link_local)):
                found.add(ip)
    return tuple(str(ip) for ip in sorted(found, key=lambda ip: (ip.version, ip.is_link_local, int(ip))))


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def expanded(listening: Iterable[Multiaddr], ips: Sequence[str]) -> list[Multiaddr]:
    """What to tell others of *listening*: "every address" becomes each of *ips*, and other addresses stay."""
    result: list[Multiaddr] = []
    for address in listening:
        six = "ip6" in {protocol.name for protocol in address.protocols()}
        ip = ipaddress.ip_address(address.value_for_protocol("ip6" if six else "ip4"))
        port = address.value_for_protocol("tcp")
        if ip.is_unspecified:
            result += [multiaddress(each, int(port)) for each in ips if (":" in each) == six]
        else:
            result.append(multiaddress(str(ip), int(port)))
    return list(dict.fromkeys(result))


def multiaddress(ip: str, port: int) -> Multiaddr:
    """The TCP multiaddress of an IP address and a port."""
    return Multiaddr(f"/{'ip6' if ':' in ip else 'ip4'}/{ip}/tcp/{port}")
