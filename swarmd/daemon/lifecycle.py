"""Start and stop: ready only when the control socket answers and the port is bound; gone within seconds of a signal."""

import logging
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import sdnotify
import trio

from swarmd.control.server import serve
from swarmd.daemon.loop import Loop

_log = logging.getLogger("swarmd.daemon")

_STOP_S_MAX = 4.0  # systemd and the demo allow five


async def live(
    loop: Loop,
    *,
    path: Path,
    mode: int,
    handed: socket.socket | None,
    notifier: sdnotify.SystemdNotifier,
    reload: Callable[[], None],
) -> None:
    """Run *loop* and its control socket until SIGTERM or SIGINT; SIGHUP calls *reload*. The socket is *handed*, or made
    at *path* with *mode*."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_heed_reload, reload, notifier)
        nursery.start_soon(_heed_signals, loop, nursery.cancel_scope)
        await nursery.start(_live_and_end, loop, nursery.cancel_scope)
        await nursery.start(lambda task_status: serve(path, loop, mode=mode, handed=handed, task_status=task_status))
        notifier.notify("READY=1\nSTATUS=planning with the swarm")
        _log.info("ready; control socket at %s", handed.getsockname() if handed else path)
    notifier.notify("STOPPING=1")


async def _live_and_end(loop: Loop, scope: trio.CancelScope, *, task_status: trio.TaskStatus[None]) -> None:
    await loop.run(task_status=task_status)
    scope.cancel()


async def _heed_reload(reload: Callable[[], None], notifier: sdnotify.SystemdNotifier) -> None:
    with trio.open_signal_receiver(signal.SIGHUP) as signals:
        async for _ in signals:
            notifier.notify(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1_000}")  # sd_notify(3)
            reload()
            notifier.notify("READY=1")


async def _heed_signals(loop: Loop, scope: trio.CancelScope) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            _log.info("stopping")
            loop.stop()
            await trio.sleep(_STOP_S_MAX)
            scope.cancel()
