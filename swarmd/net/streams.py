"""Length-prefixed frames on a byte stream: four bytes, big-endian, then that many bytes. Whole frames or a fault."""

from typing import Protocol

from libp2p.network.stream.exceptions import StreamEOF

from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault

PREFIX_BYTES = 4


class Stream(Protocol):
    """What of a libp2p stream is used here. `read` may return less than was asked for, and nothing at the end."""

    async def read(self, n: int | None = None) -> bytes: ...
    async def write(self, data: bytes) -> None: ...
    async def close(self) -> None: ...
    async def reset(self) -> None: ...


def framed(body: bytes) -> bytes:
    """The frame of *body*, which must not be over the limit."""
    assert len(body) <= limits.FRAME_BYTES_MAX, f"a frame of {len(body)} bytes was built"
    return len(body).to_bytes(PREFIX_BYTES, "big") + body


async def read_frame(stream: Stream) -> bytes | None:
    """The next frame's body, or None if the stream ended between two frames.

    Raises RemoteFault if it announces too much, ends within a frame, or breaks.
    """
    prefix = await _read_exactly(stream, PREFIX_BYTES)
    if not prefix:
        return None
    length = int.from_bytes(prefix, "big")
    if len(prefix) < PREFIX_BYTES or length > limits.FRAME_BYTES_MAX:
        raise RemoteFault(f"frame of {length} bytes announced, {limits.FRAME_BYTES_MAX} are allowed")
    body = await _read_exactly(stream, length)
    if len(body) < length:
        raise RemoteFault("stream ended within a frame")
    return body


async def write_frame(stream: Stream, body: bytes) -> None:
    """Send one frame. Raises RemoteFault if the stream breaks."""
    frame = framed(body)
    try:
        await stream.write(frame)
    except Exception as error:  # the library raises whatever its layers raise
        raise RemoteFault(f"stream broke: {error!r}") from error


async def _read_exactly(stream: Stream, length: int) -> bytes:
    """*length* bytes, or what came before the end. (The library's function for this gives up after 100 pieces.)"""
    data = bytearray()
    while len(data) < length:
        try:
            piece = await stream.read(length - len(data))
        except StreamEOF:
            break
        except Exception as error:  # the library raises whatever its layers raise
            raise RemoteFault(f"stream broke: {error!r}") from error
        if not piece:
            break
        data += piece
    return bytes(data)
