"""A control server on a real socket in a thread of its own, so that whoever asks finds it as a real daemon's."""

import threading
from collections.abc import Callable
from pathlib import Path

import trio

from swarmd.control.server import serve
from tests.unit.invented import InMemoryDoor

LIMIT_S = 15.0


class Served:
    """Serves *door* at *path* from `start` to `stop`."""

    def __init__(self, path: Path, door: InMemoryDoor) -> None:
        self.path = path
        self.door = door
        self._ready = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._run,))

    async def _run(self) -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(serve, self.path, self.door)
            self._nursery, self._token = nursery, trio.lowlevel.current_trio_token()
            self._ready.set()

    def start(self) -> None:
        """Return when it answers."""
        self._thread.start()
        assert self._ready.wait(LIMIT_S)

    def do(self, deed: Callable[[], None]) -> None:
        """Do something on the server's own thread."""
        self._token.run_sync_soon(deed)

    def stop(self) -> None:
        """End it."""
        self._token.run_sync_soon(self._nursery.cancel_scope.cancel)
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive()
