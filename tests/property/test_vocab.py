"""Clocks only go forward, text is clean for good, and every peer finds the same order alone."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from swarmd.vocab import hlc
from swarmd.vocab.ids import PeerId, rendezvous
from swarmd.vocab.text import clean, cut, is_safe

# all of Unicode, surrogates too, with a taste for what terminals, lines and normal forms are made of
tricky = st.sampled_from(
    [
        *"\x1b[]0;m\x07\\\x9b\x90\x85\r\n\t \x00\x7f\u2028\u2029\u202e\u2066\u061c\u200d\ufeff\ud800\udfff",
        *("\r\n", "\x1b[31m", "👩‍🚀"),
        *"e\u0301\u0327\u1100\u1161\u11a8\u0344\u2000\u3000\u00a0\U0001d15e",
    ]
)
text = st.lists(tricky | st.characters(), max_size=30).map("".join)
sizes = st.integers(0, 80)
stamps = st.integers(0, hlc.at(4_102_444_800_000)).map(hlc.Hlc)  # to the year 2100
walls = st.integers(-(2**40), 2**42)
peers = st.text("123456789ABCDEFGH", min_size=1, max_size=4).map(PeerId)


@given(text, sizes, st.booleans())
@example("e\x01\u0301", 80, True)
@example("\x1b\x1b[0m[31m", 80, False)
@example("a\u202e\u0301", 80, False)
@example("👩‍🚀" * 10, 13, False)
def test_clean_text_is_safe_bounded_and_stays_as_it_is(dirty: str, bytes_max: int, lines: bool) -> None:
    cleaned = clean(dirty, bytes_max, lines=lines)
    assert is_safe(cleaned, lines=lines)
    assert len(cleaned.encode()) <= bytes_max
    assert clean(cleaned, bytes_max, lines=lines) == cleaned
    assert cleaned == unicodedata.normalize("NFC", cleaned)
    assert cleaned == cleaned.strip()
    assert lines or "\n" not in cleaned


@given(st.text(st.characters(exclude_categories=["C", "Z"]), max_size=40))
def test_plain_words_in_any_script_are_kept(words: str) -> None:
    assert clean(words, 10_000) == unicodedata.normalize("NFC", words)


@given(st.text(st.characters(exclude_categories=["Cs"])), sizes)
def test_cut_keeps_the_longest_beginning_of_whole_characters(whole: str, bytes_max: int) -> None:
    beginning = cut(whole, bytes_max)
    assert whole.startswith(beginning)
    assert len(beginning.encode()) <= bytes_max
    following = whole[len(beginning) : len(beginning) + 1]
    assert not following or len((beginning + following).encode()) > bytes_max


@given(stamps, walls)
def test_a_tick_is_later_than_all_that_was_seen_and_never_behind_the_wall(last: hlc.Hlc, wall: int) -> None:
    stamp = hlc.tick(last, wall)
    assert stamp > last
    assert stamp >= hlc.at(wall)
    assert stamp in (hlc.at(wall), last + 1), "and no later than need be"


@given(st.lists(st.tuples(st.booleans(), walls, stamps), max_size=30))
def test_a_clock_that_ticks_and_witnesses_never_goes_back(steps: list[tuple[bool, int, hlc.Hlc]]) -> None:
    last, own = hlc.ZERO, [hlc.ZERO]
    for is_own, wall, heard in steps:
        if is_own:
            last = hlc.tick(last, wall)
            assert last > own[-1]
            own.append(last)
        else:
            before, last = last, hlc.witness(last, heard)
            assert last >= before
            assert last >= heard


@given(walls)
def test_a_stamp_tells_its_millisecond(wall: int) -> None:
    assert hlc.wall_ms(hlc.at(wall)) == max(0, wall)


@given(st.text(), st.lists(peers, unique=True, max_size=12), st.randoms(use_true_random=False))
def test_rendezvous_order_depends_on_the_set_alone(key: str, members: list[PeerId], rng: object) -> None:
    key = key.encode("utf-8", "replace").decode()
    order = rendezvous(key, members)
    shuffled = members + members[:3]
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    assert rendezvous(key, shuffled) == order
    assert set(order) == set(members)
    for gone in members:
        rest = [peer for peer in order if peer != gone]
        assert rendezvous(key, rest) == rest


def test_rendezvous_gives_every_peer_its_share_of_first_places() -> None:
    members = [PeerId(f"peer{number}") for number in range(5)]
    firsts = [rendezvous(f"task {number}", members)[0] for number in range(1_000)]
    assert all(150 < firsts.count(peer) < 250 for peer in members)
