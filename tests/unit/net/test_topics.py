"""Queues of what waits to be said, with no network."""

import pytest

from swarmd.events.envelope import Envelope
from swarmd.gossip.frames import Live, decode_batch, decode_live, encode
from swarmd.net.topics import (
    BATCH_BYTES_MAX,
    BATCH_ENVELOPES_MAX,
    CHUNKS_MAX,
    OUTBOX_BYTES_MAX,
    OUTBOX_ENVELOPES_MAX,
    Chunks,
    Outbox,
)
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake
from swarmd.vocab.ids import EventId


def envelope(number: int, size: int = 100) -> Envelope:
    return Envelope(str(number).encode().ljust(size - 64, b"."), b"s" * 64)


def live(offset: int, text: str, claim: str = "c") -> Live:
    return Live(goal="a" * 64, task="b" * 64, claim=EventId(claim * 64), offset=offset, text=text)


def drained(outbox: Outbox) -> list[tuple[Envelope, ...]]:
    batches = []
    while batch := outbox.take():
        batches.append(batch)
    return batches


def test_events_that_wait_travel_together_in_order() -> None:
    outbox = Outbox()
    events = [envelope(number) for number in range(500)]
    for event in events:
        outbox.put([event])
    assert drained(outbox) == [tuple(events)]


@pytest.mark.parametrize("size", [80, 1_000, 60_000, limits.ENVELOPE_BYTES_MAX])
def test_no_message_is_larger_than_what_the_network_carries(size: int) -> None:
    outbox = Outbox()
    events = [envelope(number, size) for number in range(3_000 if size < 60_000 else 12)]
    assert not outbox.put(events)
    batches = drained(outbox)
    assert [event for batch in batches for event in batch] == events
    assert all(len(batch) <= BATCH_ENVELOPES_MAX for batch in batches)
    for batch in batches:
        data = encode(batch)
        assert len(data) <= BATCH_BYTES_MAX + 32
        assert decode_batch(data) == batch


def test_a_full_outbox_drops_the_oldest_and_says_how_many() -> None:
    outbox = Outbox()
    outbox.put([envelope(number) for number in range(OUTBOX_ENVELOPES_MAX)])
    assert outbox.put([envelope(-1), envelope(-2)]) == 2
    assert len(outbox) == OUTBOX_ENVELOPES_MAX
    assert outbox.take()[0] == envelope(2)


def test_an_outbox_is_bounded_in_bytes() -> None:
    outbox = Outbox()
    fitting = OUTBOX_BYTES_MAX // limits.ENVELOPE_BYTES_MAX
    assert outbox.put([envelope(number, limits.ENVELOPE_BYTES_MAX) for number in range(fitting + 3)]) == 3
    drained(outbox)
    assert outbox.put([envelope(number, limits.ENVELOPE_BYTES_MAX) for number in range(fitting)]) == 0


def test_an_event_over_the_limit_is_refused_and_none_of_its_company_is_kept() -> None:
    outbox = Outbox()
    with pytest.raises(LocalMistake):
        outbox.put([envelope(1), envelope(2, limits.ENVELOPE_BYTES_MAX + 1)])
    assert not outbox.take()


def test_running_text_that_follows_on_becomes_one_piece() -> None:
    chunks = Chunks()
    for offset, letter in enumerate("hello"):
        assert chunks.put(live(offset, letter))
        assert chunks.put(live(offset, letter.upper(), claim="d"))
    assert chunks.take() == live(0, "hello")
    assert chunks.take() == live(0, "HELLO", claim="d")
    assert chunks.take() is None


def test_running_text_with_a_gap_stays_apart() -> None:
    chunks = Chunks()
    chunks.put(live(0, "hello"))
    chunks.put(live(6, "world"))
    assert [chunks.take(), chunks.take()] == [live(0, "hello"), live(6, "world")]


def test_joined_running_text_stays_within_the_limit_whatever_its_script() -> None:
    chunks = Chunks()
    text = "\U0001f6e0" * 1_000
    for part in range(10):
        chunks.put(live(part * 1_000, text))
    pieces = []
    while piece := chunks.take():
        assert decode_live(encode(piece)) == piece
        pieces.append(piece.text)
    assert "".join(pieces) == text * 10


def test_a_full_queue_of_running_text_takes_no_more() -> None:
    chunks = Chunks()
    assert all(chunks.put(live(2 * number, "x")) for number in range(CHUNKS_MAX))
    assert not chunks.put(live(10_000, "x"))


def test_a_chunk_over_the_limit_is_refused() -> None:
    with pytest.raises(LocalMistake):
        Chunks().put(live(0, "x" * (limits.LIVE_BYTES_MAX + 1)))
