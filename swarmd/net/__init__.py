"""How peers reach each other: libp2p, and everything that keeps it in its place.

Implements the port `Net`. Another machine's fault never leaves this folder except as a counter; an input that does
leave it is well formed, within limits, and carries the name of the peer that it is from.
"""

from swarmd.net.net import Libp2pNet

__all__ = ["Libp2pNet"]
