"""Who is there, by their own word and our own ears. Liveness is judged on this machine's monotonic clock only."""

import statistics
from dataclasses import dataclass

from swarmd.gossip.frames import Presence
from swarmd.vocab import limits
from swarmd.vocab.ids import PeerId

_MISSES = 3  # presences that may be lost in a row before a peer counts as gone


@dataclass(slots=True)
class Seen:
    """A peer's last word, and when it came by our monotonic clock."""

    presence: Presence
    mono_ms: int

    def offset_ms(self, wall_ms: int, mono_ms: int) -> int:
        """Its wall clock less ours. Its clock is carried on by our monotonic one, so that a step of our wall clock
        shows at once instead of being taken for theirs."""
        return self.presence.wall_ms + mono_ms - self.mono_ms - wall_ms


class Roster:
    """All peers that were heard since the start, oldest word dropped first over the limit."""

    def __init__(self, presence_ms: int) -> None:
        """*presence_ms*: how often peers announce themselves."""
        self.suspect_ms = presence_ms * _MISSES + presence_ms // 2
        self.seen: dict[PeerId, Seen] = {}
        self.connected: set[PeerId] = set()
        self.turns = 0  # how often somebody came, went or changed roles
        self._alive: dict[PeerId, Presence] = {}
        self._alive_until_ms = -1

    def hear(self, peer: PeerId, presence: Presence, mono_ms: int) -> Presence | None:
        """Note a peer's word; returns its previous one."""
        before = self.seen.pop(peer, None)
        if len(self.seen) >= limits.PEERS_MAX:
            self.seen.pop(next(iter(self.seen)))
            self._alive_until_ms = -1
        self.seen[peer] = Seen(presence, mono_ms)
        known = self._alive.get(peer)
        if known is not None and not presence.leaving and presence.roles == known.roles:
            self._alive[peer] = presence
        else:
            self._alive_until_ms = -1
        return before.presence if before else None

    def alive(self, mono_ms: int) -> dict[PeerId, Presence]:
        """Peers that have spoken lately and not said goodbye, in order of id."""
        if mono_ms > self._alive_until_ms:
            before = self._alive
            lately = mono_ms - self.suspect_ms
            here = {p: s for p, s in sorted(self.seen.items()) if s.mono_ms >= lately and not s.presence.leaving}
            self._alive = {peer: seen.presence for peer, seen in here.items()}
            self._alive_until_ms = min((seen.mono_ms for seen in here.values()), default=mono_ms) + self.suspect_ms
            self.turns += _held(before) != _held(self._alive)
        return self._alive

    def next_silence_ms(self, mono_ms: int) -> int | None:
        """When, on the monotonic clock, the next of the peers that are alive will be given up if it says nothing."""
        times = [seen.mono_ms + self.suspect_ms + 1 for seen in self.seen.values()]
        return min((time for time in times if time > mono_ms), default=None)

    def offset_ms(self, wall_ms: int, mono_ms: int) -> int:
        """How far this machine's clock must be moved to agree with the swarm's median clock.

        A clock from before the first release is certainly wrong and has no say; the lower median keeps two machines
        that disagree from chasing each other into the future. Peers that have fallen silent keep their say: a machine
        that is cut off must not begin to believe its own wrong clock.
        """
        votes = [seen.offset_ms(wall_ms, mono_ms) for seen in self.seen.values()]
        votes = [offset for offset in votes if wall_ms + offset >= limits.PLAUSIBLE_MS_MIN]
        if wall_ms >= limits.PLAUSIBLE_MS_MIN:
            votes.append(0)
        return statistics.median_low(votes) if votes else 0


def _held(alive: dict[PeerId, Presence]) -> list[tuple[PeerId, tuple[str, ...]]]:
    return [(peer, presence.roles) for peer, presence in alive.items()]
