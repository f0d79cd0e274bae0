"""One frozen struct per fact. A fact is past and never changes; everything people see is folded from these.

On the wire an event is a msgpack map whose "kind" is the tag below, version included ("vote/1"), and whose other keys
are the field names below. A kind or version that a peer does not know it keeps, passes on and does not fold.
Marks are fractions 0..1, spans of time milliseconds, stamps HLC integers.
"""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from swarmd.vocab import limits
from swarmd.vocab.hlc import HLC_MAX
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId

# \Z and not $, which would let a line break through at the end
_DIGEST = Meta(pattern=r"^[0-9a-f]{64}\Z")
_AnEvent: TypeAlias = Annotated[EventId, _DIGEST]
_ATask: TypeAlias = Annotated[TaskId, _DIGEST]
_AGoal: TypeAlias = Annotated[GoalId, _DIGEST]
_APeer: TypeAlias = Annotated[PeerId, Meta(pattern=r"^12D3KooW[1-9A-HJ-NP-Za-km-z]{44}\Z")]
_Electorate: TypeAlias = Annotated[tuple[_APeer, ...], Meta(max_length=limits.ELECTORATE_MAX)]
_Mark: TypeAlias = Annotated[float, Meta(ge=0.0, le=1.0)]
_Ballot: TypeAlias = Annotated[int, Meta(ge=0, le=limits.BALLOT_MAX)]
_Attempt: TypeAlias = Annotated[int, Meta(ge=1, le=limits.ATTEMPT_MAX)]
_Index: TypeAlias = Annotated[int, Meta(ge=0, lt=limits.CHILDREN_MAX)]
_Name: TypeAlias = Annotated[str, Meta(max_length=limits.NAME_BYTES_MAX)]
_Model: TypeAlias = Annotated[str, Meta(max_length=limits.MODEL_BYTES_MAX)]
_Reason: TypeAlias = Annotated[str, Meta(max_length=limits.REASON_BYTES_MAX)]


class Event(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What every event says: who authored it, and when by their hybrid logical clock."""

    author: _APeer
    hlc: Annotated[int, Meta(ge=0, le=HLC_MAX)]


class Member(Event, frozen=True, tag="member/1"):
    """*peer* holds the swarm key: *proof* is HMAC-SHA256 of the peer id under it. Admits that author's events."""

    peer: _APeer
    name: _Name
    proof: Annotated[bytes, Meta(min_length=32, max_length=32)]


class Limits(Struct, frozen=True, kw_only=True):
    """How far a goal may grow. At a limit every subgoal is a leaf."""

    depth: Annotated[int, Meta(ge=0, le=limits.DEPTH_MAX)] = 3
    children: Annotated[int, Meta(ge=1, le=limits.CHILDREN_MAX)] = 7
    tasks: Annotated[int, Meta(ge=1, le=limits.TASKS_MAX)] = 200


class Policy(Struct, frozen=True, kw_only=True):
    """How choosy a goal is. *threshold*: mean mark from which a split is good enough. *polish*: generations of
    polishing. *strict*: a task with no split good enough waits instead of taking the best. *attempts*: failed tries
    after which a leaf has failed. *lease_ms*: silence after which a claim may be retaken."""

    threshold: _Mark = 0.6
    polish: Annotated[int, Meta(ge=0, le=5)] = 2
    strict: bool = False
    attempts: Annotated[int, Meta(ge=1, le=20)] = 3
    lease_ms: Annotated[int, Meta(ge=1_000, le=3_600_000)] = 60_000


class Goal(Event, frozen=True, tag="goal/1"):
    """Somebody wants *text* planned. Its event id is the goal's id and its root task's id."""

    text: Annotated[str, Meta(min_length=1, max_length=limits.GOAL_BYTES_MAX)]
    electorate: _Electorate
    quorum: Annotated[int, Meta(ge=0, le=limits.ELECTORATE_MAX)]
    limits: Limits
    policy: Policy


class GoalEvent(Event, frozen=True):
    """An event that belongs to one goal; reconciliation runs goal by goal."""

    goal: _AGoal


class Subgoal(Struct, frozen=True, kw_only=True):
    """One part of a split. *after*: earlier siblings (by index) whose results it needs first."""

    title: Annotated[str, Meta(min_length=1, max_length=limits.TITLE_BYTES_MAX)]
    detail: Annotated[str, Meta(max_length=limits.DETAIL_BYTES_MAX)] = ""
    leaf: bool = False
    after: Annotated[tuple[_Index, ...], Meta(max_length=limits.CHILDREN_MAX)] = ()


class Proposal(GoalEvent, frozen=True, tag="proposal/1"):
    """One way to split *task*. Without subgoals it says: do this task whole. *refines* names the proposal it
    polishes."""

    task: _ATask
    strategy: Annotated[str, Meta(max_length=limits.STRATEGY_BYTES_MAX)]
    subgoals: Annotated[tuple[Subgoal, ...], Meta(max_length=limits.CHILDREN_MAX)]
    refines: _AnEvent | None = None
    model: _Model = ""


class Score(GoalEvent, frozen=True, tag="score/1"):
    """One scorer's judgement of *proposal*, from its model and from checks of the text. *basis*: the class of the model
    that spoke ("tiny", "small", "good"); "text" if only the checks did; "constant" if the model was not heard because
    it marks everything alike."""

    task: _ATask
    proposal: _AnEvent
    specific: _Mark
    disjoint: _Mark
    covering: _Mark
    critique: Annotated[str, Meta(max_length=limits.CRITIQUE_BYTES_MAX)] = ""
    model: _Model = ""
    basis: Annotated[str, Meta(max_length=limits.BASIS_BYTES_MAX)] = ""

    @property
    def mark(self) -> float:
        """The mean of the three marks, 0..1."""
        return (self.specific + self.disjoint + self.covering) / 3


class Approval(Struct, frozen=True, array_like=True, order=True):
    """That a scorer approved *proposal* in *ballot*."""

    ballot: _Ballot
    proposal: _AnEvent


class Promise(GoalEvent, frozen=True, tag="promise/1"):
    """Its author will vote in no ballot of *task* below *ballot*; *approvals* are all it ever gave below it."""

    task: _ATask
    ballot: Annotated[int, Meta(ge=1, le=limits.BALLOT_MAX)]
    approvals: Annotated[tuple[Approval, ...], Meta(max_length=limits.PROMISE_APPROVALS_MAX)]


class Nomination(GoalEvent, frozen=True, tag="nomination/1"):
    """The chair of *ballot* puts *proposal* to the vote, resting on *promises* (none for ballot 0)."""

    task: _ATask
    ballot: _Ballot
    proposal: _AnEvent
    promises: Annotated[tuple[_AnEvent, ...], Meta(max_length=limits.ELECTORATE_MAX)] = ()


class Vote(GoalEvent, frozen=True, tag="vote/1"):
    """A scorer's one vote in *ballot* of *task*."""

    task: _ATask
    ballot: _Ballot
    proposal: _AnEvent
    approve: bool


class Claim(GoalEvent, frozen=True, tag="claim/1"):
    """An executor takes *task*. Silence for *lease_ms* lets others claim the next attempt."""

    task: _ATask
    attempt: _Attempt
    lease_ms: Annotated[int, Meta(ge=1_000, le=3_600_000)]


class Usage(Struct, frozen=True, kw_only=True):
    """What a model call cost."""

    tokens: Annotated[int, Meta(ge=0)] = 0
    ms: Annotated[int, Meta(ge=0)] = 0


class Result(GoalEvent, frozen=True, tag="result/1"):
    """What came of *claim*: the finished text, or why it failed."""

    task: _ATask
    attempt: _Attempt
    claim: _AnEvent
    status: Literal["done", "failed"]
    text: Annotated[str, Meta(max_length=limits.RESULT_BYTES_MAX)]
    model: _Model = ""
    usage: Usage = Usage()


class Cancel(GoalEvent, frozen=True, tag="cancel/1"):
    """A person wants *goal* stopped."""

    reason: _Reason = ""


class Amend(GoalEvent, frozen=True, tag="amend/1"):
    """The goal's author names its first electorate, or, *forced* by the user, a new one."""

    electorate: _Electorate
    quorum: Annotated[int, Meta(ge=1, le=limits.ELECTORATE_MAX)]
    forced: bool = False


class Unknown(Event, frozen=True, tag="unknown"):
    """An event of a kind or version that this peer does not know: kept and passed on, never folded."""

    goal: str = ""


Known: TypeAlias = Member | Goal | Proposal | Score | Promise | Nomination | Vote | Claim | Result | Cancel | Amend
OfGoal: TypeAlias = Proposal | Score | Promise | Nomination | Vote | Claim | Result | Cancel | Amend
