"""What a host's journal tells of its daemon, with the moment at which it did.

All hosts of a test share one kernel and so one clock, also where a daemon believes another one: moments of different
hosts can be compared.
"""

import json
import re

from msgspec import Struct

from tests.hosts.host import Host

_FIELDS = "MESSAGE,SWARMD_KIND,SWARMD_GOAL,SWARMD_TASK,SWARMD_PEER"


class Entry(Struct, frozen=True):
    """One message. *at*: Unix time, seconds, by the kernel's clock."""

    at: float
    text: str
    kind: str
    goal: str
    task: str
    peer: str


def journal(host: Host) -> list[Entry]:
    """What `journalctl -u swarmd` shows since the first boot of this disk, oldest first."""
    said = host.run("journalctl", "--no-pager", "--unit=swarmd", "--output=json", f"--output-fields={_FIELDS}")
    return [_entry(json.loads(line)) for line in said.splitlines()]


def first(host: Host, pattern: str, after: float = 0.0, *, task: str = "") -> Entry | None:
    """The first message after a moment that *pattern* is found in, and is of this *task* if one is given."""
    for entry in journal(host):
        if entry.at >= after and task in ("", entry.task) and re.search(pattern, entry.text):
            return entry
    return None


def _entry(fields: dict[str, str]) -> Entry:
    return Entry(
        at=int(fields["__REALTIME_TIMESTAMP"]) / 1e6,
        text=str(fields.get("MESSAGE", "")),
        kind=fields.get("SWARMD_KIND", ""),
        goal=fields.get("SWARMD_GOAL", ""),
        task=fields.get("SWARMD_TASK", ""),
        peer=fields.get("SWARMD_PEER", ""),
    )
