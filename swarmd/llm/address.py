"""Whose address a model server has, and what that means."""

import ipaddress
from urllib.parse import urlsplit


def is_local(host: str) -> bool:
    """Whether *host*, with or without scheme and port, is this machine itself."""
    name = _name(host)
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name in ("", "localhost")


def remedy(host: str) -> str:
    """What to do when nothing answers at *host*, for the end of a sentence."""
    usual = "start it there, or correct host in [model]"
    try:
        address = ipaddress.ip_address(_name(host))
    except ValueError:
        return usual
    if not address.is_global:
        return usual
    return (
        f"{usual}; this is an address of the internet, which the service does not reach until `systemctl edit swarmd` "
        f"says IPAddressAllow={address} under [Service]"
    )


def _name(host: str) -> str:
    return urlsplit(host if "//" in host else f"//{host}").hostname or ""
