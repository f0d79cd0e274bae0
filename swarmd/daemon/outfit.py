"""What this peer works with: a model that its machine bears, or the one that the configuration names."""

from collections.abc import Callable
from pathlib import Path

import trio

from swarmd.config import Config
from swarmd.hardware import Machine, Suited, has_room_for_embedded, picker, probe, suit
from swarmd.llm import choose
from swarmd.ports import Llm
from swarmd.roles.work import Backend


class Outfit:
    """*look*: what tells of the machine; it may block."""

    def __init__(self, config: Config, look: Callable[[], Machine] = probe) -> None:
        self._config = config
        self._look = look
        self._machine: Machine | None = None

    async def machine(self) -> Machine:
        """This machine, looked at once."""
        if self._machine is None:
            self._machine = await trio.to_thread.run_sync(self._look)
        return self._machine

    async def choose(self) -> Llm:
        """A model backend. Raises LocalMistake saying what is missing."""
        machine, model = await self.machine(), self._config.model
        return choose(
            model.backend,
            host=model.host,
            model=model.name or None,
            key_file=Path(model.key_file) if model.key_file else None,
            threads=model.threads or None,
            slots=model.slots or None,
            context_tokens=model.context or None,
            pick=picker(machine),
            room=has_room_for_embedded(machine),
            delay_ms=model.delay_ms,
        )

    def suit(self, backend: Backend) -> Suited:
        """What this peer does with *backend*, which `choose` led to."""
        assert self._machine is not None
        roles = None if self._config.roles == "auto" else self._config.roles
        return suit(self._machine, backend, roles=roles, slots=self._config.model.slots or None)
