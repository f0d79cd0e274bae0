"""Single keys from a terminal, while something else is shown on it."""

import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

import trio


@contextmanager
def single_keys() -> Iterator[bool]:
    """Let keys arrive one by one and unseen for as long as the context lasts. Gives whether they do: only where
    standard input is a terminal, and ours to read."""
    try:
        fd = sys.stdin.fileno()
        ours = os.isatty(fd) and os.tcgetpgrp(fd) == os.getpgrp()  # a background job that touches it would be stopped
    except (OSError, ValueError):
        ours = False
    if not ours:
        yield False
        return
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)
    try:
        yield True
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


async def pressed(keys: bytes) -> None:
    """Return when one of *keys* was pressed; never, once the terminal is gone."""
    fd = sys.stdin.fileno()
    while True:
        await trio.lowlevel.wait_readable(fd)
        typed = os.read(fd, 64)
        if set(typed) & set(keys):
            return
        if not typed:
            await trio.sleep_forever()
