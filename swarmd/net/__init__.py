"""How peers reach each other: libp2p, and everything that keeps it in its place.

Implements the port `Net`. Another machine's fault never leaves this folder except as a counter; an input that does
leave it is well formed, within limits, and carries the name of the peer that it is from.
"""

import tempfile

try:
    tempfile.gettempdir()
except FileNotFoundError:
    tempfile.tempdir = "/dev/shm"  # libp2p asks for one when imported, and on a full disk there is none to be found

from swarmd.net.net import Libp2pNet

__all__ = ["Libp2pNet"]
