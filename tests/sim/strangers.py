"""What strange peers say: votes that contradict each other, events of a version to come, and floods."""

import random
from collections.abc import Iterator
from typing import Literal

import msgspec

from swarmd.events.envelope import Envelope, Identity, Opened, Swarm, seal
from swarmd.events.kinds import Cancel, Claim, Member, Nomination, Proposal, Result, Score, Subgoal, Vote
from swarmd.gossip.frames import Bound, Done, Live, Presence, Pull
from swarmd.replica.inputs import Heard, Input, LiveHeard, PresenceHeard, SyncHeard, SyncOpened
from swarmd.vocab.ids import EventId, GoalId, TaskId, child_task

_FLOOD = 60  # of each kind


def contradiction(said: Vote | Score, author: Identity, swarm: Swarm) -> Envelope:
    """The opposite vote by the same scorer in the same ballot, or another mark for the same split."""
    if isinstance(said, Score):
        return seal(msgspec.structs.replace(said, specific=1 - said.specific, hlc=said.hlc + 1), author, swarm)
    vote = said
    return seal(msgspec.structs.replace(vote, approve=not vote.approve, hlc=vote.hlc + 1), author, swarm)


def early_claims(split: Opened, author: Identity, swarm: Swarm) -> Iterator[Envelope]:
    """Claims on the parts of a split that nobody has accepted yet, stamped before anybody could have."""
    proposal = split.event
    assert isinstance(proposal, Proposal)
    for index in range(len(proposal.subgoals)):
        task = child_task(split.id, index)
        claim = Claim(author=author.peer, hlc=proposal.hlc, goal=proposal.goal, task=task, attempt=1, lease_ms=1_000)
        yield seal(claim, author, swarm)


def borrowed_result(
    claim: Opened, author: Identity, swarm: Swarm, status: Literal["done", "failed"], attempt: int = 0
) -> Envelope:
    """A result for somebody else's claim. *attempt*: another one than the claim's."""
    event = claim.event
    assert isinstance(event, Claim)
    result = Result(
        author=author.peer, hlc=event.hlc + 1, goal=event.goal, task=event.task, attempt=attempt or event.attempt,
        claim=claim.id, status=status, text="Nothing was done",
    )  # fmt: skip
    return seal(result, author, swarm)


def undone(result: Opened, author: Identity, swarm: Swarm) -> Iterator[Envelope]:
    """Whoever hears that something is done claims it once more, and fails."""
    event = result.event
    assert isinstance(event, Result)
    claim = seal(
        Claim(
            author=author.peer, hlc=event.hlc + 1, goal=event.goal, task=event.task, attempt=event.attempt + 1,
            lease_ms=1_000,
        ),
        author,
        swarm,
    )  # fmt: skip
    yield claim
    failed = Result(
        author=author.peer, hlc=event.hlc + 2, goal=event.goal, task=event.task, attempt=event.attempt + 1,
        claim=claim.id, status="failed", text="It is not done at all",
    )  # fmt: skip
    yield seal(failed, author, swarm)


def sour_cancel(result: Opened, author: Identity, swarm: Swarm) -> Envelope:
    """A cancellation after the end."""
    event = result.event
    assert isinstance(event, Result)
    return seal(Cancel(author=author.peer, hlc=event.hlc + 1, goal=event.goal, reason="too late"), author, swarm)


def late_approval(claim: Claim, vote: tuple[TaskId, int, EventId], author: Identity, swarm: Swarm) -> Envelope:
    """A vote (task, ballot, proposal) by a scorer that says its yes when all is over, whatever it has promised."""
    task, ballot, proposal = vote
    said = Vote(
        author=author.peer, hlc=claim.hlc + 1, goal=claim.goal, task=task, ballot=ballot, proposal=proposal,
        approve=True,
    )  # fmt: skip
    return seal(said, author, swarm)


def chorus(author: Identity, swarm: Swarm, stamp: int, voices: int) -> Iterator[Envelope]:
    """Many events of one stamp, about a goal of which nobody has heard."""
    for number in range(voices):
        goal = GoalId(EventId("f" * 64))
        said = Claim(author=author.peer, hlc=stamp, goal=goal, task=TaskId(goal), attempt=number + 1, lease_ms=1_000)
        yield seal(said, author, swarm)


def bogus_nomination(split: Opened, ballot: int, author: Identity, swarm: Swarm) -> Envelope:
    """A nomination that rests on no promises, whoever has the chair."""
    event = split.event
    assert isinstance(event, Proposal)
    nomination = Nomination(
        author=author.peer, hlc=event.hlc + 1, goal=event.goal, task=event.task, ballot=ballot, proposal=split.id
    )
    return seal(nomination, author, swarm)


def omen(author: Identity, swarm: Swarm, stamp: int, goal: str) -> Envelope:
    """An event of a kind that this version does not know, rightly signed."""
    payload = msgspec.msgpack.encode(
        {"kind": "omen/7", "author": author.peer, "hlc": stamp, "goal": goal, "depth": [1, {"x": b"y"}]}
    )
    return Envelope(payload, author.sign(b"swarmd/event/1\0" + swarm.id.encode() + b"\0" + payload))


def flood(rng: random.Random, author: Identity, swarm: Swarm, wall_ms: int, goals: list[str]) -> Iterator[Input]:
    """Too much of everything, some of it valid."""
    me = author.peer
    stamp = wall_ms << 16
    said: list[Envelope] = []
    for number in range(_FLOOD):
        goal = GoalId(EventId(rng.choice(goals))) if goals and rng.random() < 0.5 else GoalId(EventId(f"{number:064x}"))
        task = TaskId(goal)
        kind = rng.randrange(5)
        if kind == 0:
            said.append(omen(author, swarm, stamp + number, goal))
        elif kind == 1:
            said.append(
                seal(
                    Vote(
                        author=me, hlc=stamp + number, goal=goal, task=task, ballot=number, proposal=goal, approve=True
                    ),
                    author,
                    swarm,
                )
            )
        elif kind == 2:
            said.append(
                seal(
                    Claim(author=me, hlc=stamp + number, goal=goal, task=task, attempt=1, lease_ms=1_000), author, swarm
                )
            )
        elif kind == 3:
            parts = (Subgoal(title="Flooded cellar", leaf=True), Subgoal(title="Flooded kitchen", leaf=True))
            said.append(
                seal(
                    Proposal(author=me, hlc=stamp + number, goal=goal, task=task, strategy="flood", subgoals=parts),
                    author,
                    swarm,
                )
            )
        else:
            said.append(Envelope(rng.randbytes(rng.randint(0, 200)), rng.randbytes(64)))
    for envelope in said:
        yield Heard((envelope,), me)
    if rng.random() < 0.5:  # it holds the swarm key: only now do its events count
        yield Heard(
            (seal(Member(author=me, hlc=stamp, peer=me, name="flood", proof=swarm.proof(me)), author, swarm),), me
        )
    for number in range(_FLOOD):
        yield PresenceHeard(
            me,
            Presence(
                name="flood",
                roles=("king",),
                wall_ms=rng.getrandbits(60),
                hlc=0,
                fingerprint=rng.randbytes(16),
                run=rng.randbytes(16),
            ),
        )
        yield LiveHeard(
            me, Live(goal="0" * 64, task="0" * 64, claim=EventId("0" * 64), offset=number, text="x" * 4_000)
        )
        session = 1_000_001 + 2 * number
        yield SyncOpened(session, me)
        yield SyncHeard(session, rng.choice((Done(), Pull("", Bound(0), Bound(1 << 62)))))
