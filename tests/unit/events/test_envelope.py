"""An event is what its author signed, in its own swarm, or it is nothing."""

import hashlib
import hmac

import msgspec
import pytest

from swarmd.events.codec import SWARM, decode, encode, group
from swarmd.events.envelope import Envelope, Identity, Swarm, open_envelope, seal
from swarmd.events.kinds import Goal, Limits, Policy, Result, Unknown, Vote
from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.ids import EventId, TaskId

SWARM_OF_TESTS = Swarm.of_key(b"k" * 32)
SIGNER = Identity(b"s" * 32)
DIGEST = EventId("0f" * 32)
VOTE = Vote(author=SIGNER.peer, hlc=7, goal=DIGEST, task=TaskId(DIGEST), ballot=0, proposal=DIGEST, approve=True)


def result(text: str) -> Result:
    return Result(
        author=SIGNER.peer,
        hlc=7,
        goal=DIGEST,
        task=TaskId(DIGEST),
        attempt=1,
        claim=DIGEST,
        status="done",
        text=text,
    )


def test_a_sealed_event_opens_to_itself() -> None:
    envelope = seal(VOTE, SIGNER, SWARM_OF_TESTS)
    opened = open_envelope(envelope, SWARM_OF_TESTS)
    assert (opened.event, opened.envelope, opened.id) == (VOTE, envelope, hashlib.sha256(envelope.payload).hexdigest())
    assert seal(VOTE, SIGNER, SWARM_OF_TESTS) == envelope, "Ed25519 signs without chance"


def test_the_wire_form_of_a_vote_stays_as_it_is() -> None:
    assert msgspec.msgpack.decode(encode(VOTE)) == {
        "kind": "vote/1",
        "author": SIGNER.peer,
        "hlc": 7,
        "goal": DIGEST,
        "task": DIGEST,
        "ballot": 0,
        "proposal": DIGEST,
        "approve": True,
    }


def test_nobody_seals_in_another_s_name() -> None:
    with pytest.raises(AssertionError):
        seal(VOTE, Identity(b"t" * 32), SWARM_OF_TESTS)


@pytest.mark.parametrize("signature", [b"", bytes(64), bytes(63), bytes(10_000)])
def test_a_signature_that_is_none_is_a_remote_fault(signature: bytes) -> None:
    with pytest.raises(RemoteFault):
        open_envelope(Envelope(encode(VOTE), signature), SWARM_OF_TESTS)


def test_the_longest_result_fits_an_envelope_and_a_longer_one_is_refused_everywhere() -> None:
    longest = "é" * (limits.RESULT_BYTES_MAX // 2)
    assert open_envelope(seal(result(longest), SIGNER, SWARM_OF_TESTS), SWARM_OF_TESTS).event == result(longest)
    with pytest.raises(RemoteFault, match="too long"):
        decode(encode(result(longest + "x")))
    with pytest.raises(ValueError, match="over the limit"):
        seal(result("x" * limits.ENVELOPE_BYTES_MAX), SIGNER, SWARM_OF_TESTS)
    with pytest.raises(RemoteFault, match="too large"):
        open_envelope(Envelope(bytes(limits.ENVELOPE_BYTES_MAX), bytes(64)), SWARM_OF_TESTS)


def test_an_unknown_kind_is_verified_like_any_other() -> None:
    payload = msgspec.msgpack.encode({"kind": "vote/2", "author": SIGNER.peer, "hlc": 3, "goal": DIGEST, "new": [1]})
    signed = b"swarmd/event/1\0" + SWARM_OF_TESTS.id.encode() + b"\0" + payload
    opened = open_envelope(Envelope(payload, SIGNER.sign(signed)), SWARM_OF_TESTS)
    assert opened.event == Unknown(author=SIGNER.peer, hlc=3, goal=DIGEST)
    with pytest.raises(RemoteFault):
        open_envelope(Envelope(payload, Identity(b"t" * 32).sign(signed)), SWARM_OF_TESTS)


def test_a_goal_is_its_own_group_and_what_belongs_to_no_goal_is_the_swarm_s() -> None:
    goal = Goal(author=SIGNER.peer, hlc=1, text="tea", electorate=(), quorum=0, limits=Limits(), policy=Policy())
    assert group(DIGEST, goal) == DIGEST
    assert group(EventId("aa" * 32), VOTE) == DIGEST
    assert group(DIGEST, Unknown(author=SIGNER.peer, hlc=1)) == SWARM


def test_only_a_holder_of_the_key_proves_membership() -> None:
    peer = SIGNER.peer
    proof = SWARM_OF_TESTS.proof(peer)
    message = f"swarmd/member/1 {SWARM_OF_TESTS.id} {peer}".encode()
    assert proof == hmac.new(b"k" * 32, message, "sha256").digest()
    assert SWARM_OF_TESTS.admits(peer, proof)
    assert not SWARM_OF_TESTS.admits(Identity(b"t" * 32).peer, proof)
    assert not Swarm.of_key(b"K" * 32).admits(peer, proof)


def test_a_swarm_s_id_does_not_give_its_key_away() -> None:
    assert b"k".hex() * 4 not in SWARM_OF_TESTS.id
    assert len(SWARM_OF_TESTS.id) == 32
    assert Swarm.of_key(b"k" * 32) == SWARM_OF_TESTS


def test_who_joined_under_an_older_key_stays_a_member_when_the_key_is_changed() -> None:
    old, new = b"o" * 32, b"n" * 32
    peer = Identity(b"p" * 32).peer
    proof = Swarm.of_key(old).proof(peer)
    assert Swarm.of_keys((new, old)).admits(peer, proof)
    assert Swarm.of_keys((new,), retired=(old,)).admits(peer, proof)
    assert Swarm.of_keys((new, old)).proof(peer) != proof
    assert not Swarm.of_key(new).admits(peer, proof)
