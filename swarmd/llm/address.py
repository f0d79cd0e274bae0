"""Whose address it is."""

import ipaddress
from urllib.parse import urlsplit


def is_local(host: str) -> bool:
    """Whether *host*, with or without scheme and port, is this machine itself."""
    name = urlsplit(host if "//" in host else f"//{host}").hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name in ("", "localhost")
