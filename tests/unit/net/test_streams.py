"""Frames on a stream that hands out bytes as it likes."""

import pytest
import trio

from swarmd.net.streams import framed, read_frame, write_frame
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault


class Trickle:
    """A stream that returns at most *piece* bytes a read, then its end."""

    def __init__(self, data: bytes, piece: int, broken: bool = False) -> None:
        self.data = data
        self.piece = piece
        self.broken = broken
        self.written = b""

    async def read(self, n: int | None = None) -> bytes:
        assert n
        if self.broken and not self.data:
            raise ConnectionResetError
        taken, self.data = self.data[: min(n, self.piece)], self.data[min(n, self.piece) :]
        return taken

    async def write(self, data: bytes) -> None:
        if self.broken:
            raise ConnectionResetError
        self.written += data

    async def close(self) -> None: ...

    async def reset(self) -> None: ...


@pytest.mark.parametrize("piece", [1, 3, 1_000])
def test_frames_are_read_whole_however_the_bytes_come(piece: int) -> None:
    bodies = [b"", b"a", b"b" * 1_000]
    stream = Trickle(b"".join(map(framed, bodies)), piece)

    async def scenario() -> list[bytes | None]:
        return [await read_frame(stream) for _ in range(4)]

    assert trio.run(scenario) == [*bodies, None]


@pytest.mark.parametrize("sent", [b"\0", b"\0\0\0\2a", (limits.FRAME_BYTES_MAX + 1).to_bytes(4, "big"), b"\xff" * 9])
def test_half_a_frame_or_too_large_a_one_is_a_fault(sent: bytes) -> None:
    with pytest.raises(RemoteFault):
        trio.run(read_frame, Trickle(sent, 10))


def test_the_largest_frame_passes() -> None:
    body = b"x" * limits.FRAME_BYTES_MAX
    stream = Trickle(b"", 1)
    trio.run(write_frame, stream, body)
    assert trio.run(read_frame, Trickle(stream.written, 70_000)) == body


def test_a_stream_that_breaks_is_the_other_sides_fault() -> None:
    with pytest.raises(RemoteFault):
        trio.run(read_frame, Trickle(b"\0\0", 1, broken=True))
    with pytest.raises(RemoteFault):
        trio.run(write_frame, Trickle(b"", 1, broken=True), b"x")
