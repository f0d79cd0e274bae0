"""The ballot accepts exactly one split per task, ever: single-decree consensus spoken in events, with no standing
leader.

Ballot n has one chair. A scorer votes once per ballot and in no ballot below one that it promised. A chair of a later
ballot first collects promises from a quorum and must nominate again whatever an earlier ballot may have accepted.
This is Paxos (Lamport 1998) with the coordinator of each ballot fixed beforehand, and with approvals counted instead
of trusted: only a proposal that could have reached its quorum binds the chair.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace

from swarmd.events.kinds import Approval, Nomination, Promise, Vote
from swarmd.vocab.hlc import Hlc
from swarmd.vocab.ids import EventId, PeerId, TaskId, rendezvous


@dataclass(frozen=True, slots=True)
class Electorate:
    """Who may vote on a goal's splits, and how many approvals accept one."""

    members: tuple[PeerId, ...]
    quorum: int

    @staticmethod
    def of(members: Iterable[PeerId], quorum: int) -> "Electorate":
        """*quorum* is raised to a majority and lowered to unanimity where it says less or more than that."""
        distinct = tuple(sorted(set(members)))
        return Electorate(distinct, min(max(quorum, len(distinct) // 2 + 1), len(distinct)))

    def chair(self, task: TaskId, ballot: int) -> PeerId:
        """Who may nominate in *ballot*: the scorer at place ballot mod N in the rendezvous order for that task."""
        order = rendezvous(task, self.members)
        return order[ballot % len(order)]


@dataclass(frozen=True, slots=True)
class Forced:
    """The chair must nominate *proposal*: an earlier ballot may have accepted it."""

    proposal: EventId


@dataclass(frozen=True, slots=True)
class Free:
    """No earlier ballot can have accepted anything: the chair chooses."""


@dataclass(frozen=True, slots=True)
class Undecidable:
    """Two proposals of one ballot may have been accepted (its chair equivocated): more promises must tell."""


Recovery = Forced | Free | Undecidable


@dataclass(frozen=True, slots=True)
class Acceptance:
    """That *proposal* is accepted. *born*: from which stamp on claims on its parts are valid."""

    ballot: int
    proposal: EventId
    born: Hlc


def recover(promises: Iterable[Promise], electorate: Electorate) -> Recovery:
    """What a chair may nominate that rests on *promises*, one per member, all for the same ballot.

    For an earlier ballot b, a proposal may have been accepted if the approvals for it among the promisers, plus every
    member who did not promise, reach the quorum. The highest such b binds.
    """
    given: dict[Approval, int] = {}
    promisers = set()
    for promise in promises:
        promisers.add(promise.author)
        for approval in set(promise.approvals):
            given[approval] = given.get(approval, 0) + 1
    silent = len(electorate.members) - len(promisers)
    possible = [approval for approval, count in given.items() if count + silent >= electorate.quorum]
    if not possible:
        return Free()
    highest = max(approval.ballot for approval in possible)
    candidates = [approval.proposal for approval in possible if approval.ballot == highest]
    return Forced(candidates[0]) if len(candidates) == 1 else Undecidable()


@dataclass(slots=True)
class BallotBook:
    """Everything said in the ballots of one task, whatever the order in which it was heard."""

    task: TaskId
    votes: dict[int, dict[PeerId, set[tuple[EventId, bool]]]] = field(default_factory=dict)
    stamps: dict[tuple[int, PeerId], int] = field(default_factory=dict)  # earliest HLC of a vote
    promises: dict[int, dict[PeerId, dict[EventId, Promise]]] = field(default_factory=dict)
    nominations: dict[int, dict[EventId, Nomination]] = field(default_factory=dict)
    _counted_for: Electorate | None = field(default=None, compare=False)
    _complete: dict[int, list[tuple[EventId, Hlc]]] = field(default_factory=dict, compare=False)
    _uncounted: set[int] = field(default_factory=set, compare=False)

    def add(self, identifier: EventId, event: Vote | Promise | Nomination) -> None:
        """Take in one event of this task."""
        match event:
            case Vote():
                said = self.votes.setdefault(event.ballot, {}).setdefault(event.author, set())
                said.add((event.proposal, event.approve))
                key = (event.ballot, event.author)
                self.stamps[key] = min(event.hlc, self.stamps.get(key, event.hlc))
                self._uncounted.add(event.ballot)
            case Promise():
                self.promises.setdefault(event.ballot, {}).setdefault(event.author, {})[identifier] = event
            case Nomination():
                self.nominations.setdefault(event.ballot, {})[identifier] = event

    def facts(self) -> tuple[object, ...]:
        """Everything said, in one order whatever the order of hearing."""
        votes = {ballot: sorted((p, sorted(v)) for p, v in said.items()) for ballot, said in self.votes.items()}
        promises = {ballot: sorted((p, sorted(v)) for p, v in said.items()) for ballot, said in self.promises.items()}
        nominations = {ballot: sorted(named) for ballot, named in self.nominations.items()}
        return sorted(votes.items()), sorted(promises.items()), sorted(nominations.items())

    def approvals(self, ballot: int, proposal: EventId, electorate: Electorate) -> set[PeerId]:
        """Members whose one vote in *ballot* approves *proposal*; void votes count for nothing."""
        said = self.votes.get(ballot, {})
        return {peer for peer in electorate.members if said.get(peer) == {(proposal, True)}}

    def any_approval(self) -> bool:
        """Whether anybody ever approved anything: only then may something have been accepted."""
        return any(approve for said in self.votes.values() for votes in said.values() for _, approve in votes)

    def equivocators(self) -> list[tuple[int, PeerId]]:
        """Who voted twice in one ballot, differently."""
        return sorted(
            (ballot, peer) for ballot, said in self.votes.items() for peer, votes in said.items() if len(votes) > 1
        )

    def accepted(self, electorate: Electorate, known: Container[EventId]) -> Acceptance | None:
        """The accepted split among the *known* proposals of this task, if there is one.

        Where several ballots accepted it, it is born in the one that was complete first: votes that are heard late can
        only move that back, so a claim that was valid stays valid.
        """
        if electorate != self._counted_for:
            self._counted_for, self._complete, self._uncounted = electorate, {}, set(self.votes)
        for ballot in self._uncounted:  # a vote costs the count of its own ballot, however many there were
            self._complete.pop(ballot, None)
            if counted := self._count(ballot, electorate):
                self._complete[ballot] = counted
        self._uncounted.clear()
        complete = [
            Acceptance(ballot, proposal, born)
            for ballot, found in sorted(self._complete.items())
            for proposal, born in found
            if proposal in known
        ]
        if not complete:
            return None
        first = complete[0]
        return replace(first, born=min(one.born for one in complete if one.proposal == first.proposal))

    def _count(self, ballot: int, electorate: Electorate) -> list[tuple[EventId, Hlc]]:
        """The proposals that *ballot* accepted (one, with a quorum over half), and when their quorum was complete."""
        named = {proposal for votes in self.votes[ballot].values() for proposal, approve in votes if approve}
        found = []
        for proposal in sorted(named):
            approvals = self.approvals(ballot, proposal, electorate)
            if approvals and len(approvals) >= electorate.quorum:
                stamps = sorted(self.stamps[ballot, peer] for peer in approvals)
                found.append((proposal, Hlc(stamps[electorate.quorum - 1])))
        return found

    def hopeless(self, ballot: int, electorate: Electorate) -> bool:
        """Whether so many members voted against, or void, that *ballot* can accept nothing any more."""
        said = self.votes.get(ballot, {})
        lost = sum(1 for peer in electorate.members if said.get(peer) and not _approves(said[peer]))
        if len(electorate.members) - lost < electorate.quorum:
            return True
        yes = {next(iter(said[peer]))[0] for peer in electorate.members if said.get(peer) and _approves(said[peer])}
        if len(yes) < 2:
            return False
        unheard = sum(1 for peer in electorate.members if not said.get(peer))
        return all(len(self.approvals(ballot, p, electorate)) + unheard < electorate.quorum for p in yes)

    def may_vote(self, nomination: Nomination, electorate: Electorate) -> Recovery | None:
        """Whether *nomination* is valid by what is known: its chair's, and resting on promises that allow it.

        Returns what the promises say (`Free` for ballot 0), or None while it is not valid or not yet checkable.
        """
        ballot = nomination.ballot
        if not electorate.members or nomination.author != electorate.chair(self.task, ballot):
            return None
        if ballot == 0:
            return Free() if not nomination.promises else None
        held = {
            identifier: promise
            for peer in electorate.members
            for identifier, promise in self.promises.get(ballot, {}).get(peer, {}).items()
        }
        if not set(nomination.promises) <= set(held):
            return None
        named = [held[identifier] for identifier in dict.fromkeys(nomination.promises)]
        if len({promise.author for promise in named}) != len(named) or len(named) < electorate.quorum:
            return None
        recovery = recover(named, electorate)
        match recovery:
            case Undecidable():
                return None
            case Forced(proposal) if proposal != nomination.proposal:
                return None
        return recovery

    def valid_nominations(self, ballot: int, electorate: Electorate) -> list[tuple[EventId, Nomination, Recovery]]:
        """The valid nominations of *ballot*, in order of id (an honest chair makes one)."""
        found = []
        for identifier, nomination in sorted(self.nominations.get(ballot, {}).items()):
            recovery = self.may_vote(nomination, electorate)
            if recovery is not None:
                found.append((identifier, nomination, recovery))
        return found

    def promised(self, peer: PeerId) -> int:
        """The highest ballot that *peer* has promised; 0 if none."""
        return max((ballot for ballot, said in self.promises.items() if peer in said), default=0)

    def reached(self, ballot: int, electorate: Electorate) -> set[PeerId]:
        """Members that have promised or voted in *ballot* or a later one."""
        spoken = {peer for b, said in self.promises.items() if b >= ballot for peer in said}
        spoken |= {peer for b, said in self.votes.items() if b >= ballot for peer in said}
        return spoken.intersection(electorate.members)

    def given(self, peer: PeerId, below: int) -> tuple[Approval, ...]:
        """Every approval that *peer* ever gave in a ballot below that one."""
        return tuple(
            sorted(
                Approval(ballot, proposal)
                for ballot, said in self.votes.items()
                if ballot < below
                for proposal, approve in said.get(peer, ())
                if approve
            )
        )

    def current(self, electorate: Electorate) -> int:
        """The highest ballot that any member has spoken of."""
        members = set(electorate.members)
        spoken = [b for b, said in self.promises.items() if members & said.keys()]
        spoken += [b for b, said in self.votes.items() if members & said.keys()]
        return max(spoken, default=0)


def _approves(votes: set[tuple[EventId, bool]]) -> bool:
    return len(votes) == 1 and next(iter(votes))[1]
