"""What people read holds nothing that could drive their terminal."""

import pytest

from swarmd.vocab.text import clean, cut, is_safe


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("  plan \t a\r\ntrip  ", "plan a trip"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("nul\x00 bell\x07", "nul bell"),
        ("ab\u202ecd", "abcd"),
        ("line\u2028separator", "line separator"),
        ("half \ud800", "half \ufffd"),
        ("e\x1b[0m\u0301", "é"),
        ("👩‍🚀 日本 Київ", "👩‍🚀 日本 Київ"),
        ("\x00", ""),
    ],
)
def test_one_line_is_cleaned(dirty: str, cleaned: str) -> None:
    assert clean(dirty, 1_000) == cleaned


def test_lines_keep_breaks_and_tabs() -> None:
    assert clean("\n a\r\nb\rc\u2028d\te\x0b\x1b[2J\n", 1_000, lines=True) == "a\nb\nc\nd\te"


def test_text_is_cut_at_a_whole_character_without_trailing_space() -> None:
    assert cut("aé", 2) == "a"
    assert cut("aé", 3) == "aé"
    assert clean("abc def", 4) == "abc"
    assert clean("👩" * 3, 9) == "👩👩"


@pytest.mark.parametrize("text", ["a\tb", "a\nb"])
def test_breaks_and_tabs_are_safe_in_long_text_only(text: str) -> None:
    assert is_safe(text, lines=True)
    assert not is_safe(text)


@pytest.mark.parametrize("character", ["\x1b", "\r", "\x7f", "\x9b", "\u200e", "\u2028", "\u202e", "\u2069", "\ud800"])
def test_what_drives_a_terminal_is_never_safe(character: str) -> None:
    assert not is_safe(character)
    assert not is_safe(character, lines=True)
