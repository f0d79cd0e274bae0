"""Out of range is refused by the same rule on every peer."""

from typing import Any

import msgspec
import pytest

from swarmd.events.codec import decode
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.hlc import HLC_MAX
from swarmd.vocab.ids import peer_id

PEER = peer_id(bytes(32))
DIGEST = "0f" * 32
OF_TASK = {"author": PEER, "hlc": 1, "goal": DIGEST, "task": DIGEST}
VOTE = {**OF_TASK, "kind": "vote/1", "ballot": 0, "proposal": DIGEST, "approve": True}
SCORE = {**OF_TASK, "kind": "score/1", "proposal": DIGEST, "specific": 0.5, "disjoint": 0.5, "covering": 0.5}
GOAL = {
    "kind": "goal/1",
    "author": PEER,
    "hlc": 1,
    "text": "tea",
    "electorate": [],
    "quorum": 0,
    "limits": {},
    "policy": {},
}
PROPOSAL = {**OF_TASK, "kind": "proposal/1", "strategy": "by place", "subgoals": [{"title": "one"}]}


@pytest.mark.parametrize("whole", [VOTE, SCORE, GOAL, PROPOSAL])
def test_the_examples_are_good_before_they_are_spoiled(whole: dict[str, Any]) -> None:
    assert decode(msgspec.msgpack.encode(whole))


@pytest.mark.parametrize(
    ("whole", "field", "value"),
    [
        (VOTE, "ballot", -1),
        (VOTE, "ballot", 100_001),
        (VOTE, "ballot", 2**64 - 1),
        (VOTE, "approve", 1),
        (VOTE, "hlc", HLC_MAX + 1),
        (VOTE, "hlc", 1.5),
        (VOTE, "author", "12D3KooW" + "0" * 44),
        (VOTE, "goal", ""),
        (VOTE, "task", DIGEST.upper()),
        (VOTE, "kind", 1),
        (SCORE, "specific", 1.01),
        (SCORE, "specific", float("nan")),
        (SCORE, "covering", float("-inf")),
        (SCORE, "disjoint", "8/10"),
        (SCORE, "critique", "x" * 2_049),
        (GOAL, "text", ""),
        (GOAL, "text", "x" * 8_193),
        (GOAL, "electorate", [PEER] * 65),
        (GOAL, "limits", {"children": 13}),
        (GOAL, "limits", {"depth": 9}),
        (PROPOSAL, "subgoals", [{"title": "one"}] * 13),
        (PROPOSAL, "subgoals", [{"title": "\u3000 "}]),
        (PROPOSAL, "subgoals", [{"title": "one", "after": [12]}]),
        (PROPOSAL, "refines", "nothing"),
    ],
)
def test_what_is_out_of_range_is_a_remote_fault(whole: dict[str, Any], field: str, value: object) -> None:
    with pytest.raises(RemoteFault):
        decode(msgspec.msgpack.encode({**whole, field: value}))


@pytest.mark.parametrize("field", list(VOTE))
def test_a_missing_field_is_a_remote_fault(field: str) -> None:
    with pytest.raises(RemoteFault):
        decode(msgspec.msgpack.encode({name: value for name, value in VOTE.items() if name != field}))


def test_bytes_behind_an_event_are_a_remote_fault() -> None:
    with pytest.raises(RemoteFault):
        decode(msgspec.msgpack.encode(VOTE) + b"\xc0")
