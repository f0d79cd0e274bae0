"""Messages over their size are refused before they are read, and what people would see is safe."""

from collections.abc import Callable

import msgspec
import pytest

from swarmd.events.envelope import Envelope
from swarmd.gossip import frames
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault

PRESENCE = frames.Presence(name="shed", roles=("scorer",), wall_ms=1, hlc=1, fingerprint=bytes(16), run=bytes(16))
LIVE = frames.Live(goal="0f" * 32, task="0f" * 32, claim="0f" * 32, offset=0, text="so far")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("decoder", "bytes_max"),
    [
        (frames.decode_presence, limits.PRESENCE_BYTES_MAX),
        (frames.decode_live, limits.LIVE_BYTES_MAX * 5),
        (frames.decode_frame, limits.FRAME_BYTES_MAX),
        (frames.decode_batch, limits.ENVELOPE_BYTES_MAX * 2),
    ],
)
def test_a_message_over_its_size_is_refused_unread(decoder: Callable[[bytes], object], bytes_max: int) -> None:
    with pytest.raises(RemoteFault, match="over the limit"):
        decoder(bytes(bytes_max + 1))


def test_the_longest_live_chunk_and_the_largest_envelopes_fit() -> None:
    live = msgspec.structs.replace(LIVE, text="\U0001f680" * limits.LIVE_BYTES_MAX)
    assert frames.decode_live(frames.encode(live)) == live
    largest = Envelope(bytes(limits.ENVELOPE_BYTES_MAX - 64), bytes(64))
    assert frames.decode_batch(frames.encode((largest,))) == (largest,)
    give = frames.Give((largest,), more=True)
    assert frames.decode_frame(frames.encode(give)) == give


@pytest.mark.parametrize("field", ["name", "model", "version", "roles"])
def test_presence_that_could_drive_a_terminal_is_a_remote_fault(field: str) -> None:
    poison = ("\x1b[2J",) if field == "roles" else "\x1b[2J"
    with pytest.raises(RemoteFault, match="control characters"):
        frames.decode_presence(frames.encode(msgspec.structs.replace(PRESENCE, **{field: poison})))


def test_live_text_that_could_drive_a_terminal_is_a_remote_fault() -> None:
    with pytest.raises(RemoteFault, match="control characters"):
        frames.decode_live(frames.encode(msgspec.structs.replace(LIVE, text="\r\x1b[A")))
    kept = msgspec.structs.replace(LIVE, text="a line\n\tand another\n")
    assert frames.decode_live(frames.encode(kept)) == kept


@pytest.mark.parametrize("prefix", ["g", "A", "0\n", "0" * 66])
def test_a_bound_that_is_no_beginning_of_an_id_is_a_remote_fault(prefix: str) -> None:
    pull = frames.Pull("", frames.FIRST, frames.Bound(1, prefix))
    with pytest.raises(RemoteFault):
        frames.decode_frame(frames.encode(pull))
