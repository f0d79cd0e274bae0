"""The listening socket that systemd made for this process (sd_listen_fds(3)); it outlives the daemon's restarts."""

import os
import socket
from collections.abc import MutableMapping

from swarmd.vocab.faults import LocalMistake

_FIRST = 3  # SD_LISTEN_FDS_START


def inherited_socket(environ: MutableMapping[str, str]) -> socket.socket | None:
    """That socket, or None if there is none; *environ* forgets it, so that no child takes it for its own.

    Raises LocalMistake if what was handed over is not one listening UNIX stream socket.
    """
    meant, count = environ.pop("LISTEN_PID", ""), environ.pop("LISTEN_FDS", "")
    environ.pop("LISTEN_FDNAMES", None)
    if meant != str(os.getpid()):
        return None
    if count != "1":
        raise LocalMistake(f"systemd hands over {count or 'no'} sockets; swarmd.socket must have one ListenStream=")
    os.set_inheritable(_FIRST, False)
    handed = socket.socket(fileno=_FIRST)
    if (
        handed.family != socket.AF_UNIX
        or handed.type != socket.SOCK_STREAM
        or not handed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    ):
        raise LocalMistake("systemd hands over another kind of socket; swarmd.socket must have one ListenStream=/…")
    return handed
