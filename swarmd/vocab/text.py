"""Text from outside is data: valid UTF-8, bounded, without control characters, escapes or direction tricks.

Cleaned once where it enters (a goal, a model's answer, another peer's event), so that no later reader has to.
"""

import re
import unicodedata

# terminal escape sequences: CSI … final byte, OSC … BEL or ST, and two-character escapes (ECMA-48)
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_]?|\x9b[0-?]*[ -/]*[@-~]")
_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character; no UTF-8 for it
# explicit direction overrides and isolates (Unicode UAX #9): they reorder what a terminal shows
_BIDI = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSAFE_LINES = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))


def clean(text: str, bytes_max: int, *, lines: bool = False) -> str:
    """*text* made safe to store and show, cut to *bytes_max* bytes of UTF-8 at a character.

    With *lines*, line breaks and tabs stay; otherwise all white space becomes single spaces. Lone surrogates become
    U+FFFD. Idempotent.
    """
    if text.isascii() and text.isprintable():  # most text, and a busy peer reads a lot of it
        return cut(text.strip() if lines else " ".join(text.split()), bytes_max).rstrip()
    text = _SURROGATE.sub("\ufffd", text)
    text = _ESCAPE.sub("", text).translate(_BIDI)
    if lines:
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
        text = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
        text = unicodedata.normalize("NFC", text).strip()  # composed last: what stood between two marks is gone now
    else:
        text = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs") else c for c in text)
        text = " ".join(unicodedata.normalize("NFC", text).split())
    return cut(text, bytes_max).rstrip()


def cut(text: str, bytes_max: int) -> str:
    """The longest beginning of *text* that fits *bytes_max* bytes and ends on a whole character."""
    raw = text.encode()
    return text if len(raw) <= bytes_max else raw[:bytes_max].decode("utf-8", "ignore")


def is_safe(text: str, *, lines: bool = False) -> bool:
    """Whether *text* holds nothing that could drive a terminal or forge a line.

    Every peer must judge alike, so this rests on fixed code points only and not on the Unicode tables of one Python.
    """
    return not (_UNSAFE_LINES if lines else _UNSAFE).search(text)
