"""What people see of a plan: plain structs, the same for the terminal, for `--json` and for the report.

Built from the fold and from nothing else, so peers with equal events show equal views; only running text (`stream`,
and `text` of what was superseded) and `waits` come from what this peer hears at the moment, and stay out of the digest.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from swarmd.events.kinds import Limits, Policy

TaskStatus: TypeAlias = Literal[
    "draft",  # a part of a split that is not accepted (yet)
    "open",  # accepted, waits for splits
    "deliberating",  # splits compete
    "split",  # one split was accepted; its parts are under way
    "ready",  # a leaf, or an inner task whose parts are finished, that nobody has claimed
    "waiting",  # a leaf that waits for results of siblings
    "claimed",
    "done",
    "failed",
    "cancelled",
]
GoalStatus: TypeAlias = Literal["open", "done", "failed", "cancelled"]


class ScoreView(Struct, frozen=True, kw_only=True):
    """One scorer's marks, 0..1. *basis*: what they rest on, see `events.kinds.Score`."""

    scorer: str
    specific: float
    disjoint: float
    covering: float
    mark: float
    critique: str
    model: str
    basis: str = ""


class VoteView(Struct, frozen=True, kw_only=True):
    """One vote. *void*: its author voted twice in that ballot (equivocation)."""

    scorer: str
    ballot: int
    proposal: str
    approve: bool
    void: bool


class SubgoalView(Struct, frozen=True, kw_only=True):
    """A part of a competing split."""

    title: str
    detail: str
    leaf: bool


class ProposalView(Struct, frozen=True, kw_only=True):
    """One competing split. *mean*: of all scorers' marks, None while nobody has scored it."""

    id: str
    author: str
    strategy: str
    model: str
    refines: str | None
    generation: int
    subgoals: tuple[SubgoalView, ...]
    scores: tuple[ScoreView, ...]
    mean: float | None
    accepted: bool


class ClaimView(Struct, frozen=True, kw_only=True):
    """Who holds a task. *since_ms*: Unix time by the holder's stamp."""

    id: str
    executor: str
    attempt: int
    since_ms: int


class SupersededView(Struct, frozen=True, kw_only=True):
    """A claim that came to no result before another attempt took its task. *text*: what this peer heard of it."""

    id: str
    executor: str
    attempt: int
    text: str


class ResultView(Struct, frozen=True, kw_only=True):
    """A result. *counts*: it is the task's; the others stay as alternatives."""

    id: str
    executor: str
    attempt: int
    status: Literal["done", "failed"]
    text: str
    model: str
    tokens: int
    ms: int
    counts: bool


class TaskView(Struct, frozen=True, kw_only=True):
    """One task of the accepted tree with everything said about it. *waits*: what it waits for, in words, or empty."""

    id: str
    title: str
    detail: str
    depth: int
    leaf: bool
    status: TaskStatus
    proposals: tuple[ProposalView, ...] = ()
    votes: tuple[VoteView, ...] = ()
    ballot: int = 0
    below_threshold: bool = False
    claim: ClaimView | None = None
    superseded: tuple[SupersededView, ...] = ()
    results: tuple[ResultView, ...] = ()
    children: "tuple[TaskView, ...]" = ()
    stream: str = ""
    waits: str = ""


class GoalLine(Struct, frozen=True, kw_only=True):
    """A goal in one line. *done* of *tasks* tasks are finished (done, failed or cancelled)."""

    id: str
    text: str
    status: GoalStatus
    created_ms: int
    tasks: int
    done: int


class GoalView(Struct, frozen=True, kw_only=True):
    """A whole goal. *names*: the names of the peers whose ids occur in it. *digest*: of this goal's fold."""

    id: str
    text: str
    status: GoalStatus
    author: str
    created_ms: int
    ended_ms: int | None
    electorate: tuple[str, ...]
    quorum: int
    limits: Limits
    policy: Policy
    forced_amend: bool
    cancel_reason: str
    root: TaskView
    tasks: int
    done: int
    events: int
    digest: str
    names: dict[str, str]


class BallotView(Struct, frozen=True, kw_only=True):
    """One ballot of a task. *nominated*: what its chair validly put to the vote; *forced*: an earlier ballot may have
    accepted it, so there was no choice. *promised*: scorers who moved on to this ballot."""

    ballot: int
    chair: str
    nominated: tuple[str, ...]
    forced: bool
    promised: tuple[str, ...]


class TaskPage(Struct, frozen=True, kw_only=True):
    """One task, and what it takes to understand how it was decided. *path*: titles from the goal down to its parent."""

    goal: str
    path: tuple[str, ...]
    task: TaskView
    ballots: tuple[BallotView, ...]
    electorate: tuple[str, ...]
    quorum: int
    policy: Policy
    names: dict[str, str]


ChangeKind: TypeAlias = Literal[
    "goal", "proposal", "score", "promise", "nomination", "vote", "accepted", "claim", "takeover", "live", "result",
    "ended", "cancel", "amend", "member", "joined", "left", "equivocation", "backend", "disk", "sync", "refused",
]  # fmt: skip


class Change(Struct, frozen=True, kw_only=True):
    """Something that happened, as one line of the swarm's story. *text* is plain, safe to print.
    *chunk*: for kind "live", the new text. *event*: the id of the event that says it, if one does."""

    kind: ChangeKind
    text: str
    goal: str = ""
    task: str = ""
    peer: str = ""
    chunk: str = ""
    wall_ms: int = 0
    event: str = ""


class EventPage(Struct, frozen=True, kw_only=True):
    """The latest events that pass a filter, oldest first. *goal*, *task*, *peer*: the filter's ids whole, or empty."""

    goal: str
    task: str
    peer: str
    events: tuple[Change, ...]
