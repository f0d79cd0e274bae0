"""The machine's two clocks."""

import time

import trio

from swarmd.replica.inputs import Now


class SystemClock:
    """Wall time from the system, monotonic time from trio's clock, so that both agree with every deadline of the
    loop."""

    def now(self) -> Now:
        """One reading, in milliseconds."""
        return Now(wall_ms=time.time_ns() // 1_000_000, mono_ms=int(trio.current_time() * 1_000))
