"""The parent's end of a worker process: one job at a time, and no process left behind.

The worker is started by the first job and again after it has died. A job that is given up is cancelled in the worker;
a worker that does not obey is killed.
"""

import contextlib
import json
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import trio

from swarmd.vocab.faults import LocalMistake, RemoteFault

_LINE_BYTES_MAX = 1 << 20  # the largest answer is some candidates' text; more is a broken worker
_CHUNK_BYTES = 1 << 16
_END_S_MAX = 1.0  # from the end of its output to its own

Json = dict[str, Any]

_LIKELY: dict[int, str] = {
    signal.SIGKILL: ", as happens when memory is short",
    signal.SIGILL: ": this CPU lacks something that the model needs",
}


class Link:
    """*argv*: the worker's command line. *silence_s*: how long a worker may say nothing before it counts
    as hung. *obey_s*: how long it may go on after a job was cancelled."""

    def __init__(self, argv: list[str], *, silence_s: float = 120, obey_s: float = 2) -> None:
        self._argv = argv
        self._silence_s = silence_s
        self._obey_s = obey_s
        self._lock = trio.Lock()
        self._process: trio.Process | None = None
        self._buffer = bytearray()
        self._is_ready = False
        self._last_id = 0

    @property
    def pid(self) -> int | None:
        """The worker's process id while there is one."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Have a worker with its model loaded. Raises LocalMistake if it does not load."""
        async with self._lock:
            await self._ready()

    async def ask(self, job: Json, on_text: Callable[[str], None] = lambda text: None) -> Any:
        """What the worker answers to *job*; *on_text* gets its pieces of text.

        Raises RemoteFault if the worker fails, dies or hangs; then the next job gets a new worker.
        """
        async with self._lock:
            await self._ready()
            self._last_id += 1
            number = self._last_id
            try:
                await self._send(job | {"id": number})
                return await self._answer(number, on_text)
            except trio.Cancelled:
                with trio.CancelScope(shield=True):
                    await self._give_up(number)
                raise

    async def close(self) -> None:
        """End the worker."""
        with trio.CancelScope(shield=True):
            await self._kill()

    async def _ready(self) -> None:
        if self._process is None or self._process.poll() is not None:
            await self._kill()
            with trio.CancelScope(shield=True):
                self._process = await trio.lowlevel.open_process(
                    self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
                )
        if self._is_ready:
            return
        message = await self._receive()
        if "fatal" in message:
            await self.close()
            raise LocalMistake(f"the embedded model does not load: {message['fatal']}")
        self._is_ready = True

    async def _answer(self, number: int, on_text: Callable[[str], None]) -> Any:
        while True:
            message = await self._receive()
            if message.get("id") != number:
                continue
            if "done" in message:
                return message["done"]
            if "error" in message:
                raise RemoteFault(f"embedded model: {message['error']}")
            on_text(message["text"])

    async def _give_up(self, number: int) -> None:
        with trio.move_on_after(self._obey_s):
            try:
                await self._send({"cancel": number})
                await self._answer(number, lambda text: None)
            except RemoteFault:
                pass  # it says that the job was cancelled, or it is dead
            return
        await self._kill()

    async def _send(self, message: Json) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        # shielded: half a line, or a job of which nobody knows whether it was sent, would cost the worker
        with trio.move_on_after(self._obey_s, shield=True):
            with contextlib.suppress(trio.BrokenResourceError):
                await process.stdin.send_all(json.dumps(message).encode() + b"\n")
                return
        await self.close()
        raise RemoteFault("the worker of the embedded model died or does not listen")

    async def _receive(self) -> Json:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        while (end := self._buffer.find(b"\n")) < 0:
            chunk = b""
            # closed: by `close`, while a job was under way
            with trio.move_on_after(self._silence_s) as patience, contextlib.suppress(trio.ClosedResourceError):
                chunk = bytes(await process.stdout.receive_some(_CHUNK_BYTES))
            self._buffer += chunk
            if patience.cancelled_caught:
                fault = f"has been silent for {self._silence_s:g} s"
            elif not chunk:
                fault = await _end(process) if self._process is process else "was ended"
            elif len(self._buffer) > _LINE_BYTES_MAX:
                fault = "wrote a line without end"
            else:
                continue
            await self.close()
            raise RemoteFault(f"the worker of the embedded model {fault}")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        try:
            message: Json = json.loads(line)
        except ValueError as error:
            await self.close()
            raise RemoteFault("the worker of the embedded model speaks no JSON") from error
        return message

    async def _kill(self) -> None:
        process, self._process, self._is_ready = self._process, None, False
        self._buffer.clear()
        if process is None:
            return
        with trio.CancelScope(shield=True):
            process.kill()
            await process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    await pipe.aclose()


async def _end(process: trio.Process) -> str:
    """How a worker ended that says no more."""
    with trio.move_on_after(_END_S_MAX, shield=True):
        await process.wait()
    code = process.returncode
    if code is None:
        return "closed its output"
    if code >= 0:
        return f"ended with status {code}"
    return f"died ({signal.strsignal(-code)}){_LIKELY.get(-code, '')}"
