"""What a host's journal tells of its daemon, with the moment at which it did.

All hosts of a test share one kernel and so one clock, also where a daemon believes another one: moments of different
hosts can be compared.
"""

import json
import re

from msgspec import Struct

from swarmd.vocab.ids import short
from tests.hosts.host import Host


class Entry(Struct, frozen=True):
    """One message. *at*: Unix time, seconds, by the kernel's clock."""

    at: float
    text: str


def journal(host: Host) -> list[Entry]:
    """What `journalctl -u swarmd` shows since the first boot of this disk, oldest first. Without the fields to search
    by: a burst that journald does not keep up with goes to it as plain lines."""
    said = host.run("journalctl", "--no-pager", "--unit=swarmd", "--output=json", "--output-fields=MESSAGE")
    return [_entry(json.loads(line)) for line in said.splitlines()]


def first(host: Host, pattern: str, after: float = 0.0, *, task: str = "") -> Entry | None:
    """The first message after a moment that *pattern* is found in, and is of this *task* if one is given."""
    for entry in journal(host):
        if entry.at >= after and short(task) in entry.text and re.search(pattern, entry.text):
            return entry
    return None


def _entry(fields: dict[str, str]) -> Entry:
    return Entry(at=int(fields["__REALTIME_TIMESTAMP"]) / 1e6, text=str(fields.get("MESSAGE", "")))
