"""The native protocol of systemd's journal: one datagram an entry, so that every entry has fields to search by.

(systemd.io/JOURNAL_NATIVE_PROTOCOL.) An entry is a list of fields; a value with line breaks goes by its length.
"""

import socket
from collections.abc import Mapping
from pathlib import Path

SOCKET = Path("/run/systemd/journal/socket")


class Journald:
    """The journal's socket at *path*. Raises OSError if nobody listens there."""

    def __init__(self, path: Path = SOCKET) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)  # a journal that does not keep up must not hold up the swarm
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise

    def send(self, fields: Mapping[str, str]) -> None:
        """Add one entry. Raises OSError if the journal does not take it now (gone, busy, too long)."""
        self._socket.send(datagram(fields))

    def close(self) -> None:
        """Let go of the socket."""
        self._socket.close()


def datagram(fields: Mapping[str, str]) -> bytes:
    """An entry on the wire. Names are capital letters, digits and underscores; empty values are left out."""
    return b"".join(_field(name, value.encode("utf-8", "replace")) for name, value in fields.items() if value)


def _field(name: str, value: bytes) -> bytes:
    if b"\n" not in value:
        return name.encode() + b"=" + value + b"\n"
    return name.encode() + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"
