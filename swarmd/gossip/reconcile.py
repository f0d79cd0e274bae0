"""Two peers find what one has and the other lacks, and exchange just that (range-based set reconciliation, Meyer 2023).

The initiator keeps all state; the responder answers each frame by itself, so a broken stream costs nothing and a new
one goes on where the sets have got to. Where the initiator has nothing at all in a range that differs, it pulls the
range whole instead of learning its ids first: a late joiner moves little more than the bytes it lacked.
"""

from collections import deque
from collections.abc import Iterable

from swarmd.events.codec import decode
from swarmd.events.envelope import Envelope
from swarmd.gossip.eventset import EMPTY, EventSet, Group
from swarmd.gossip.frames import FIRST, Bound, Done, Frame, Give, GroupSummary, Pull, Range, Ranges, Summary, Want
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.hlc import HLC_MAX
from swarmd.vocab.ids import EventId

_IDS_LISTED_MAX = 32  # a range of so many ids is listed; 512 bytes, about what its parts' fingerprints would take
_PARTS = 16  # into how many a larger range is cut
_RANGES_ASKED_MAX = limits.RANGES_MAX // _PARTS
_IDS_WANTED_MAX = 1_024
_PENDING_MAX = 1 << 17  # ranges and ids still to be asked about; 2,000 tasks of 60 events each
_ENVELOPE_OVERHEAD_BYTES = 16  # msgpack array, two byte-string headers
_FRAME_OVERHEAD_BYTES = 64  # msgpack map, tag, keys
# below this a frame always has room for one more envelope of the largest size
_GIVE_BYTES_MAX = limits.FRAME_BYTES_MAX - limits.ENVELOPE_BYTES_MAX - _ENVELOPE_OVERHEAD_BYTES - _FRAME_OVERHEAD_BYTES
_GROUPLESS = Group()


class Initiator:
    """The side that asks. Feed it frames; it says what to send next and which events came."""

    def __init__(self, events: EventSet, horizon: int, *, silent: bool) -> None:
        """*horizon*: the latest stamp we take. *silent*: only read, give nothing (an observer)."""
        self._events = events
        self._horizon = horizon
        self._silent = silent
        self._end = Bound(min(horizon, HLC_MAX - 1) + 1)
        self._groups: deque[GroupSummary] = deque()
        self._group = ""
        self._compare: deque[tuple[Bound, Bound]] = deque()
        self._pulls: deque[tuple[Bound, Bound]] = deque()
        self._wants: deque[bytes] = deque()
        self._gives: deque[EventId] = deque()
        self._asked: Frame = Summary(horizon)

    def start(self) -> Frame:
        """The first frame."""
        return self._asked

    def step(self, frame: Frame) -> tuple[Frame | None, tuple[Envelope, ...]]:
        """What to send next (None: level, close the session), and the events that *frame* brought.

        The caller takes those events in before the next step. Raises RemoteFault if the answer does not fit the
        question.
        """
        envelopes: tuple[Envelope, ...] = ()
        match (self._asked, frame):
            case (Summary(), Summary()):
                self._end = min(self._end, Bound(min(frame.horizon, HLC_MAX - 1) + 1))
                self._plan_groups(frame.groups)
            case (Ranges() as asked, Ranges()) if frame.group == asked.group:
                self._sort_out(asked, frame.ranges)
            case (Pull() as pull, Give()):
                envelopes = frame.envelopes
                if frame.more:
                    self._pulls.appendleft((_after(envelopes, pull.lower), pull.upper))
            case (Want() as want, Give()):
                envelopes = frame.envelopes
                got = {bytes.fromhex(envelope.id)[:16] for envelope in envelopes}
                left = [identifier for identifier in want.ids if identifier not in got]
                if frame.more and len(left) == len(want.ids):
                    raise RemoteFault("peer promises more events but gives none")
                if frame.more:
                    self._wants.extendleft(reversed(left))
            case (Give(), Done()):
                pass
            case _:
                raise RemoteFault(f"{type(frame).__name__} does not answer {type(self._asked).__name__}")
        following = self._next()
        if following is not None:
            self._asked = following
        return following, envelopes

    def _plan_groups(self, theirs: Iterable[GroupSummary]) -> None:
        named = set()
        for summary in theirs:
            named.add(summary.group)
            if summary.group in self._events.forgotten:
                continue
            ours = self._events.groups.get(summary.group)
            if ours is None or ours.fingerprint(0, len(ours.keys)) != summary.fingerprint:
                self._groups.append(summary)
        for name in sorted(self._events.groups.keys() - named):
            self._groups.append(GroupSummary(name, 0, EMPTY))

    def _sort_out(self, asked: Ranges, answer: tuple[Range, ...]) -> None:
        group = self._events.groups.get(self._group, _GROUPLESS)
        questions = [(r.lower, r.upper) for r in asked.ranges]
        for part in answer:
            if not any(lower <= part.lower <= part.upper <= upper for lower, upper in questions):
                raise RemoteFault("peer answers about a range that was not asked about")
            first, last = group.span(part.lower, part.upper)
            if part.fingerprint is None:
                ours = {bytes.fromhex(i)[:16]: i for i in group.ids(first, last)}
                theirs = set(part.ids)
                self._wants.extend(identifier for identifier in part.ids if identifier not in ours)
                self._gives.extend(i for beginning, i in ours.items() if beginning not in theirs)
            elif group.fingerprint(first, last) == part.fingerprint:
                continue
            elif first == last:
                self._pulls.append((part.lower, part.upper))
            elif (part.lower, part.upper) in questions:
                raise RemoteFault("peer cuts a range into itself")
            else:
                self._compare.append((part.lower, part.upper))
            if len(self._compare) + len(self._pulls) + len(self._wants) > _PENDING_MAX:
                raise RemoteFault("peer names more differences than any goal has events")

    def _next(self) -> Frame | None:
        while True:
            group = self._events.groups.get(self._group, _GROUPLESS)
            if self._compare:
                count = min(len(self._compare), _RANGES_ASKED_MAX)
                asked = [self._compare.popleft() for _ in range(count)]
                return Ranges(
                    self._group,
                    tuple(Range(low, up, group.fingerprint(*group.span(low, up))) for low, up in asked),
                )
            if self._pulls:
                return Pull(self._group, *self._pulls.popleft())
            if self._wants:
                count = min(len(self._wants), _IDS_WANTED_MAX)
                return Want(self._group, tuple(self._wants.popleft() for _ in range(count)))
            if self._gives and not self._silent:
                return Give(_fill(self._events, self._gives)[0])
            self._gives.clear()
            if not self._groups:
                return None
            self._open_group(self._groups.popleft())

    def _open_group(self, theirs: GroupSummary) -> None:
        self._group = theirs.group
        group = self._events.groups.get(self._group, _GROUPLESS)
        first, last = group.span(FIRST, self._end)
        if first == last:
            self._pulls.append((FIRST, self._end))
        elif theirs.count == 0:
            self._gives.extend(group.ids(first, last))
        else:
            self._compare.append((FIRST, self._end))


def respond(events: EventSet, frame: Frame, horizon: int) -> tuple[Frame, tuple[Envelope, ...]]:
    """The responder's answer to *frame*, and the events that it brought.

    Raises RemoteFault for a frame that is no question.
    """
    match frame:
        case Summary():
            summaries = [
                GroupSummary(name, len(group.keys), group.fingerprint(0, len(group.keys)))
                for name, group in sorted(events.groups.items())
            ]
            summaries = [*events.forgotten.values(), *summaries]
            return Summary(horizon, tuple(summaries[-limits.FRAME_IDS_MAX :])), ()
        case Ranges() if frame.group in events.forgotten:
            return Ranges(frame.group, ()), ()  # nothing that we want to be told
        case Ranges():
            group = events.groups.get(frame.group, _GROUPLESS)
            answer = [part for asked in frame.ranges[:_RANGES_ASKED_MAX] for part in _compare(group, asked)]
            return Ranges(frame.group, tuple(answer)), ()
        case Pull():
            group = events.groups.get(frame.group, _GROUPLESS)
            wanted = deque(group.ids(*group.span(frame.lower, frame.upper)))
            envelopes, more = _fill(events, wanted)
            return Give(envelopes, more), ()
        case Want():
            group = events.groups.get(frame.group, _GROUPLESS)
            beginnings = {i[:32]: i for i in group.ids(0, len(group.keys))}
            found = deque(beginnings[i.hex()] for i in frame.ids if i.hex() in beginnings)
            envelopes, more = _fill(events, found)
            return Give(envelopes, more), ()
        case Give():
            return Done(), frame.envelopes
        case _:
            raise RemoteFault("a sync session must ask")


def _compare(group: Group, asked: Range) -> list[Range]:
    first, last = group.span(asked.lower, asked.upper)
    if group.fingerprint(first, last) == asked.fingerprint:
        return []
    if last - first <= _IDS_LISTED_MAX:
        return [Range(asked.lower, asked.upper, None, tuple(bytes.fromhex(i)[:16] for i in group.ids(first, last)))]
    cuts = [first + (last - first) * part // _PARTS for part in range(_PARTS + 1)]
    bounds = [asked.lower, *(group.bound(cut) for cut in cuts[1:-1]), asked.upper]
    return [
        Range(bounds[part], bounds[part + 1], group.fingerprint(cuts[part], cuts[part + 1])) for part in range(_PARTS)
    ]


def _fill(events: EventSet, wanted: deque[EventId]) -> tuple[tuple[Envelope, ...], bool]:
    """As many of the *wanted* events as a frame holds, taken from the front; whether some are left."""
    envelopes: list[Envelope] = []
    size = 0
    while wanted and size < _GIVE_BYTES_MAX:
        envelope = events.envelope(wanted.popleft())
        size += envelope.size + _ENVELOPE_OVERHEAD_BYTES
        envelopes.append(envelope)
    return tuple(envelopes), bool(wanted)


def _after(envelopes: tuple[Envelope, ...], lower: Bound) -> Bound:
    """Just after the last of *envelopes*, which must bring us on from *lower*."""
    if not envelopes:
        raise RemoteFault("peer promises more events but gives none")
    after = Bound(decode(envelopes[-1].payload).hlc, envelopes[-1].id + "0")
    if after <= lower:
        raise RemoteFault("peer promises more events but gives the same again")
    return after
