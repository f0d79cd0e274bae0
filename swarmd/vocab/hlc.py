"""A hybrid logical clock (Kulkarni et al. 2014) in one integer: 48 bits of Unix milliseconds, then a 16-bit counter.

A stamp is later than every stamp its author had seen, and close to wall time when clocks are right. The counter carries
into the milliseconds by itself when it overflows.
"""

from typing import NewType

Hlc = NewType("Hlc", int)

_COUNTER_BITS = 16
ZERO = Hlc(0)
HLC_MAX = Hlc((1 << 63) - 1)  # the year 6429; a signed 64-bit wire integer holds it


def at(wall_ms: int) -> Hlc:
    """The earliest stamp of that millisecond of Unix time."""
    return Hlc(max(0, wall_ms) << _COUNTER_BITS)


def wall_ms(stamp: Hlc) -> int:
    """The Unix time of a stamp in milliseconds."""
    return stamp >> _COUNTER_BITS


def tick(last: Hlc, now_ms: int) -> Hlc:
    """The stamp of a new own event: the wall clock if it has moved on, else just after the last stamp seen."""
    return max(at(now_ms), Hlc(last + 1))


def witness(last: Hlc, heard: Hlc) -> Hlc:
    """The clock after an event stamped *heard* was taken in."""
    return max(last, heard)
