"""The outer wall: a TCP connection of someone without the swarm key ends before any parser sees a byte of it.

Salsa20 under a key made from the swarm's, as libp2p's private networks have it (libp2p pnet specification), with the
nonce of py-libp2p. What comes first is known, the header of multistream-select, so the one who was called sees which of
the swarm's keys the caller holds, answers under the same one, and hangs up on whoever has none.
"""

import secrets
from collections import Counter
from typing import ClassVar

import trio
from Crypto.Cipher import Salsa20
from libp2p.abc import IRawConnection
from libp2p.network.connection.raw_connection import RawConnection

from swarmd.vocab.faults import RemoteFault

NONCE_BYTES = 8  # py-libp2p 0.8.1; the specification has 24
GREETING = b"\x13/multistream/1.0.0\n"  # what both sides say first
HOSTS_MAX = 1_024  # whose refusals are remembered, to try an older key next


class Wall(RawConnection):  # type: ignore[misc]
    """A connection behind the wall."""

    refused: ClassVar["Counter[str]"] = Counter()
    """Strangers that were hung up on, since the process started."""
    _broken_off: ClassVar["Counter[str]"] = Counter()

    def __init__(self, inner: IRawConnection, keys: str) -> None:
        """*keys*: in hexadecimal digits, newest first, separated by commas."""
        self._inner = inner
        self._keys = [bytes.fromhex(key) for key in keys.split(",")]
        self._called = not inner.is_initiator
        self._met = trio.Lock()
        self._reads: Salsa20.Salsa20Cipher | None = None
        self._writes: Salsa20.Salsa20Cipher | None = None
        self._ahead = b""
        self.is_initiator = inner.is_initiator
        where = inner.get_remote_address()
        self._where = where[0] if where else ""
        self._key = self._keys[self._broken_off[self._where] % len(self._keys)]

    async def write(self, data: bytes) -> None:
        """Encrypt and send. The one who was called first waits to see which key the caller has."""
        prefix = b""
        if self._writes is None:
            if self._called:
                await self._meet()
            prefix = secrets.token_bytes(NONCE_BYTES)
            self._writes = Salsa20.new(key=self._key, nonce=prefix)
        await self._inner.write(prefix + self._writes.encrypt(data))

    async def read(self, n: int | None = None) -> bytes:
        """Receive and decrypt."""
        if self._reads is None:
            await self._meet()
        if self._ahead:
            piece = self._ahead if n is None else self._ahead[:n]
            self._ahead = self._ahead[len(piece) :]
            return piece
        assert self._reads is not None
        data = await self._inner.read(n)
        return bytes(self._reads.decrypt(data)) if data else b""

    async def close(self) -> None:
        """Hang up."""
        await self._inner.close()

    def get_remote_address(self) -> tuple[str, int] | None:
        """Of the other side."""
        address: tuple[str, int] | None = self._inner.get_remote_address()
        return address

    async def _meet(self) -> None:
        """Read the other's greeting. Raises RemoteFault, and hangs up, if it is under none of the keys."""
        async with self._met:
            if self._reads is not None:
                return
            first = b""
            while len(first) < NONCE_BYTES + len(GREETING):
                piece = await self._inner.read(NONCE_BYTES + len(GREETING) - len(first))
                if not piece:
                    break
                first += piece
            nonce, said = first[:NONCE_BYTES], first[NONCE_BYTES:]
            for key in self._keys if self._called else [self._key]:
                if len(nonce) == NONCE_BYTES and len(said) == len(GREETING):
                    cipher = Salsa20.new(key=key, nonce=nonce)
                    if cipher.decrypt(said) == GREETING:
                        self._key, self._reads, self._ahead = key, cipher, GREETING
                        return
            self._hang_up()
            await self._inner.close()
            raise RemoteFault("the other side does not hold this swarm's key")

    def _hang_up(self) -> None:
        if self._called:
            Wall.refused["strangers_refused"] += 1
            return
        if len(self._broken_off) >= HOSTS_MAX:
            self._broken_off.clear()
        self._broken_off[self._where] += 1
