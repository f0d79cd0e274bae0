"""The rules of conduct, one object each: what a machine says or does is weighed against what it knew at that moment, by
dumb models that count events for themselves."""

from typing import TYPE_CHECKING

from swarmd.events.envelope import Opened
from swarmd.events.kinds import Claim, Nomination, Promise, Proposal, Score, Vote
from swarmd.gossip.frames import Summary
from swarmd.plan.plan import GoalPlan
from swarmd.plan.task import TaskBook
from swarmd.replica.effects import Append, Effect, Publish, SyncSend
from swarmd.replica.inputs import Input, LiveHeard, Started, SyncHeard
from swarmd.vocab.hlc import HLC_MAX
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId, rendezvous
from tests.sim.checker import Checker, core_hosts, fail, sane

if TYPE_CHECKING:
    from tests.sim.world import Host, World

_ROUNDING = 1e-9  # means of marks that are summed up in another order


class Chairs(Checker):
    """Nobody nominates, and nobody votes for, what the promises that a nomination names do not allow."""

    watches = (Publish,)

    def on_effect(self, world: "World", host: "Host", effect: Effect) -> None:
        if not isinstance(effect, Publish):
            return
        for envelope in effect.envelopes:
            event = world.known(envelope).event
            if not isinstance(event, Nomination | Vote):
                continue
            plan, book = _about(host, event)
            named = book.ballots.nominations.get(event.ballot, {}).values()
            standing = [n for n in named if n.proposal == event.proposal and _stands(n, plan, book)]
            if isinstance(event, Nomination) and event not in standing:
                fail(world, "agreement", f"host {host.index} nominates in {event.task[:8]} what it must not")
            if isinstance(event, Vote) and not standing:
                fail(world, "agreement", f"host {host.index} votes in {event.task[:8]} for what nobody may nominate")


class Joining(Checker):
    """A scorer that hears that others have left a ballot, in which something was approved, leaves it in that step."""

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        machine = host.machine
        assert machine is not None
        if "scorer" not in machine.me.roles or not machine._company.caught_up or machine._stopping:
            return
        for opened in fresh:
            promise = opened.event
            if (
                not isinstance(promise, Promise)
                or promise.author == host.peer
                or promise.goal not in machine.plan.goals
            ):
                continue
            plan, book = _about(host, promise)
            task = plan.tasks.get(TaskId(promise.task))
            members = plan.electorate.members
            if task is None or task.state != "open" or task.leaf or plan.ended:
                continue
            if not {host.peer, promise.author} <= set(members) or promise.author not in machine.plan.members:
                continue
            votes, promises = book.ballots.votes, book.ballots.promises
            approved = any(yes for said in votes.values() for given in said.values() for _, yes in given)
            mine = {ballot for said in (votes, promises) for ballot in said if host.peer in said[ballot]}
            named = {b for b, n in book.ballots.nominations.items() if any(_stands(x, plan, book) for x in n.values())}
            if approved and max(mine | named, default=0) < promise.ballot:
                fail(world, "progress", f"host {host.index} stays alone in a ballot of {promise.task[:8]}")


class Taste(Checker):
    """What falls short of the goal's threshold is put to the vote only when polishing is exhausted, and never where the
    goal is strict; and where nothing hinders it, what falls short is polished."""

    watches = (Append, Publish)

    def __init__(self, world: "World") -> None:
        self._proposed: dict[tuple[int, int, TaskId], int] = {}  # when it knew the first split of a task

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        if isinstance(happened, Started):
            assert host.machine is not None
            for opened in host.machine.events:
                self._see(world, host, opened)

    def _see(self, world: "World", host: "Host", opened: Opened) -> None:
        if isinstance(opened.event, Proposal):
            self._proposed.setdefault((host.index, host.run, TaskId(opened.event.task)), world.t_ms)

    def on_effect(self, world: "World", host: "Host", effect: Effect) -> None:
        if isinstance(effect, Append):
            for envelope in effect.envelopes:
                self._see(world, host, world.known(envelope))
        if not isinstance(effect, Publish):
            return
        for envelope in effect.envelopes:
            event = world.known(envelope).event
            if isinstance(event, Nomination) or (isinstance(event, Vote) and event.approve):
                self._weigh(world, host, event)

    def _weigh(self, world: "World", host: "Host", said: Nomination | Vote) -> None:
        plan, book = _about(host, said)
        if world.strange_years(host) or said.task not in plan.tasks or _forced(said, book):
            return
        assert host.machine is not None and plan.goal is not None
        policy, members = plan.goal.policy, plan.electorate.members
        splits, marks = _before(host, TaskId(said.task), said.hlc)
        given = marks.get(said.proposal, {})
        means = [given[peer] for peer in members if peer in given]
        mean = sum(means) / len(means) if means else 0.0
        liked = mean >= policy.threshold - _ROUNDING
        if isinstance(said, Vote):  # a voter goes by its own mark until every chair has had a turn
            own = given.get(host.peer, 0.0) >= policy.threshold - _ROUNDING
            liked = own or (liked and said.ballot >= len(members))
        if liked:
            return
        what = "nominates" if isinstance(said, Nomination) else "approves"
        if policy.strict:
            fail(world, "validity", f"host {host.index} {what} for strict {said.task[:8]} what falls short")
        refined = {split.refines for split in splits.values()}
        ends = [identifier for identifier in splits if identifier not in refined]
        polished = all(_generation(i, splits) >= policy.polish for i in ends) and marks.keys() >= splits.keys()
        since = self._proposed[host.index, host.run, TaskId(said.task)]
        waited = world.t_ms - since >= world.timing.deliberation_ms * (policy.polish + 1)
        if not polished and not waited:
            fail(world, "validity", f"host {host.index} {what} for {said.task[:8]} what should be polished")

    def finish(self, world: "World") -> None:
        if not world.weather.brisk:
            return
        for host in core_hosts(world):
            assert host.machine is not None
            for plan in host.machine.plan.goals.values():
                for task in plan.walk():
                    if task.accepted is not None and plan.goal is not None and plan.goal.policy.polish:
                        self._look_back(world, host, plan, task.id, plan.goal.policy.threshold)

    def _look_back(self, world: "World", host: "Host", plan: GoalPlan, task: TaskId, threshold: float) -> None:
        splits, marks = _before(host, task, HLC_MAX)
        members = plan.electorate.members
        liked = [
            sum(given[peer] for peer in given if peer in members) / len(given.keys() & set(members))
            for given in marks.values()
            if given.keys() & set(members)
        ]
        if max(liked) < threshold - _ROUNDING and not any(split.refines for split in splits.values()):
            fail(world, "progress", f"{task[:8]} fell short, and nobody polished it")


class Leases(Checker):
    """Nobody claims what another one holds whose sign of life is younger, in true time, than its lease."""

    watches = (Append, Publish)
    restless = True

    def __init__(self, world: "World") -> None:
        self._up: dict[tuple[int, int], int] = {}
        self._heard: dict[tuple[int, int, EventId], int] = {}  # by host, run and claim: when

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        if isinstance(happened, Started):
            self._up[host.index, host.run] = world.t_ms
        elif isinstance(happened, LiveHeard):
            assert host.machine is not None
            plan = host.machine.plan.goals.get(GoalId(EventId(happened.live.goal)))
            book = plan.books.get(TaskId(happened.live.task)) if plan else None
            claim = book.claims.get(happened.live.claim) if book else None
            if claim is not None and claim.author == happened.peer:
                self._heard[host.index, host.run, happened.live.claim] = world.t_ms

    def on_effect(self, world: "World", host: "Host", effect: Effect) -> None:
        if isinstance(effect, Append):
            for envelope in effect.envelopes:
                if isinstance(world.known(envelope).event, Claim):
                    self._heard[host.index, host.run, world.known(envelope).id] = world.t_ms
        if not isinstance(effect, Publish):
            return
        for envelope in effect.envelopes:
            opened = world.known(envelope)
            if isinstance(opened.event, Claim):
                self._may_claim(world, host, opened.id, opened.event)

    def _may_claim(self, world: "World", host: "Host", identifier: EventId, claim: Claim) -> None:
        plan, book = _about(host, claim)
        task = plan.tasks.get(claim.task)
        if task is None or world.strange_years(host):
            return
        others = {i: c for i, c in book.claims.items() if i != identifier and c.hlc > task.born}
        if not others:
            return
        held = min(others, key=lambda i: (-others[i].attempt, others[i].hlc, others[i].author, i))
        holder = others[held]
        if any(r.status == "failed" and (r.claim, r.author) == (held, holder.author) for r in book.results.values()):
            return
        assert host.machine is not None
        seen = host.machine.roster.seen.get(holder.author)
        heard = self._heard.get((host.index, host.run, held), self._up.get((host.index, host.run), 0))
        gone = (seen is not None and seen.presence.leaving) or world.t_ms - heard >= holder.lease_ms
        if holder.author == host.peer or not gone:
            silent = world.t_ms - heard
            fail(world, "one worker", f"host {host.index} takes {claim.task[:8]} from one that spoke {silent} ms ago")


class Horizon(Checker):
    """Where all clocks are right, nobody takes in an event of another year."""

    watches = (Append,)

    def on_effect(self, world: "World", host: "Host", effect: Effect) -> None:
        if world.weather.wild_clocks or world.weather.flooder or not isinstance(effect, Append):
            return
        for envelope in effect.envelopes:
            if not sane(world.known(envelope).event.hlc, world):
                fail(world, "containment", f"host {host.index} takes in an event from the far future")


class Level(Checker):
    """When a sync session is complete, its initiator has all that the responder had when it began."""

    watches = (SyncSend,)
    restless = True

    def __init__(self, world: "World") -> None:
        self._begun: dict[tuple[int, int, int], tuple[int, int]] = {}  # initiator's end: horizon, what it had refused
        self._answered: dict[tuple[int, int, int], int] = {}  # responder's end: what both take
        self._theirs: dict[tuple[int, int, int], set[EventId]] = {}

    def on_effect(self, world: "World", host: "Host", effect: Effect) -> None:
        assert host.machine is not None
        if isinstance(effect, SyncSend) and isinstance(effect.frame, Summary):
            here = (host.index, host.run, effect.session)
            there = world.far_end(here)
            if there is None:
                return
            if there in self._begun:
                self._answered[here] = min(self._begun[there][0], effect.frame.horizon)
            else:
                self._begun[here] = (effect.frame.horizon, sum(host.machine._record.refused.values()))

    def on_step(self, world: "World", host: "Host", happened: Input, fresh: "list[Opened]") -> None:
        if not isinstance(happened, SyncHeard):
            return
        machine = host.machine
        assert machine is not None
        here = (host.index, host.run, happened.session)
        there = world.far_end(here)
        if (
            here in self._answered and there is not None
        ):  # what it said after its answer, in the same step, is not in it
            said_since = {opened.id for opened in fresh}
            horizon = self._answered.pop(here)
            self._theirs[there] = {o.id for o in machine.events if o.event.hlc <= horizon} - said_since
        if here not in self._begun or happened.session in machine._company._sessions.open:
            return
        _, refused = self._begun.pop(here)
        theirs = self._theirs.pop(here, set())
        if refused != sum(machine._record.refused.values()):
            return  # torn, or what came was from beyond a horizon that has moved meanwhile
        if lacks := sum(identifier not in machine.events for identifier in theirs):
            fail(world, "convergence", f"host {host.index} ends a sync session and lacks {lacks} events")


KINDS: tuple[type[Checker], ...] = (Chairs, Joining, Taste, Leases, Horizon, Level)


def _about(host: "Host", event: Nomination | Vote | Promise | Claim) -> tuple[GoalPlan, TaskBook]:
    """The goal and the book of a task of which something was said."""
    assert host.machine is not None
    plan = host.machine.plan.goals[GoalId(EventId(event.goal))]
    return plan, plan.book(TaskId(event.task))


def _stands(nomination: Nomination, plan: GoalPlan, book: TaskBook) -> bool:
    """Whether a nomination is its chair's, and the promises that it names (all known) leave no other choice."""
    members, quorum = plan.electorate.members, plan.electorate.quorum
    if not members or nomination.author != rendezvous(book.ballots.task, members)[nomination.ballot % len(members)]:
        return False
    if nomination.ballot == 0:
        return not nomination.promises
    promises = _named(nomination, book)
    if len(promises) < len(set(nomination.promises)) or len({p.author for p in promises}) < len(promises):
        return False
    if len(promises) < quorum or not {p.author for p in promises} <= set(members):
        return False
    silent = len(members) - len(promises)
    approvals = {approval for promise in promises for approval in promise.approvals}
    for ballot in sorted({approval.ballot for approval in approvals}, reverse=True):
        named = {approval.proposal for approval in approvals if approval.ballot == ballot}
        could = {p for p in named if sum((ballot, p) in _given(promise) for promise in promises) + silent >= quorum}
        if could:
            return could == {nomination.proposal}
    return True


def _named(nomination: Nomination, book: TaskBook) -> list[Promise]:
    said = book.ballots.promises.get(nomination.ballot, {}).values()
    return [promise for given in said for identifier, promise in given.items() if identifier in nomination.promises]


def _given(promise: Promise) -> set[tuple[int, str]]:
    return {(approval.ballot, approval.proposal) for approval in promise.approvals}


def _forced(said: Nomination | Vote, book: TaskBook) -> bool:
    """Whether the promises behind it tell of approvals: then taste has no say."""
    nominations = book.ballots.nominations.get(said.ballot, {}).values()
    behind = [said] if isinstance(said, Nomination) else [n for n in nominations if n.proposal == said.proposal]
    return any(
        approval.proposal == said.proposal
        for nomination in behind
        for promise in _named(nomination, book)
        for approval in promise.approvals
    )


def _before(
    host: "Host", task: TaskId, stamp: int
) -> tuple[dict[EventId, Proposal], dict[EventId, dict[PeerId, float]]]:
    """The splits of a task, and each scorer's first mark of each, that a machine knew before it said what has
    *stamp*."""
    assert host.machine is not None
    splits: dict[EventId, Proposal] = {}
    marks: dict[EventId, dict[PeerId, float]] = {}
    for opened in sorted(host.machine.events, key=lambda opened: (opened.event.hlc, opened.id)):
        event = opened.event
        if event.hlc >= stamp or event.author not in host.machine.plan.members:
            continue
        if isinstance(event, Proposal) and event.task == task:
            splits[opened.id] = event
        elif isinstance(event, Score) and event.task == task:
            mark = (event.specific + event.disjoint + event.covering) / 3
            marks.setdefault(event.proposal, {}).setdefault(event.author, mark)
    return splits, marks


def _generation(identifier: EventId, splits: dict[EventId, Proposal]) -> int:
    """How many splits came before one in its line."""
    line = [identifier]
    while (parent := splits[line[-1]].refines) in splits and parent not in line:
        assert parent is not None
        line.append(parent)
    return len(line) - 1
