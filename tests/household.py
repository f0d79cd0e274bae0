"""An invented swarm of seven peers with real keys, and histories in which they compete, contradict and come late."""

import random
from collections.abc import Sequence

import msgspec

from swarmd.events.envelope import Envelope, Identity, Opened, Swarm, open_envelope, seal
from swarmd.events.kinds import (
    Amend,
    Approval,
    Cancel,
    Claim,
    Goal,
    Known,
    Limits,
    Member,
    Nomination,
    Policy,
    Promise,
    Proposal,
    Result,
    Score,
    Subgoal,
    Vote,
)
from swarmd.plan.ballot import Electorate
from swarmd.vocab import hlc
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId, child_task

SWARM = Swarm.of_key(bytes(range(32)))
IDENTITIES = {i.peer: i for i in sorted((Identity(bytes([n] * 32)) for n in range(1, 8)), key=lambda i: i.peer)}
PEERS = tuple(IDENTITIES)
WALL_MS = 1_790_000_000_000  # September 2026
TITLES = ("flights", "hotels", "museums", "trains", "dinners", "gardens", "budget", "packing", "visas", "phrases")
LIMITS, POLICY = Limits(), Policy()


def sealed(event: Known) -> Opened:
    """*event* in an envelope, signed by its author."""
    envelope = seal(event, IDENTITIES[event.author], SWARM)
    return Opened(envelope.id, event, envelope)


def member(peer: PeerId, at: int = hlc.at(WALL_MS - 1_000), name: str = "") -> Opened:
    """That *peer* belongs to the swarm."""
    return sealed(Member(author=peer, hlc=at, peer=peer, name=name or peer[-4:], proof=SWARM.proof(peer)))


def unknown(author: PeerId, at: int, goal: str = "", filling: str = "") -> Opened:
    """An event of a kind that only a newer version knows."""
    payload = msgspec.msgpack.encode({"kind": "dream/7", "author": author, "hlc": at, "goal": goal, "of": filling})
    signature = IDENTITIES[author].sign(b"swarmd/event/1\0" + SWARM.id.encode() + b"\0" + payload)
    return open_envelope(Envelope(payload, signature), SWARM)


class Household:
    """Says things as any peer at any stamp, and keeps what was said. Stamps are given in milliseconds after
    `WALL_MS`."""

    def __init__(self, peers: Sequence[PeerId] = PEERS) -> None:
        self.said = [member(peer) for peer in peers]

    def say(self, event: Known) -> EventId:
        """Seal any event and keep it; returns its id."""
        opened = sealed(event)
        self.said.append(opened)
        return opened.id

    def goal(
        self,
        author: PeerId,
        electorate: Sequence[PeerId],
        ms: float = 0,
        *,
        quorum: int = 0,
        text: str = "Japan trip",
        limits: Limits = LIMITS,
        policy: Policy = POLICY,
    ) -> GoalId:
        """A goal of *author*'s."""
        return self.say(
            Goal(
                author=author, hlc=at(ms), text=text, electorate=tuple(electorate), quorum=quorum,
                limits=limits, policy=policy,
            )
        )  # fmt: skip

    def proposal(
        self, author: PeerId, goal: GoalId, task: str, ms: float, *subgoals: Subgoal, refines: EventId | None = None
    ) -> EventId:
        """A split of *task*."""
        return self.say(
            Proposal(
                author=author, hlc=at(ms), goal=goal, task=TaskId(task), strategy="by time", subgoals=subgoals,
                refines=refines,
            )
        )  # fmt: skip

    def score(
        self, author: PeerId, goal: GoalId, task: str, proposal: EventId, ms: float, mark: float, basis: str = ""
    ) -> EventId:
        """One and the same mark for all three questions."""
        return self.say(
            Score(
                author=author, hlc=at(ms), goal=goal, task=TaskId(task), proposal=proposal,
                specific=mark, disjoint=mark, covering=mark, basis=basis,
            )
        )  # fmt: skip

    def vote(
        self,
        author: PeerId,
        goal: GoalId,
        task: str,
        proposal: EventId,
        ms: float,
        ballot: int = 0,
        *,
        approve: bool = True,
    ) -> EventId:
        """A vote, whether or not anybody nominated."""
        return self.say(
            Vote(
                author=author, hlc=at(ms), goal=goal, task=TaskId(task), ballot=ballot, proposal=proposal,
                approve=approve,
            )
        )  # fmt: skip

    def accept(self, goal: GoalId, task: str, electorate: Sequence[PeerId], ms: float, *subgoals: Subgoal) -> EventId:
        """A split of *task* that everybody approves from *ms* on, one each millisecond; returns the proposal."""
        proposal = self.proposal(electorate[0], goal, task, ms - 1, *subgoals)
        for later, peer in enumerate(electorate):
            self.vote(peer, goal, task, proposal, ms + later)
        return proposal

    def claim(self, author: PeerId, goal: GoalId, task: str, ms: float, attempt: int = 1) -> EventId:
        """A claim with a lease of a minute."""
        return self.say(
            Claim(author=author, hlc=at(ms), goal=goal, task=TaskId(task), attempt=attempt, lease_ms=60_000)
        )

    def result(
        self, author: PeerId, goal: GoalId, task: str, claim: EventId, ms: float, attempt: int = 1, *, done: bool = True
    ) -> EventId:
        """What came of *claim*."""
        return self.say(
            Result(
                author=author, hlc=at(ms), goal=goal, task=TaskId(task), attempt=attempt, claim=claim,
                status="done" if done else "failed", text=f"by {author[-4:]}",
            )
        )  # fmt: skip


def at(ms: float) -> int:
    """The stamp *ms* milliseconds after `WALL_MS`; minus infinity is 1970."""
    return hlc.at(0) if ms == float("-inf") else hlc.at(WALL_MS + int(ms))


def part(title: str, *after: int, leaf: bool = True) -> Subgoal:
    """A subgoal."""
    return Subgoal(title=title, leaf=leaf, after=after)


def history(rng: random.Random) -> list[Opened]:
    """One to two goals in which everything happens that may happen to a goal, and several things that should not: equal
    stamps, rival splits, votes in several ballots, equivocation, races, clocks of 1970, late members, strangers."""
    home = Household(PEERS[:6] if rng.random() < 0.7 else PEERS)  # the seventh is a stranger, mostly
    for _ in range(rng.randint(1, 2)):
        _goal_with_history(home, rng)
    if rng.random() < 0.5:
        home.said.append(unknown(rng.choice(PEERS), at(rng.randrange(100)), rng.choice(home.said).id, "x"))
    if rng.random() < 0.3:
        home.said.append(member(PEERS[0], at(5), name="renamed"))
    return list({opened.id: opened for opened in home.said}.values())


def _goal_with_history(home: Household, rng: random.Random) -> None:
    electorate = tuple(rng.sample(PEERS[:6], rng.randint(1, 5)))
    quorum = rng.choice((0, len(electorate)))
    author = rng.choice(PEERS[:6])
    named = rng.random() < 0.7
    goal = home.goal(
        author, electorate if named else (), rng.randrange(20), quorum=quorum, text=f"goal {rng.randrange(1000)}",
        limits=Limits(depth=rng.randint(1, 3), tasks=rng.choice((5, 12, 200))),
        policy=Policy(attempts=rng.randint(1, 3), strict=rng.random() < 0.3),
    )  # fmt: skip
    if not named or rng.random() < 0.2:
        for _ in range(rng.randint(1, 2)):
            home.say(
                Amend(
                    author=author if rng.random() < 0.9 else rng.choice(PEERS), hlc=at(rng.randrange(30)), goal=goal,
                    electorate=electorate if rng.random() < 0.8 else electorate[:1], quorum=1,
                    forced=rng.random() < 0.2,
                )
            )  # fmt: skip
    _deliberation(home, rng, goal, TaskId(goal), Electorate.of(electorate, quorum), depth=0)
    if rng.random() < 0.2:
        home.say(Cancel(author=rng.choice(PEERS), hlc=at(rng.randrange(400)), goal=goal, reason="enough"))


def _deliberation(
    home: Household, rng: random.Random, goal: GoalId, task: TaskId, electorate: Electorate, depth: int
) -> None:
    base = 100 * depth + 20
    proposals: list[EventId] = []
    splits: dict[EventId, tuple[Subgoal, ...]] = {}
    for _ in range(rng.randint(1, 3)):
        count = rng.choice((0, 2, 2, 3))
        subgoals = tuple(
            part(
                f"{rng.choice(TITLES)} {index}",
                *(a for a in range(index) if rng.random() < 0.3),
                leaf=rng.random() < 0.5,
            )
            for index in range(count)
        )
        refines = rng.choice(proposals) if proposals and rng.random() < 0.4 else None
        proposal = home.proposal(rng.choice(PEERS), goal, task, base + rng.randrange(10), *subgoals, refines=refines)
        proposals.append(proposal)
        splits[proposal] = subgoals
    for proposal in proposals:
        for peer in PEERS:
            if rng.random() < 0.4:
                home.score(peer, goal, task, proposal, base + rng.randrange(20), rng.choice((0.2, 0.6, 0.9)))
    winner = rng.choice(proposals)
    decisive = rng.randrange(3)
    for ballot in range(decisive + 1):
        chair = electorate.chair(task, ballot)
        rests_on = []
        for peer in electorate.members:
            if ballot and rng.random() < 0.6:
                approvals = tuple(Approval(b, rng.choice(proposals)) for b in range(ballot) if rng.random() < 0.3)
                rests_on.append(
                    home.say(
                        Promise(
                            author=peer, hlc=at(base + 30), goal=goal, task=task, ballot=ballot, approvals=approvals
                        )
                    )
                )
            if ballot == decisive and rng.random() < 0.9:
                home.vote(peer, goal, task, winner, base + 40 + rng.randrange(5), ballot)
            elif rng.random() < 0.4:
                home.vote(peer, goal, task, rng.choice(proposals), base + 35, ballot, approve=rng.random() < 0.3)
            if rng.random() < 0.05:
                home.vote(peer, goal, task, rng.choice(proposals), base + 45, ballot)
        home.say(
            Nomination(
                author=chair, hlc=at(base + 39), goal=goal, task=task, ballot=ballot, proposal=winner,
                promises=tuple(rests_on),
            )
        )  # fmt: skip
    _race(home, rng, goal, task, base + 60 if rng.random() < 0.5 else 1_000 - base)
    for index, subgoal in enumerate(splits[winner]):
        child = child_task(winner, index)
        if subgoal.leaf or depth == 2:
            _race(home, rng, goal, child, base + 43)
        elif rng.random() < 0.8:
            _deliberation(home, rng, goal, child, electorate, depth + 1)


def _race(home: Household, rng: random.Random, goal: GoalId, task: TaskId, base: int) -> None:
    for _ in range(rng.randint(0, 3)):
        executor, attempt = rng.choice(PEERS), rng.randint(1, 2)
        ms = float("-inf") if rng.random() < 0.1 else base + rng.randrange(4)
        claim = home.claim(executor, goal, task, ms, attempt)
        for _ in range(rng.choice((0, 1, 1, 2))):
            impostor = rng.random() < 0.1
            home.result(
                rng.choice(PEERS) if impostor else executor, goal, task, claim, base + 10 + rng.randrange(5), attempt,
                done=rng.random() < 0.6,
            )  # fmt: skip
