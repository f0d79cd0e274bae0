"""What control client and server share: paths, the one request body, and problems (RFC 9457).

Answers are the views of `plan.views` and `replica.status` as JSON, unchanged.
"""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from swarmd.events.kinds import Limits, Policy
from swarmd.replica.inputs import SetGoal
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake, UnknownId
from swarmd.vocab.text import clean

GOALS = "/v1/goals"
GOAL = "/v1/goals/{goal}"
REPORT = "/v1/goals/{goal}/report"
TASK = "/v1/tasks/{task}"
STORY = "/v1/events"
PEERS = "/v1/peers"
STATUS = "/v1/status"
CHANGES = "/v1/changes"
METRICS = "/v1/metrics"

LATEST = "latest"  # in place of a goal's or task's id: the newest goal
STORY_MAX = 1_000  # events in one answer; about 300 KB
KEEPALIVE_S = 15.0  # a silent event stream says so that often; proxies and people give up after a minute

JSON = "application/json"
PROBLEM = "application/problem+json"
MARKDOWN = "text/markdown; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
EVENTS = "text/event-stream"

ProblemCode: TypeAlias = Literal[
    "mistake", "unknown-id", "malformed", "too-large", "too-slow", "too-many", "no-such-path", "internal",
]  # fmt: skip

_TEXT = f"What is wanted: at most {limits.GOAL_BYTES_MAX:,} bytes of UTF-8, and something to see in them."


class GoalRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of `POST /v1/goals`. *quorum*: approvals that accept a split, if more than a majority is wanted."""

    text: Annotated[
        str,
        # in the description only: who reads it is told in words, and the limit is in bytes
        Meta(description=_TEXT, extra_json_schema={"minLength": 1, "maxLength": limits.GOAL_BYTES_MAX}),
    ]
    quorum: Annotated[int, Meta(ge=1, le=limits.ELECTORATE_MAX)] | None = None
    limits: Limits = Limits()
    policy: Policy = Policy()

    def command(self) -> SetGoal:
        """What the daemon is asked to do. Raises LocalMistake if the text is empty or too long."""
        return SetGoal(text=goal_text(self.text), quorum=self.quorum, limits=self.limits, policy=self.policy)


class GoalReply(Struct, frozen=True, kw_only=True):
    """The id of the goal that was set or cancelled."""

    goal: str


class Problem(Struct, frozen=True, kw_only=True):
    """Why a request failed (RFC 9457). *detail* is for people and says what to do next; *code* is for programs."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: ProblemCode


def goal_text(text: str) -> str:
    """A goal's text, cleaned. Raises LocalMistake if nothing is left or it is over the limit: it is never cut."""
    size = len(text.encode("utf-8", "replace"))
    if size > limits.GOAL_BYTES_MAX:
        raise LocalMistake(
            f"the goal is {size:,} bytes long; the limit is {limits.GOAL_BYTES_MAX:,} bytes\n"
            "Say it in fewer words, or set several goals."
        )
    cleaned = clean(text, limits.GOAL_BYTES_MAX, lines=True)
    if not cleaned:
        raise LocalMistake('the goal is empty\nSay what you want planned, such as "A weekend in the mountains".')
    return cleaned


def goal_prefix(goal: str) -> str:
    """The beginning of a goal's id, checked for its form. Raises UnknownId."""
    if not _is_prefix(goal):
        raise UnknownId(f'no goal has the id "{clean(goal, 64)}"\nList the goals with `swarmctl goals`.')
    return goal


def task_prefix(task: str) -> str:
    """The beginning of a task's id, checked for its form. Raises UnknownId."""
    if not _is_prefix(task):
        raise UnknownId(f'no task has the id "{clean(task, 64)}"\n`swarmctl show` prints the ids of a goal\'s tasks.')
    return task


def _is_prefix(identifier: str) -> bool:
    return 0 < len(identifier) <= 64 and not set(identifier) - set("0123456789abcdef")
