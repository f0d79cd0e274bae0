"""The one way from the control socket into the daemon: a command gets its answer, a watcher hears what changes."""

from contextlib import AbstractContextManager
from typing import Protocol

import trio

from swarmd.plan.views import Change
from swarmd.replica.effects import Value
from swarmd.replica.inputs import Command


class Door(Protocol):
    """What the control server needs of the daemon."""

    async def command(self, command: Command) -> Value:
        """The answer: a goal id for `SetGoal` and `CancelGoal`, goal lines, a view for the others.

        Raises LocalMistake if it cannot be done, and UnknownId if no goal, or more than one, has that id.
        """

    def watch(self) -> AbstractContextManager[trio.MemoryReceiveChannel[Change]]:
        """What changes from now on, until the context ends. The channel is bounded: a reader that is too slow loses
        changes and is told so once by a `Change`. The channel ends when the daemon does."""
