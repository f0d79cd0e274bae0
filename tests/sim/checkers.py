"""The invariants of the protocol, one object each. They see every effect and every step, and judge the end."""

import random
from typing import TYPE_CHECKING

from swarmd.events.envelope import Opened
from swarmd.events.kinds import (
    Amend,
    Cancel,
    Claim,
    Goal,
    Known,
    Member,
    Nomination,
    Promise,
    Proposal,
    Result,
    Unknown,
    Vote,
)
from swarmd.gossip.frames import Done, Give, encode
from swarmd.plan.plan import GoalPlan, fold
from swarmd.plan.task import holder_of, result_of
from swarmd.replica.effects import Announce, Append, Ask, Effect, Publish, Reply, Stream, SyncSend
from swarmd.replica.inputs import Input, Started
from swarmd.roles.work import Compose, Execute
from swarmd.vocab import limits
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId, child_task
from tests.sim import conduct
from tests.sim.checker import Checker, core_hosts, fail, sane, swarm_of

if TYPE_CHECKING:
    from tests.sim.world import Host, World

_TREE = (Vote, Proposal, Goal, Amend, Member)  # what can move an acceptance
_OWN_EVENTS_MAX = 1_000  # of one author in one run; honest ones say a few hundred
_BALLOT_CHURN_MAX = 25  # ballots on one task in one run


class Convergence(Checker):
    """Equal events, equal digests, and equal to a fold from scratch in any order; whole and quiet networks become
    level."""

    restless = True

    def __init__(self, world: "World") -> None:
        self._digests: dict[bytes, str] = {}
        self._random = random.Random(world.seed)

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        if self._random.random() < 0.01:
            self._compare(world, host)
        if self._random.random() < 0.001:
            self._refold(world, host)

    def _compare(self, world: "World", host: "Host") -> None:
        assert host.machine is not None
        digest = host.machine.plan.digest()
        if self._digests.setdefault(host.machine.events.fingerprint(), digest) != digest:
            fail(world, "convergence", f"host {host.index} has the events of another one but not its plan")

    def _refold(self, world: "World", host: "Host") -> None:
        assert host.machine is not None
        events = list(host.machine.events)
        self._random.shuffle(events)
        if fold(events, host.machine._record._swarm).digest() != host.machine.plan.digest():
            fail(world, "convergence", f"host {host.index} folded step by step what a fold from scratch says otherwise")

    def settled(self, world: "World") -> bool:
        hosts = core_hosts(world)
        if any(host.machine is None for host in hosts):
            return False
        marks = {host.machine.events.fingerprint() for host in hosts if host.machine is not None}
        return len(marks) == 1 or self._level(world)

    def _level(self, world: "World") -> bool:
        """Whether all have the events that all may have: not those of another year, nor what only a silent observer
        heard."""
        spoken: set[EventId] | None = None
        for host in sorted(core_hosts(world), key=lambda host: not host.roles):
            assert host.machine is not None
            events = {opened.id for opened in host.machine.events if sane(opened.event.hlc, world)}
            if spoken is None or (host.roles and spoken == events):
                spoken = events
            elif host.roles or not spoken <= events:
                return False
        return True

    def finish(self, world: "World") -> None:
        hosts = core_hosts(world)
        if any(host.machine is None for host in hosts):
            fail(world, "progress", "a machine of the healed quorum never came back")
        if not self.settled(world):
            counts = [(h.index, len(h.machine.events)) for h in hosts if h.machine]
            fail(world, "convergence", f"peers of a whole network have different events: {counts}")
        for host in hosts:
            self._compare(world, host)
        self._refold(world, self._random.choice(hosts))


class Agreement(Checker):
    """One accepted split for a task, everywhere and for ever, unless a member of the electorate equivocates."""

    def __init__(self, world: "World") -> None:
        self.accepted: dict[str, EventId] = {}  # task: proposal
        self._seen: dict[tuple[int, str], EventId] = {}  # host and task
        self._ended: dict[tuple[int, str], str] = {}
        self.exempt: set[str] = set()  # goals in which somebody equivocated

    def on_equivocation(self, world: "World", host: "Host", vote: Opened) -> None:
        self.exempt.add(vote.event.goal)  # type: ignore[union-attr]

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        machine = host.machine
        assert machine is not None
        touched = _touched(fresh, _TREE)
        if isinstance(happened, Started):
            touched = [*machine.plan.goals]
            for key in [key for key in self._seen if key[0] == host.index]:
                del self._seen[key]  # what was not on the disk it has to hear again
        for goal in touched:
            plan = machine.plan.goals.get(GoalId(EventId(goal)))
            if plan is not None and goal not in self.exempt:
                self._check(world, host, plan)

    def _check(self, world: "World", host: "Host", plan: GoalPlan) -> None:
        for task in plan.tasks.values():
            before = self._seen.get((host.index, task.id))
            if task.accepted is None:
                if before is not None:
                    fail(world, "agreement", f"host {host.index} takes back what was accepted for {task.id[:8]}")
                continue
            now = task.accepted.proposal
            if before != now:
                self._seen[host.index, task.id] = now
                if self.accepted.setdefault(task.id, now) != now:
                    fail(
                        world, "agreement",
                        f"host {host.index} accepts {now[:8]} for {task.id[:8]}, others {self.accepted[task.id][:8]}",
                    )  # fmt: skip


class Validity(Checker):
    """What is accepted was proposed, scored and approved by a quorum of the electorate: counted from the bare
    events."""

    def __init__(self, world: "World") -> None:
        self._checked: set[tuple[int, int, str]] = set()

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        machine = host.machine
        assert machine is not None
        for goal in _touched(fresh, _TREE):
            plan = machine.plan.goals.get(GoalId(EventId(goal)))
            if plan is None or plan.goal is None:
                continue
            for task in plan.tasks.values():
                key = (host.index, host.run, task.id)
                if task.accepted is None or key in self._checked:
                    continue
                self._checked.add(key)
                self._count(world, host, plan, task.id, task.accepted.proposal)

    def _count(self, world: "World", host: "Host", plan: GoalPlan, task: TaskId, proposal: EventId) -> None:
        assert host.machine is not None and plan.goal is not None
        events = [opened for opened in host.machine.events if getattr(opened.event, "task", None) == task]
        if not any(o.id == proposal and isinstance(o.event, Proposal) for o in events):
            fail(world, "validity", f"{task[:8]} was split by a proposal that nobody made")
        named = plan.goal.electorate
        if not named:
            amends = [o.event for o in host.machine.events if isinstance(o.event, Amend) and o.event.goal == plan.id]
            named = next((a.electorate for a in amends if a.author == plan.goal.author), ())
        said: dict[int, dict[PeerId, set[tuple[EventId, bool]]]] = {}
        for opened in events:
            if isinstance(opened.event, Vote) and opened.event.author in named:
                votes = said.setdefault(opened.event.ballot, {})
                votes.setdefault(opened.event.author, set()).add((opened.event.proposal, opened.event.approve))
        most = max((sum(v == {(proposal, True)} for v in votes.values()) for votes in said.values()), default=0)
        if 2 * most <= len(set(named)) or most < min(plan.goal.quorum, len(set(named))):
            fail(world, "validity", f"{task[:8]}: {most} approvals of {len(named)} scorers accept nothing")
        chairs = {o.event.ballot for o in events if isinstance(o.event, Nomination) and o.event.author in named}
        if not chairs and all(h.roles == () for h in world.hosts):
            fail(world, "validity", "accepted without a nomination")


class Word(Checker):
    """A scorer keeps its word over restarts: one vote in a ballot, none below a promise, promises that name every
    approval."""

    watches = (Append, Publish)

    def __init__(self, world: "World") -> None:
        self._votes: dict[tuple[PeerId, str, int], tuple[EventId, bool]] = {}
        self._promised: dict[tuple[PeerId, str], int] = {}
        self._approvals: dict[tuple[PeerId, str], set[tuple[int, EventId]]] = {}  # published
        self._written: dict[tuple[PeerId, str], set[tuple[int, EventId]]] = {}  # on disk, published or not

    def on_effect(self, world: "World", host: "Host", effect: Effect) -> None:
        if host.equivocates:
            return
        if isinstance(effect, Append) and effect.sync:
            for envelope in effect.envelopes:
                event = world.open(envelope, swarm_of(host)).event
                if isinstance(event, Vote) and event.approve:
                    self._written.setdefault((event.author, event.task), set()).add((event.ballot, event.proposal))
        if not isinstance(effect, Publish):
            return
        for envelope in effect.envelopes:
            event = world.open(envelope, swarm_of(host)).event
            if isinstance(event, Vote):
                self._vote(world, event)
            elif isinstance(event, Promise):
                about = (event.author, event.task)
                self._promised[about] = max(event.ballot, self._promised.get(about, 0))
                named = {(a.ballot, a.proposal) for a in event.approvals}
                given = {a for a in self._approvals.get(about, ()) if a[0] < event.ballot}
                written = self._written.get(about, set())
                if not given <= named <= written and about not in world.afterthoughts:
                    fail(world, "durability", f"host {host.index} promises but conceals or invents approvals")
                if event.ballot > _BALLOT_CHURN_MAX:
                    fail(world, "progress", f"{event.ballot} ballots on {event.task[:8]} and no end")

    def _vote(self, world: "World", vote: Vote) -> None:
        word = (vote.proposal, vote.approve)
        if self._votes.setdefault((vote.author, vote.task, vote.ballot), word) != word:
            fail(world, "durability", f"{vote.author[-8:]} votes twice in ballot {vote.ballot} of {vote.task[:8]}")
        if vote.ballot < self._promised.get((vote.author, vote.task), 0):
            fail(world, "durability", f"{vote.author[-8:]} votes below its promise in {vote.task[:8]}")
        if vote.approve:
            self._approvals.setdefault((vote.author, vote.task), set()).add((vote.ballot, vote.proposal))


class OneWorker(Checker):
    """Without faults no task is worked on twice; with faults every further time rests on a claim of its own or on a
    restart."""

    watches = (Ask,)
    restless = True

    def __init__(self, world: "World") -> None:
        self.begun: dict[str, list[tuple[int, int, str]]] = {}  # task: host, run, claim
        self._exempt: set[str] = set()  # goals in which an equivocator makes tasks vanish and come back

    def on_equivocation(self, world: "World", host: "Host", vote: Opened) -> None:
        self._exempt.add(vote.event.goal)  # type: ignore[union-attr]

    def on_effect(self, world: "World", host: "Host", effect: Effect) -> None:
        if not isinstance(effect, Ask) or not isinstance(effect.request, Execute | Compose):
            return
        assert host.machine is not None
        subject = host.machine._jobs.running[effect.job].subject
        entry = (host.index, host.run, str(subject.about))
        begun = self.begun.setdefault(subject.task, [])
        if entry in begun and subject.goal not in self._exempt:
            fail(world, "one worker", f"host {host.index} does {subject.task[:8]} twice for one claim")
        begun.append(entry)
        if world.weather.faultless and len(begun) > 1:
            fail(world, "one worker", f"without any fault, {subject.task[:8]} is done by {begun}")
        plan = host.machine.plan.goals[subject.goal]
        claims = plan.book(subject.task).claims
        if str(subject.about) not in claims or claims[EventId(str(subject.about))].author != host.peer:
            fail(world, "one worker", f"host {host.index} works without a claim")

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        machine = host.machine
        assert machine is not None
        if any(isinstance(opened.event, Claim | Result) for opened in fresh):
            self._in_vain(world, host)
        slots = host.slots
        if len(machine._jobs.running) > slots:
            fail(world, "containment", f"host {host.index} runs {len(machine._jobs.running)} jobs in {slots} slots")

    def _in_vain(self, world: "World", host: "Host") -> None:
        """Whoever has lost a race stops its model in the very step in which it hears of that."""
        assert host.machine is not None
        for job in host.machine._jobs.running.values():
            if job.subject.kind == "work":
                plan = host.machine.plan.goals[job.subject.goal]
                task = plan.tasks.get(job.subject.task)
                if task is None or task.finished or holder_of(task, plan.book(task.id)) != job.subject.about:
                    fail(world, "one worker", f"host {host.index} works on in vain at {job.subject.task[:8]}")


class Oracle(Checker):
    """What a dumb model counts from the bare events, one task at a time: birth, holder and the result that counts."""

    def __init__(self, world: "World") -> None:
        self._random = random.Random(f"oracle {world.seed}")

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        if fresh and self._random.random() < 0.03:
            self._compare(world, host)

    def finish(self, world: "World") -> None:
        for host in core_hosts(world):
            self._compare(world, host)

    def _compare(self, world: "World", host: "Host") -> None:
        assert host.machine is not None
        plan = host.machine.plan
        told: dict[str, list[tuple[EventId, Known]]] = {}
        for opened in sorted(host.machine.events, key=lambda opened: (opened.event.hlc, opened.id)):
            event = opened.event
            if opened.event.author in plan.members and not isinstance(event, Unknown):
                told.setdefault(getattr(event, "task", ""), []).append((opened.id, event))
        for goal in plan.goals.values():
            self._compare_goal(world, host, goal, told)
            for task in goal.walk():
                about = told.get(task.id, [])
                assert goal.goal is not None
                born = _born(goal, told.get(task.parent, []), task.id) if task.parent else goal.goal.hlc
                claims = {i: e for i, e in about if isinstance(e, Claim) and e.hlc > born}
                order = sorted(claims, key=lambda i: (-claims[i].attempt, claims[i].hlc, claims[i].author, i))
                if next(iter(order), None) != holder_of(task, goal.book(task.id)):
                    fail(world, "one worker", f"host {host.index} takes the wrong claim to hold {task.id[:8]}")
                results = {i: e for i, e in about if isinstance(e, Result) and _is_backed(e, claims)}
                done = [i for i in results if results[i].status == "done"]
                ranked = sorted(done or results, key=lambda i: (order.index(results[i].claim), results[i].hlc, i))
                if next(iter(ranked), None) != result_of(task, goal.book(task.id)):
                    fail(world, "one worker", f"host {host.index} counts the wrong result of {task.id[:8]}")
                bounds = goal.goal.limits
                if task.born != born:
                    fail(world, "one worker", f"host {host.index} dates {task.id[:8]} wrongly")
                at_limit = task.depth >= bounds.depth and not task.leaf
                if at_limit or task.depth > bounds.depth or len(task.children) > bounds.children:
                    fail(world, "validity", f"host {host.index}: {task.id[:8]} is over the limits of its goal")
                tries = max((r.attempt for r in results.values() if r.status == "failed"), default=0)
                if (task.state == "done") != bool(done):
                    fail(
                        world, "progress", f"host {host.index}: {task.id[:8]} is {task.state} with {len(done)} results"
                    )
                if not done and tries >= goal.goal.policy.attempts and task.state != "failed":
                    fail(world, "progress", f"host {host.index}: {task.id[:8]} is not failed after {tries} attempts")

    def _compare_goal(
        self, world: "World", host: "Host", goal: GoalPlan, told: dict[str, list[tuple[EventId, Known]]]
    ) -> None:
        """How many tasks it has grown to, and whether a cancellation came before its end."""
        if goal.goal is None:
            return
        grown = sum(1 for _ in goal.walk())
        if grown > goal.goal.limits.tasks:
            fail(world, "validity", f"host {host.index}: {goal.id[:8]} has grown to {grown} tasks")
        root = told.get(goal.id, [])
        claims = {i: e for i, e in root if isinstance(e, Claim) and e.hlc > goal.goal.hlc}
        done = [e.hlc for _, e in root if isinstance(e, Result) and e.status == "done" and _is_backed(e, claims)]
        cancelled = [e.hlc for _, e in told.get("", []) if isinstance(e, Cancel) and e.goal == goal.id]
        cancels = bool(cancelled) and not any(stamp < min(cancelled) for stamp in done)
        if cancels != (goal.status == "cancelled"):
            fail(world, "agreement", f"host {host.index}: {goal.id[:8]} is {goal.status}, cancelled={cancels}")


def _born(goal: GoalPlan, about: list[tuple[EventId, Known]], task: TaskId) -> int:
    """The stamp of the vote that completed the first quorum for the split that has *task* as a part."""
    votes = [(e.ballot, e.hlc, e.author, e.proposal) for _, e in about if isinstance(e, Vote) and e.approve]
    void = {
        (one.ballot, one.author)
        for _, one in about
        for _, two in about
        if isinstance(one, Vote) and isinstance(two, Vote)
        if (one.ballot, one.author) == (two.ballot, two.author)
        and (one.proposal, one.approve) != (two.proposal, two.approve)
    }
    births = []
    proposals = {i for i, e in about if isinstance(e, Proposal) and task in [child_task(i, n) for n in range(12)]}
    for ballot in {ballot for ballot, _, _, _ in votes}:
        first: dict[PeerId, int] = {}
        for b, stamp, author, proposal in votes:
            if b == ballot and proposal in proposals and author in goal.electorate.members and (b, author) not in void:
                first[author] = min(stamp, first.get(author, stamp))
        if len(first) >= goal.electorate.quorum:
            births.append(sorted(first.values())[goal.electorate.quorum - 1])
    return min(births)


def _is_backed(result: Result, claims: dict[EventId, Claim]) -> bool:
    claim = claims.get(result.claim)
    return claim is not None and (claim.author, claim.attempt) == (result.author, result.attempt)


class Durability(Checker):
    """What was acknowledged or published survives the crash of its author, except with its disk."""

    watches = (Publish, Reply)

    def __init__(self, world: "World") -> None:
        self._kept: dict[PeerId, set[EventId]] = {}

    def on_effect(self, world: "World", host: "Host", effect: Effect) -> None:
        if isinstance(effect, Publish):
            kept = self._kept.setdefault(host.peer, set())
            kept.update(world.open(envelope, swarm_of(host)).id for envelope in effect.envelopes)
        elif isinstance(effect, Reply) and isinstance(effect.value, str) and effect.token in world.commands:
            self._kept.setdefault(host.peer, set()).add(EventId(effect.value))

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        if not isinstance(happened, Started) or host.rolled_back:
            return
        assert host.machine is not None
        lost = [i for i in sorted(self._kept.get(host.peer, ())) if i not in host.machine.events]
        if lost:
            fail(world, "durability", f"host {host.index} has lost {len(lost)} events that it had published")

    def finish(self, world: "World") -> None:
        for host in core_hosts(world):
            assert host.machine is not None
            for other in core_hosts(world):
                if other.rolled_back:
                    continue  # what only a machine had heard that then failed as well, nobody can give back
                for identifier in sorted(self._kept.get(other.peer, ())):
                    if identifier not in host.machine.events and self._may_be_heard(world, identifier):
                        fail(
                            world, "durability", f"host {host.index} never heard {identifier[:8]} of host {other.index}"
                        )

    def _may_be_heard(self, world: "World", identifier: EventId) -> bool:
        return all(
            sane(opened.event.hlc, world)
            for host in core_hosts(world)
            if host.machine is not None
            for opened in host.machine.events
            if opened.id == identifier
        )


class Silence(Checker):
    """An observer publishes nothing, signs nothing and gives nothing."""

    watches = (Publish, Announce, Stream, Ask, Append, SyncSend)

    def on_effect(self, world: "World", host: "Host", effect: Effect) -> None:
        if host.roles:
            return
        loud = isinstance(effect, Publish | Announce | Stream | Ask) or (isinstance(effect, Append) and effect.sync)
        if loud or (isinstance(effect, SyncSend) and isinstance(effect.frame, Give | Done)):
            fail(world, "silence", f"observer {host.index} lets out {type(effect).__name__}")


class Containment(Checker):
    """Everything is bounded: effects of a step, sessions, memory beside the events, frames, and what one peer says."""

    watches = (Publish, SyncSend)
    restless = True

    def __init__(self, world: "World") -> None:
        self._said: dict[PeerId, int] = {}

    def on_effect(self, world: "World", host: "Host", effect: Effect) -> None:
        if isinstance(effect, Publish):
            self._said[host.peer] = self._said.get(host.peer, 0) + len(effect.envelopes)
            if self._said[host.peer] > _OWN_EVENTS_MAX:
                fail(world, "containment", f"host {host.index} has said {self._said[host.peer]} things and goes on")
        elif isinstance(effect, SyncSend) and len(encode(effect.frame)) > limits.FRAME_BYTES_MAX:
            fail(world, "containment", f"host {host.index} sends a frame over the limit")

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        machine = host.machine
        assert machine is not None
        if len(machine._company._sessions.open) > limits.SESSIONS_MAX:
            fail(world, "containment", f"{len(machine._company._sessions.open)} sessions at once")

    def finish(self, world: "World") -> None:
        for host in core_hosts(world):
            machine = host.machine
            assert machine is not None
            tasks = sum(len(plan.tasks) for plan in machine.plan.goals.values())
            if len(machine._thought.clocks) > tasks + 50:
                fail(
                    world,
                    "containment",
                    f"host {host.index} remembers {len(machine._thought.clocks)} clocks of {tasks} tasks",
                )
            if len(machine._labour.streams) > len(machine._labour._heard_ms) or len(machine._jobs.failures) > 1_000:
                fail(world, "containment", f"host {host.index} keeps running text or failures for ever")


class Progress(Checker):
    """With a majority of the electorate, a decomposer and an executor alive and connected, every goal ends, and stays
    ended."""

    def __init__(self, world: "World") -> None:
        self._ended: dict[tuple[int, int, str], str] = {}

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        machine = host.machine
        assert machine is not None
        for goal in _touched(fresh, (Result, Vote, Proposal, Claim)):
            plan = machine.plan.goals.get(GoalId(EventId(goal)))
            if plan is None or plan.goal is None:
                continue
            key = (host.index, host.run, goal)
            if plan.ended:
                self._ended[key] = plan.status
            elif self._ended.get(key, "failed") != "failed" and not _equivocated(plan):
                # a failed goal may open again: a result that a partition hid turns up for a leaf that had failed
                fail(world, "progress", f"host {host.index}: a goal that had ended ({self._ended[key]}) is open again")

    def settled(self, world: "World") -> bool:
        return not self._open(world)

    def _open(self, world: "World") -> "list[tuple[Host, GoalPlan]]":
        return [
            (host, plan)
            for host in core_hosts(world)
            if host.machine is not None
            for plan in host.machine.plan.open_goals()
            if _must_end(world, host, plan)
        ]

    def finish(self, world: "World") -> None:
        for host, plan in self._open(world):
            stuck = [f"{task.id[:8]} {task.state} leaf={task.leaf}" for task in plan.walk() if not task.finished]
            fail(world, "progress", f"host {host.index}: goal {plan.id[:8]} never ends: {'; '.join(stuck)}")


def _must_end(world: "World", host: "Host", plan: GoalPlan) -> bool:
    """Whether the healed quorum has everything that this goal needs."""
    assert plan.goal is not None
    if world.strange_years(host):
        return False  # it has lived in another year, and nobody else takes what it said then
    if not host.roles:  # what only a silent observer has heard of, nobody can act on
        speaking = [h for h in core_hosts(world) if h.roles and h.machine and plan.id in h.machine.events]
        return any(_must_end(world, h, h.machine.plan.goals[plan.id]) for h in speaking if h.machine)
    able = {
        h.peer
        for h in core_hosts(world)
        if "scorer" in h.roles and not (h.equivocates or h.usurps or world.strange_years(h))
    }
    electorate = plan.electorate
    if not electorate.members:
        return any(h.peer == plan.goal.author and not world.strange_years(h) for h in core_hosts(world))
    if len(able & set(electorate.members)) < electorate.quorum:
        return False
    if not plan.goal.policy.strict:
        return True
    for task in plan.walk():  # a strict goal may wait for a split that is good enough
        if task.state != "open":
            continue
        book = plan.book(task.id)
        means = [mean for p in book.proposals if (mean := book.mean(p, electorate.members)) is not None]
        if not means or max(means) < plan.goal.policy.threshold:
            return False
    return True


def _equivocated(plan: GoalPlan) -> bool:
    return any(book.ballots.equivocators() for book in plan.books.values())


def _touched(fresh: list[Opened], kinds: tuple[type, ...]) -> list[str]:
    """The goals of which a step took in events of these kinds, in order."""
    if not fresh:
        return []
    found = {
        str(opened.id if isinstance(opened.event, Goal) else getattr(opened.event, "goal", "")): None
        for opened in fresh
        if isinstance(opened.event, kinds)
    }
    found.pop("", None)
    return list(found)


def checkers(world: "World") -> list[Checker]:
    """All invariants, watching *world*."""
    kinds: list[type[Checker]] = [Convergence, Agreement, Validity, Word, OneWorker, Oracle, Durability, Silence]
    return [kind(world) for kind in (*kinds, Containment, Progress, *conduct.KINDS)]
