"""The race for tasks: the earliest valid claim of the highest attempt holds, everywhere, whoever heard what first."""

from collections.abc import Iterable, Mapping

from swarmd.events.kinds import Claim, Result
from swarmd.vocab.hlc import Hlc
from swarmd.vocab.ids import EventId

ClaimOrder = tuple[int, int, str, str]


def claim_order(identifier: EventId, claim: Claim) -> ClaimOrder:
    """Sorts claims of one task: higher attempt, then earlier stamp, then author; the id makes it total."""
    return (-claim.attempt, claim.hlc, claim.author, identifier)


def valid(claims: Mapping[EventId, Claim], born: Hlc) -> dict[EventId, Claim]:
    """Claims stamped after the acceptance that made the task: a clock set to 1970 wins nothing."""
    return {identifier: claim for identifier, claim in claims.items() if claim.hlc > born}


def holder(claims: Mapping[EventId, Claim], born: Hlc) -> EventId | None:
    """The claim that holds a task whose acceptance is stamped *born*."""
    return min(valid(claims, born), key=lambda identifier: claim_order(identifier, claims[identifier]), default=None)


def counting(results: Mapping[EventId, Result], claims: Mapping[EventId, Claim], born: Hlc) -> EventId | None:
    """The result that is the task's. A result needs its valid claim, by the same author for the same attempt.

    Done counts before failed, so that a finished task stays finished; then the higher attempt; then the claim that
    comes first in claim order; then the earlier stamp.
    """

    def rank(identifier: EventId) -> tuple[bool, ClaimOrder, int, str]:
        result = results[identifier]
        order = claim_order(result.claim, claims[result.claim])
        return (result.status != "done", order, result.hlc, identifier)

    return min(backed(results, claims, born), key=rank, default=None)


def backed(results: Mapping[EventId, Result], claims: Mapping[EventId, Claim], born: Hlc) -> Iterable[EventId]:
    """Results whose claim is known, valid and their author's, for that attempt."""
    standing = valid(claims, born)
    for identifier, result in results.items():
        claim = standing.get(result.claim)
        if claim is not None and claim.author == result.author and claim.attempt == result.attempt:
            yield identifier
