"""Where a followed goal is shown: a picture that renews itself on a terminal, plain lines everywhere else."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import RenderableType
from rich.live import Live

from swarmd.cli.follow import OnUpdate, Sight
from swarmd.cli.live import live_view
from swarmd.cli.session import terminal_is_plain
from swarmd.cli.words import ASCII, UNICODE, Signs, clock, console, elapsed_s, story_line


def wall_ms() -> int:
    """Unix time, milliseconds."""
    return time.time_ns() // 1_000_000


def signs_for(stream: TextIO) -> Signs:
    """The signs that *stream*'s terminal can show."""
    return ASCII if terminal_is_plain(os.environ, getattr(stream, "encoding", None)) else UNICODE


class Lines:
    """Says a goal's story line by line, and how far it is whenever that grows."""

    def __init__(self, say: Callable[[str], None], *, story: bool = True) -> None:
        self._say = say
        self._story = story
        self._done = 0
        self._connected = True

    def __call__(self, sight: Sight) -> None:
        """Say what is new."""
        if self._story:
            for change in sight.news:
                if change.kind != "live" and change.text:
                    self._say(story_line(change))
        now = clock(wall_ms())
        if sight.connected != self._connected:
            self._connected = sight.connected
            self._say(f"{now} the daemon is {'back' if sight.connected else 'away, waiting for it'}")
        if sight.goal.done > self._done:
            self._done = sight.goal.done
            self._say(f"{now} {self._done} of {sight.goal.tasks} tasks done")
        if sight.goal.status != "open":
            self._say(f"{now} the goal is {sight.goal.status}")


@contextmanager
def shown(stream: TextIO, *, full: bool = False) -> Iterator[OnUpdate]:
    """Show a followed goal on *stream* for as long as the context lasts; the last picture stays. *full*: on a terminal,
    take its whole screen meanwhile."""
    signs = signs_for(stream)
    screen = console(stream, signs)
    if not screen.is_terminal or screen.is_dumb_terminal:
        yield Lines(lambda line: print(line, file=stream, flush=True))
        return
    last: list[RenderableType] = []
    try:
        with Live(console=screen, screen=full, auto_refresh=False, vertical_overflow="crop") as live:

            def show(sight: Sight) -> None:
                width, height = screen.size
                picture = live_view(
                    sight.goal, sight.peers, sight.story, width, height - 1, elapsed_s(sight.goal, wall_ms()), signs
                )
                last[:] = [picture]
                live.update(picture, refresh=True)

            yield show
    finally:
        for picture in last if full else ():
            screen.print(picture)
