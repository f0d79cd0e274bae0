"""The published description is what the server does: every path, every answer, and no answer that it does not know."""

import json
import re
import string
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import msgspec
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.routing import Route

from swarmd.control import api
from swarmd.control.openapi import OPERATIONS, document
from swarmd.control.server import application
from tests.unit.invented import InMemoryDoor, mid_run

DOCS = Path(__file__).parents[3] / "docs"
PUBLISHED: dict[str, Any] = json.loads((DOCS / "openapi.json").read_text())
CALLS = [(path, method) for path, methods in PUBLISHED["paths"].items() for method in methods]
LIMIT_S = 30.0


def misfit(value: Any, schema: dict[str, Any], place: str = "$") -> str:
    """Where *value* does not fit *schema* (JSON Schema 2020-12, as far as it is used here); empty if it does."""
    if "$ref" in schema:
        return misfit(value, PUBLISHED["components"]["schemas"][schema["$ref"].rpartition("/")[2]], place)
    if "anyOf" in schema:
        return "" if any(not misfit(value, each, place) for each in schema["anyOf"]) else f"{place}: none of anyOf"
    if "enum" in schema:
        return "" if value in schema["enum"] else f"{place}: {value!r} is none of the enum"
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    kinds["number"] = float if isinstance(value, float) else int
    if not isinstance(value, kinds[schema["type"]]):
        return f"{place}: {value!r} is no {schema['type']}"
    if isinstance(value, list):
        return next(filter(None, (misfit(each, schema["items"], f"{place}[]") for each in value)), "")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        lacking = [key for key in schema.get("required", ()) if key not in value]
        if lacking:
            return f"{place}: lacks {lacking}"
        rest = schema.get("additionalProperties")
        for key, each in value.items():
            inner = known.get(key, rest)
            if not isinstance(inner, dict):
                return f"{place}: {key} is not described"
            if found := misfit(each, inner, f"{place}.{key}"):
                return found
    return ""


def asked(door: InMemoryDoor, errand: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    """Do *errand* with the server's application, without a socket."""

    async def run() -> None:
        transport = httpx.ASGITransport(app=application(door))
        with trio.fail_after(LIMIT_S):
            async with httpx.AsyncClient(transport=transport, base_url="http://swarmd") as client:
                await errand(client)

    trio.run(run)


def check(answer: httpx.Response, path: str, method: str) -> None:
    """Hold an answer against the description of its operation."""
    responses = PUBLISHED["paths"][path][method]["responses"]
    described = responses.get(str(answer.status_code), responses["default"])
    assert answer.status_code < 500, answer.text
    assert answer.is_success == (str(answer.status_code) in responses)
    ((media, content),) = described["content"].items()
    assert answer.headers["content-type"] == media
    if "json" in media:
        assert misfit(answer.json(), content["schema"]) == ""


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


@pytest.mark.parametrize(("path", "method"), [call for call in CALLS if call[0] != api.CHANGES])
def test_a_right_request_is_answered_as_described(path: str, method: str) -> None:
    goal = mid_run()

    async def errand(client: httpx.AsyncClient) -> None:
        body = {"text": "A picnic", "limits": {"depth": 1}} if method == "post" else None
        place = path.replace("{goal}", goal.id[:8]).replace("{task}", goal.root.children[1].id[:8])
        answer = await client.request(method, place, json=body)
        assert answer.is_success
        check(answer, path, method)

    asked(InMemoryDoor(goal), errand)


PIECE = st.one_of(
    st.sampled_from(["latest", mid_run().id[:6], "", "0", "-1", "1e9", "None", "%00", "a" * 70, "\x1b[31m", "ｆ"]),
    st.text(st.characters(codec="utf-8", exclude_characters="/?#"), max_size=12),
    st.text(string.hexdigits, max_size=6),
)
BODY = st.one_of(
    st.binary(max_size=40),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["text", "quorum", "limits", "policy", "depth", "x"]), inner, max_size=5)
        ),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([call for call in CALLS if call[0] != api.CHANGES]), PIECE, BODY, st.data())
def test_whatever_is_asked_is_answered_as_described_and_never_by_a_fault(
    call: tuple[str, str], piece: str, body: bytes, data: st.DataObject
) -> None:
    path, method = call
    names = [each["name"] for each in PUBLISHED["paths"][path][method].get("parameters", ()) if each["in"] == "query"]
    query = urlencode(data.draw(st.lists(st.tuples(st.sampled_from([*names, "x"]), PIECE), max_size=4)))

    async def errand(client: httpx.AsyncClient) -> None:
        place = re.sub(r"\{\w+\}", lambda _: quote(piece), path)
        content = body if method == "post" else None
        answer = await client.request(method, f"{place}?{query}", content=content)
        if answer.status_code in (404, 405) and answer.json()["code"] == "no-such-path":
            return  # the piece made another path of it
        check(answer, path, method)

    asked(InMemoryDoor(mid_run()), errand)
