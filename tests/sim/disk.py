"""One simulated disk: what was synced survives a crash, the rest survives as far as luck goes, in order."""

import random
from dataclasses import dataclass, field

from swarmd.events.envelope import Envelope


@dataclass(slots=True)
class Disk:
    """An append-only journal. *synced*: how many records are on the platter; *backups*: lengths at which it was
    copied."""

    records: list[Envelope] = field(default_factory=list)
    synced: int = 0
    backups: list[int] = field(default_factory=list)

    def append(self, envelopes: tuple[Envelope, ...], *, sync: bool) -> None:
        """Write at the end; with *sync*, all that was ever written is safe afterwards."""
        self.records.extend(envelopes)
        if sync:
            self.synced = len(self.records)

    def crash(self, rng: random.Random) -> None:
        """Power is gone: some of what was not synced is lost, the latest first."""
        del self.records[rng.randint(self.synced, len(self.records)) :]
        self.synced = len(self.records)

    def back_up(self) -> None:
        """Somebody copies the disk."""
        self.backups.append(len(self.records))

    def restore(self, rng: random.Random) -> list[Envelope]:
        """The disk of some earlier day comes back; returns what it has forgotten."""
        kept = rng.choice(self.backups) if self.backups else 0
        lost = self.records[kept:]
        del self.records[kept:]
        self.synced = len(self.records)
        self.backups = [length for length in self.backups if length <= kept]
        return lost

    def load(self) -> tuple[Envelope, ...]:
        """What a daemon finds at its start."""
        return tuple(self.records)
