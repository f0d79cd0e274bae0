"""Finds a model, sees that it stays, has it tested once, and finds another one when it goes. Nothing restarts."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
import trio

from swarmd.hardware import Suited
from swarmd.ports import Deliver, Llm
from swarmd.replica.inputs import BackendChanged
from swarmd.replica.me import ROLES
from swarmd.roles.work import Backend
from swarmd.vocab.faults import LocalMistake, RemoteFault

_log = logging.getLogger("swarmd.daemon")

_PROBE_S = 30.0  # how often the model is asked whether it is there; costs one small request
_PROBE_AGAIN_S = 5.0  # while it is away
_DOUBT_S = 1.0  # the soonest that a fault in its work has it asked again
_TESTS_MAX = 3  # a server may be busy at the first one
_LOOKING = "still looking for one"

Choose = Callable[[], Awaitable[Llm]]
"""Finds a model backend, or raises LocalMistake saying what is missing."""
Suit = Callable[[Backend], Suited]
"""What this peer does with a backend."""


def everything(backend: Backend) -> Suited:
    """Every role, and as many requests as the backend serves."""
    return Suited(ROLES, backend.slots, ())


class ModelWatch:
    """*llm*: the model while there is one. *missing*: why there is none, in words; or empty."""

    def __init__(self, choose: Choose, suit: Suit, deliver: Deliver) -> None:
        self.llm: Llm | None = None
        self.missing = _LOOKING
        self._way: tuple[Choose, Suit] = choose, suit  # how the next one is to be found
        self._suit = suit  # belongs to the way that led to `llm`
        self._deliver = deliver
        self._anew = False  # whether it is to be chosen anew
        self._doubted = False
        self._testing = False
        self._wake = trio.Event()
        self._tests: Counter[tuple[str, str]] = Counter()  # of each backend's model

    def choose_by(self, choose: Choose, suit: Suit) -> None:
        """Look for a model in another way from now on. What the present one is doing begins again with the next."""
        self._way, self._anew = (choose, suit), True
        self._wake.set()

    def doubt(self) -> None:
        """Something went wrong in its work: ask it soon whether it is still there."""
        self._doubted = True
        self._wake.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        try:
            async with trio.open_nursery() as nursery:
                while True:
                    await self._look(nursery)
        finally:
            with trio.CancelScope(shield=True):
                await self._let_go()

    async def _look(self, nursery: trio.Nursery) -> None:
        try:
            if self.llm is None:
                choose, self._suit = self._way
                self.llm = await choose()
            backend = await self.llm.probe()
        except (RemoteFault, LocalMistake) as fault:
            if str(fault) != self.missing:
                _log.warning("no model: %s", fault)
                self.missing = str(fault)
            self._deliver(BackendChanged(None))
            await self._let_go()
            await self._rest(_PROBE_AGAIN_S)
            return
        suited = self._suit(backend)
        self._deliver(
            BackendChanged(msgspec.structs.replace(backend, slots=suited.slots), suited.roles, suited.reasons)
        )
        self.missing = ""
        model = (backend.name, backend.model)
        if backend.tokens_per_s is None and not self._testing and self._tests[model] < _TESTS_MAX:
            self._tests[model] += 1
            self._testing = True
            nursery.start_soon(self._test, self.llm)
        await self._rest(_PROBE_S)

    async def _test(self, llm: Llm) -> None:
        """The self-test, beside everything else: it may take minutes to load a model."""
        try:
            await llm.measure()
        except (RemoteFault, LocalMistake) as fault:
            _log.info("the model's speed is not known: %s", fault)
        else:
            if llm is self.llm:
                self._wake.set()
        finally:
            self._testing = False

    async def _rest(self, seconds: float) -> None:
        """Wait for the next probe; if the model is to be chosen anew, let go of this one and wait no longer."""
        with trio.move_on_after(seconds):
            await self._wake.wait()
            if self._doubted and not self._anew:
                await trio.sleep(_DOUBT_S)
        self._wake, self._doubted = trio.Event(), False
        if self._anew:
            self._anew, self.missing = False, _LOOKING
            self._deliver(BackendChanged(None))
            await self._let_go()

    async def _let_go(self) -> None:
        llm, self.llm = self.llm, None
        self._tests.clear()
        if llm is not None:
            with suppress(RemoteFault):
                await llm.close()
