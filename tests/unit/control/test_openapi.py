"""The published description is what the server does: every path, every answer, and no answer that it does not know."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import requests
import schemathesis
import trio
from hypothesis import HealthCheck, settings
from requests.adapters import HTTPAdapter
from schemathesis.checks import CheckFunction
from schemathesis.core import NOT_SET
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.routing import Route
from urllib3 import HTTPConnectionPool
from urllib3.connection import HTTPConnection

from swarmd.control import api
from swarmd.control.openapi import OPERATIONS, document
from swarmd.control.server import application
from swarmd.plan.views import Change
from swarmd.vocab.faults import LocalMistake
from tests.unit.invented import InMemoryDoor, mid_run
from tests.unit.served import Served

DOCS = Path(__file__).parents[3] / "docs"
PUBLISHED: dict[str, Any] = json.loads((DOCS / "openapi.json").read_text())
CALLS = [(path, method) for path, methods in PUBLISHED["paths"].items() for method in methods]
DESCRIBED = schemathesis.openapi.from_dict(PUBLISHED)
BASE = "http://swarmd"
LIMIT_S = 30.0


class Brief(InMemoryDoor):
    """Has no more to say to watchers, so that a stream of changes is an answer with an end."""

    @contextmanager
    def watch(self) -> Iterator[trio.MemoryReceiveChannel[Change]]:
        """Nothing, and the end of it."""
        with super().watch() as changes:
            self.watchers[-1].close()
            yield changes


class _Unix(HTTPConnection):
    """A connection to the control socket; what the URL says is for the request's first lines only."""

    path = ""

    def _new_conn(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(LIMIT_S)
        made.connect(self.path)
        return made


class _Pool(HTTPConnectionPool):
    def __init__(self, path: Path) -> None:
        super().__init__("swarmd")
        self.ConnectionCls = type("_Here", (_Unix,), {"path": str(path)})


class _Adapter(HTTPAdapter):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._pool = _Pool(path)

    def get_connection_with_tls_context(self, *_: object, **__: object) -> HTTPConnectionPool:
        return self._pool


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[requests.Session]:
    """A client of a daemon on a real socket."""
    served = Served(tmp_path_factory.mktemp("control") / "control.sock", Brief(mid_run()))
    served.start()
    with requests.Session() as client:
        client.trust_env = False
        client.mount(BASE, _Adapter(served.path))
        yield client
    served.stop()


def test_the_published_description_is_up_to_date() -> None:
    """If this fails: python -m swarmd.control.openapi >docs/openapi.json"""
    assert msgspec.json.decode(msgspec.json.encode(document())) == PUBLISHED


def test_every_path_of_the_server_is_described_for_programs_and_people() -> None:
    served = {
        (route.path, method.lower())
        for route in application(InMemoryDoor()).routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert served == set(CALLS) == {(each.path, each.method) for each in OPERATIONS}
    people = (DOCS / "control-api.md").read_text()
    for path, method in CALLS:
        assert re.search(rf"`{method.upper()} {re.escape(path)}[?`]", people), path


@pytest.mark.parametrize(("path", "method"), CALLS)
def test_a_right_request_is_answered_as_described(path: str, method: str, session: requests.Session) -> None:
    goal = mid_run()
    case = DESCRIBED[path][method].Case(
        path_parameters={"goal": goal.id[:8], "task": goal.root.children[1].id[:8]},
        body={"text": "A picnic", "limits": {"depth": 1}} if method == "post" else NOT_SET,
    )
    answer = case.call_and_validate(base_url=BASE, session=session)
    assert answer.status_code in (200, 201)


@DESCRIBED.parametrize()
@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_asked_is_answered_as_described_and_never_by_a_fault(
    case: schemathesis.Case[Any], session: requests.Session
) -> None:
    excluded: list[CheckFunction] = [positive_data_acceptance] if _no_schema_can_tell(case.body) else []
    case.call_and_validate(base_url=BASE, session=session, excluded_checks=excluded)


def _no_schema_can_tell(body: object) -> bool:
    """Whether a goal may be refused though it fits its description: for a text with nothing to see or too many bytes,
    or for a whole number written as 2.0, which JSON Schema calls an integer."""
    if not isinstance(body, dict):
        return False
    try:
        api.goal_text(str(body.get("text")))
    except LocalMistake:
        return True
    return bool(re.search(r"\d\.0\b", json.dumps(body)))
