"""How peers reach each other: libp2p, and everything that keeps it in its place.

Implements the port `Net`. Another machine's fault never leaves this folder except as a counter; an input that does
leave it is well formed, within limits, and carries the name of the peer that it is from.
"""

import tempfile
from contextlib import suppress

import dns.resolver

try:
    tempfile.gettempdir()
except FileNotFoundError:
    tempfile.tempdir = "/dev/shm"  # libp2p asks for one when imported, and on a full disk there is none to be found

_read_resolv_conf = dns.resolver.BaseResolver.read_resolv_conf


def _read_if_there_is_one(resolver: dns.resolver.BaseResolver, file: str) -> None:
    with suppress(dns.resolver.NoResolverConfiguration):
        _read_resolv_conf(resolver, file)


# libp2p makes a resolver when imported, and a machine without a router, or one that has just booted, has no name server
dns.resolver.BaseResolver.read_resolv_conf = _read_if_there_is_one  # type: ignore[method-assign, assignment]

from swarmd.net.net import Libp2pNet  # noqa: E402  # libp2p is imported with what stands above

__all__ = ["Libp2pNet"]
