"""The control API described in OpenAPI 3.1, from the very types that server and client speak in.

`python -m swarmd.control.openapi >docs/openapi.json` writes the file; a test holds it against the running server.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from swarmd import __version__
from swarmd.control import api
from swarmd.plan.views import Change, ChangeKind, EventPage, GoalLine, GoalView, TaskPage
from swarmd.replica.status import PeerView, StatusView
from swarmd.vocab import limits

_REF = "#/components/schemas/{name}"


class Parameter(Struct, frozen=True):
    """A query parameter. *kind*: the type of its values; a list may be given by repeating it."""

    name: str
    kind: Any
    meaning: str


class Operation(Struct, frozen=True, kw_only=True):
    """One thing that the daemon does. *answer*: a type, or a media type where it is not JSON."""

    method: Literal["get", "post", "delete"]
    path: str
    name: str
    summary: str
    answer: Any
    status: int = 200
    body: Any = None
    query: Sequence[Parameter] = ()


_GOAL_FILTER = Parameter("goal", str, "Only of the goal whose id begins so.")

OPERATIONS = (
    Operation(
        method="post", path=api.GOALS, name="setGoal", summary="Set a goal. When this answers, it is on disk.",
        body=api.GoalRequest, answer=api.GoalReply, status=201,
    ),
    Operation(
        method="get", path=api.GOALS, name="listGoals", summary="All goals, newest last.", answer=tuple[GoalLine, ...]
    ),
    Operation(
        method="get", path=api.GOAL, name="showGoal", summary="A goal with its whole tree.", answer=GoalView
    ),
    Operation(
        method="delete", path=api.GOAL, name="cancelGoal", summary="Stop all work on a goal. What is finished stays.",
        answer=api.GoalReply, query=(Parameter("reason", str, "Why, for everyone who looks at it later."),),
    ),
    Operation(
        method="get", path=api.REPORT, name="report", summary="What a goal came to, as a document.", answer=api.MARKDOWN
    ),
    Operation(
        method="get", path=api.TASK, name="showTask", summary="A task, and how it was decided.", answer=TaskPage
    ),
    Operation(
        method="get", path=api.STORY, name="listEvents", summary="The latest events that pass a filter, oldest first.",
        answer=EventPage,
        query=(
            _GOAL_FILTER,
            Parameter("task", str, "Only of the task whose id begins so."),
            Parameter("peer", str, "Only by this peer: its name, its id, or an end of its id."),
            Parameter("kind", list[ChangeKind], "Only of these kinds."),
            Parameter("count", Annotated[int, Meta(ge=1, le=api.STORY_MAX)], "How many at most; 100 if not given."),
        ),
    ),
    Operation(
        method="get", path=api.CHANGES, name="watch",
        summary="What happens from now on, as server-sent events; each one's data is a Change.",
        answer=api.EVENTS, query=(_GOAL_FILTER,),
    ),
    Operation(
        method="get", path=api.PEERS, name="listPeers", summary="Everyone heard from.", answer=tuple[PeerView, ...]
    ),
    Operation(method="get", path=api.STATUS, name="status", summary="How this peer does.", answer=StatusView),
    Operation(
        method="get", path=api.METRICS, name="metrics", summary="The status as Prometheus reads it.",
        answer=api.PROMETHEUS,
    ),
)  # fmt: skip


def document() -> dict[str, Any]:
    """The whole description."""
    types = [kind for each in OPERATIONS for kind in (each.body, each.answer) if not isinstance(kind, str | None)]
    _, components = msgspec.json.schema_components([*types, api.Problem, Change], ref_template=_REF)
    for only_asked in ("Limits", "Policy"):
        components[only_asked]["additionalProperties"] = False
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method] = _described(each)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "swarmd control API",
            "version": __version__,
            "description": "HTTP over the daemon's UNIX socket; see control-api.md.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def _described(operation: Operation) -> dict[str, Any]:
    said: dict[str, Any] = {"operationId": operation.name, "summary": operation.summary}
    inside = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": f"^({api.LATEST}|[0-9a-f]{{1,64}})$"},
            "example": api.LATEST,
            "description": f'The first characters of the {name}\'s id, or "{api.LATEST}".',
        }
        for name in inside
    ]
    parameters += [
        {"name": each.name, "in": "query", "schema": _schema(each.kind), "description": each.meaning}
        for each in operation.query
    ]
    if parameters:
        said["parameters"] = parameters
    if operation.body is not None:
        said["requestBody"] = {
            "required": True,
            "description": f"At most {limits.BODY_BYTES_MAX:,} bytes.",
            "content": {api.JSON: {"schema": _schema(operation.body)}},
        }
    answer = operation.answer
    content = (
        {answer: {"schema": {"type": "string"}}} if isinstance(answer, str) else {api.JSON: {"schema": _schema(answer)}}
    )
    said["responses"] = {
        str(operation.status): {"description": operation.summary, "content": content},
        "default": {
            "description": "Why it cannot be done (RFC 9457).",
            "content": {api.PROBLEM: {"schema": _schema(api.Problem)}},
        },
    }
    return said


def _schema(kind: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=_REF)
    return schema


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document()), indent=2) + b"\n")
