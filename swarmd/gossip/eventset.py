"""The set of all events that this peer has, in groups that reconcile one by one. It only grows, until a goal is pruned.

A group's fingerprint is the sum of its ids modulo 2**256 and their number, hashed: sets can be compared range by
range and a new event costs one addition (Meyer 2023, "Range-Based Set Reconciliation").
Of a goal that was pruned a summary stays, so that it does not come back.
"""

import hashlib
import heapq
from collections.abc import Iterator

from sortedcontainers import SortedList

from swarmd.events.codec import group as group_of
from swarmd.events.envelope import Envelope, Opened
from swarmd.gossip.frames import Bound, GroupSummary
from swarmd.vocab.ids import EventId

FINGERPRINT_BYTES = 16
_MODULUS = 1 << 256
_Key = tuple[int, str]  # (HLC, id): the order in which ranges are cut


def fingerprint(total: int, count: int) -> bytes:
    """16 bytes that stand for *count* events whose ids sum to *total*."""
    digest = hashlib.sha256((total % _MODULUS).to_bytes(32, "big") + count.to_bytes(8, "big"))
    return digest.digest()[:FINGERPRINT_BYTES]


EMPTY = fingerprint(0, 0)


class Group:
    """The events of one goal (or of the swarm itself), in order of stamp, then id."""

    def __init__(self) -> None:
        self.keys: SortedList[_Key] = SortedList()
        self._total = 0

    def add(self, hlc: int, identifier: EventId) -> None:
        """Take in an event that is not there yet."""
        self.keys.add((hlc, identifier))
        self._total += int(identifier, 16)

    def span(self, lower: Bound, upper: Bound) -> tuple[int, int]:
        """Positions [first, last) of the events in [*lower*, *upper*)."""
        first = self.keys.bisect_left((lower.hlc, lower.prefix))
        return first, max(first, self.keys.bisect_left((upper.hlc, upper.prefix)))

    def ids(self, first: int, last: int) -> list[EventId]:
        """The ids of the events at positions [*first*, *last*), in order."""
        return [EventId(key[1]) for key in self.keys.islice(first, last)]

    def fingerprint(self, first: int, last: int) -> bytes:
        """Of the events at positions [*first*, *last*)."""
        if first == 0 and last == len(self.keys):
            return fingerprint(self._total, last)
        return fingerprint(sum(int(i, 16) for i in self.ids(first, last)), last - first)

    def bound(self, position: int) -> Bound:
        """The shortest bound that has the event at *position* above it and the one before below it."""
        hlc, identifier = self.keys[position]
        if position == 0 or self.keys[position - 1][0] < hlc:
            return Bound(hlc)
        before = self.keys[position - 1][1]
        same = next(i for i, (a, b) in enumerate(zip(before, identifier, strict=True)) if a != b)
        return Bound(hlc, identifier[: same + 1])


class EventSet:
    """All events of this peer."""

    def __init__(self) -> None:
        self._opened: dict[EventId, Opened] = {}
        self._total = 0
        self.groups: dict[str, Group] = {}
        self.forgotten: dict[str, GroupSummary] = {}  # groups that were dropped, as they were: not to be taken in again

    def __len__(self) -> int:
        return len(self._opened)

    def __contains__(self, identifier: object) -> bool:
        return identifier in self._opened

    def __iter__(self) -> Iterator[Opened]:
        return iter(self._opened.values())

    def newest_first(self) -> Iterator[Opened]:
        """All events from the latest stamp (then the highest id) back. Taking *n* of them costs O(n log groups)."""
        for _, identifier in heapq.merge(*(reversed(group.keys) for group in self.groups.values()), reverse=True):
            yield self._opened[EventId(identifier)]

    def add(self, opened: Opened) -> bool:
        """Take in a verified event; whether it was new."""
        if opened.id in self._opened:
            return False
        self._opened[opened.id] = opened
        name = group_of(opened.id, opened.event)
        self.groups.setdefault(name, Group()).add(opened.event.hlc, opened.id)
        self._total += int(opened.id, 16)
        return True

    def forget(self, name: str) -> GroupSummary:
        """Drop a group; what is left of it, by which others see that we had what they have."""
        group = self.groups.pop(name)
        summary = GroupSummary(name, len(group.keys), group.fingerprint(0, len(group.keys)))
        for identifier in group.ids(0, len(group.keys)):
            del self._opened[identifier]
            self._total -= int(identifier, 16)
        self.forgotten[name] = summary
        return summary

    def size(self, name: str) -> int:
        """How many bytes the envelopes of a group have."""
        group = self.groups.get(name)
        return sum(self._opened[each].envelope.size for each in group.ids(0, len(group.keys))) if group else 0

    def envelope(self, identifier: EventId) -> Envelope:
        """The envelope of an event that is there. Raises KeyError if it is not."""
        return self._opened[identifier].envelope

    def fingerprint(self) -> bytes:
        """Of the whole set: equal sets, and (but for hash collisions) only those, have equal ones."""
        return fingerprint(self._total, len(self._opened))
