"""The mutants: each a wrong rule in one sentence, and the patch of the core that makes it so."""

import itertools
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace

import swarmd.replica.machine  # noqa: F401 - brings in every module of the core
from swarmd.events.codec import decode
from swarmd.events.envelope import Envelope, Opened
from swarmd.events.kinds import Approval, Claim, Event, Nomination, Promise, Result, Score
from swarmd.gossip import eventset, reconcile
from swarmd.gossip.frames import Bound
from swarmd.plan import ballot, claims, task
from swarmd.plan.ballot import Acceptance, BallotBook, Electorate, Forced, Free, Recovery
from swarmd.plan.plan import GoalPlan, Plan, Shift
from swarmd.plan.task import Task, TaskBook
from swarmd.replica.effects import Append, Effect
from swarmd.replica.inputs import Now
from swarmd.replica.jobs import Jobs
from swarmd.replica.labour import Labour
from swarmd.replica.me import Me
from swarmd.replica.record import Record
from swarmd.replica.turn import Turn
from swarmd.roles import decomposer, scene, scorer
from swarmd.vocab import hlc, ids
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.hlc import Hlc
from swarmd.vocab.ids import EventId, PeerId, TaskId


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong rule. *name*: for the command line; *says*: what it gets wrong; *storm*: the scenario of the simulator in
    which it shows soonest, empty: any."""

    name: str
    says: str
    install: Callable[[], None]
    storm: str = ""


MUTANTS: dict[str, Mutant] = {}


def mutant(says: str, storm: str = "") -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Registers the patch below it under its function's name."""

    def register(install: Callable[[], None]) -> Callable[[], None]:
        name = install.__name__.replace("_", "-")
        MUTANTS[name] = Mutant(name, says, install, storm)
        return install

    return register


def put(original: object, wrong: object) -> None:
    """Puts *wrong* wherever in the core *original* is bound, in modules and in classes."""
    places = [module for name, module in sorted(sys.modules.items()) if name.startswith("swarmd.")]
    found = 0
    for module in places:
        for name, value in list(vars(module).items()):
            if value is original:
                setattr(module, name, wrong)
                found += 1
            elif isinstance(value, type) and value.__module__ == module.__name__:
                for attribute, inner in list(vars(value).items()):
                    if inner is original:
                        setattr(value, attribute, wrong)
                        found += 1
    assert found, f"{original} is nowhere in the core any more: mend this mutant"


# --- ballots -------------------------------------------------------------------------------------------------------


@mutant("half of the electorate is a quorum", "calm")
def quorum_off_by_one() -> None:
    def of(members: Iterable[PeerId], quorum: int) -> Electorate:
        distinct = tuple(sorted(set(members)))
        return Electorate(distinct, min(max(quorum, (len(distinct) + 1) // 2), len(distinct)))

    Electorate.of = staticmethod(of)  # type: ignore[method-assign]


@mutant("after a restart a scorer has forgotten what it promised", "disks")
def promise_forgotten_after_restart() -> None:
    restore = Record.restore

    def forgetful(self: Record, turn: Turn, envelopes: Iterable[Envelope]) -> None:
        restore(self, turn, [e for e in envelopes if not isinstance(decode_or_none(e), Promise)])

    put(restore, forgetful)


def decode_or_none(envelope: Envelope) -> Event | None:
    """The event inside, None if it is rotten."""
    try:
        return decode(envelope.payload)
    except RemoteFault:
        return None


@mutant("a scorer votes in ballots below its promise", "secrets")
def votes_below_the_promise() -> None:
    vote, promised = scorer._vote, BallotBook.promised

    def careless(*arguments: object) -> object:
        BallotBook.promised = lambda self, peer: 0  # type: ignore[method-assign]
        try:
            return vote(*arguments)  # type: ignore[arg-type]
        finally:
            BallotBook.promised = promised  # type: ignore[method-assign]

    put(vote, careless)


@mutant("a promise keeps silent about approvals already given", "secrets")
def promise_hides_approvals() -> None:
    put(BallotBook.given, lambda self, peer, below: ())


@mutant("a chair always chooses freely", "secrets")
def recovery_ignores_what_may_have_been_accepted() -> None:
    put(ballot.recover, lambda promises, electorate: Free())


@mutant("only what the promisers alone had accepted binds a chair, the silent are taken for against", "secrets")
def recovery_takes_the_silent_for_against() -> None:
    def recover(promises: Iterable[Promise], electorate: Electorate) -> Recovery:
        given: dict[Approval, int] = {}
        for promise in promises:
            for approval in promise.approvals:
                given[approval] = given.get(approval, 0) + 1
        bound = [approval for approval, count in given.items() if count >= electorate.quorum]
        return Forced(max(bound).proposal) if bound else Free()

    put(ballot.recover, recover)


@mutant("of the ballots that may have accepted something the lowest binds", "secrets")
def recovery_takes_the_lowest_ballot() -> None:
    recover = ballot.recover

    def lowest(promises: Iterable[Promise], electorate: Electorate) -> Recovery:
        promises = list(promises)
        ballots = sorted({approval.ballot for promise in promises for approval in promise.approvals})
        for upper in ballots:
            cut = [_without(promise, upper) for promise in promises]
            found = recover(cut, electorate)
            if not isinstance(found, Free):
                return found
        return Free()

    put(recover, lowest)


def _without(promise: Promise, above: int) -> Promise:
    kept = tuple(approval for approval in promise.approvals if approval.ballot <= above)
    return Promise(
        author=promise.author,
        hlc=promise.hlc,
        goal=promise.goal,
        task=promise.task,
        ballot=promise.ballot,
        approvals=kept,
    )


@mutant("voters do not check what a nomination rests on", "strangers")
def nomination_unchecked() -> None:
    def may_vote(self: BallotBook, nomination: Nomination, electorate: Electorate) -> Recovery | None:
        return Free() if nomination.author == electorate.chair(self.task, nomination.ballot) else None

    put(BallotBook.may_vote, may_vote)


@mutant("void votes count: who said two things in a ballot is counted for both", "strangers")
def void_votes_counted() -> None:
    def approvals(self: BallotBook, number: int, proposal: EventId, electorate: Electorate) -> set[PeerId]:
        said = self.votes.get(number, {})
        return {peer for peer in electorate.members if (proposal, True) in said.get(peer, set())}

    put(BallotBook.approvals, approvals)


@mutant("approvals of different ballots add up", "secrets")
def approvals_add_up_over_ballots() -> None:
    def approvals(self: BallotBook, number: int, proposal: EventId, electorate: Electorate) -> set[PeerId]:
        return {
            peer
            for said in (self.votes[n] for n in self.votes if n <= number)
            for peer in electorate.members
            if said.get(peer) == {(proposal, True)}
        }

    accepted = BallotBook.accepted

    def lenient(self: BallotBook, electorate: Electorate, known: Container[EventId]) -> Acceptance | None:
        for number in self.votes:
            for peer in electorate.members:
                earliest = [hlc for (_, voter), hlc in self.stamps.items() if voter == peer]
                if earliest:
                    self.stamps.setdefault((number, peer), min(earliest))
        return accepted(self, electorate, known)

    put(BallotBook.approvals, approvals)
    put(accepted, lenient)


@mutant("who scores decides: the electorate is whoever is about, not whom the goal names", "calm")
def electorate_from_presence() -> None:
    def present(self: GoalPlan) -> Electorate:
        scorers = {peer for book in self.books.values() for marks in book.scores.values() for peer in marks}
        return Electorate.of(scorers, 0)

    GoalPlan.electorate = property(present)  # type: ignore[assignment]


@mutant("a scorer waits for its own timer although others have left the ballot", "secrets")
def joins_no_ballot_of_others() -> None:
    promise = scorer._promise

    def alone(*arguments: object) -> scorer.SayPromise | None:
        _, _, book, electorate, the_scene, clock = arguments
        said = promise(*arguments)  # type: ignore[arg-type]
        assert isinstance(book, TaskBook)
        assert isinstance(the_scene, scene.Scene)
        assert isinstance(clock, scene.TaskClock)
        early = clock.ballot_ms is not None and the_scene.mono_ms < scorer._stalls_at(clock, the_scene)
        if said is not None and early and not book.ballots.hopeless(clock.ballot, electorate):  # type: ignore[arg-type]
            return None
        return said

    put(promise, alone)


@mutant("a split is born with its lowest accepted ballot, though a higher one was complete before", "secrets")
def birth_moves_forward() -> None:
    def accepted(self: BallotBook, electorate: Electorate, known: Container[EventId]) -> Acceptance | None:
        for number in sorted(self.votes):
            named = {proposal for votes in self.votes[number].values() for proposal, _ in votes}
            for proposal in sorted(proposal for proposal in named if proposal in known):
                approvals = self.approvals(number, proposal, electorate)
                if approvals and len(approvals) >= electorate.quorum:
                    stamps = sorted(self.stamps[number, peer] for peer in approvals)
                    return Acceptance(number, proposal, Hlc(stamps[electorate.quorum - 1]))
        return None

    put(BallotBook.accepted, accepted)


# --- claims and results --------------------------------------------------------------------------------------------


@mutant("the last claim wins", "ballots")
def last_claim_wins() -> None:
    put(claims.claim_order, lambda identifier, claim: (-claim.attempt, -claim.hlc, claim.author, identifier))


@mutant("a claim need not be later than the acceptance that made the task", "strangers")
def claim_before_acceptance() -> None:
    put(claims.valid, lambda known, born: dict(known))


@mutant("the result that was heard last counts", "strangers")
def last_heard_result_counts() -> None:
    backed = claims.backed

    def counting(results: Mapping[EventId, Result], known: Mapping[EventId, Claim], born: Hlc) -> EventId | None:
        return next(iter(list(backed(results, known, born))[::-1]), None)

    put(claims.counting, counting)


@mutant("a late result of a lower attempt overrides that of a higher one", "strangers")
def late_lower_attempt_overrides() -> None:
    backed = claims.backed

    def counting(results: Mapping[EventId, Result], known: Mapping[EventId, Claim], born: Hlc) -> EventId | None:
        def rank(identifier: EventId) -> tuple[bool, int, int, str]:
            result = results[identifier]
            return result.status != "done", result.attempt, result.hlc, identifier

        return min(backed(results, known, born), key=rank, default=None)

    put(claims.counting, counting)


@mutant("a failure of a higher attempt takes a finished task back", "strangers")
def failure_undoes_a_result() -> None:
    backed, claim_order = claims.backed, claims.claim_order

    def counting(results: Mapping[EventId, Result], known: Mapping[EventId, Claim], born: Hlc) -> EventId | None:
        def rank(identifier: EventId) -> tuple[object, ...]:
            result = results[identifier]
            return claim_order(result.claim, known[result.claim]), result.hlc, identifier

        return min(backed(results, known, born), key=rank, default=None)

    put(claims.counting, counting)


@mutant("anybody's result for a claim counts", "strangers")
def impostors_result_counts() -> None:
    def backed(results: Mapping[EventId, Result], known: Mapping[EventId, Claim], born: Hlc) -> list[EventId]:
        return [identifier for identifier, result in results.items() if result.claim in claims.valid(known, born)]

    put(claims.backed, backed)


@mutant("failed attempts never end in a failed leaf", "disks")
def failures_without_end() -> None:
    put(task.attempts_failed, lambda about, book: 0)


@mutant("leases run on the wall clock", "clocks")
def lease_on_the_wall_clock() -> None:
    def by_the_wall(turn: Turn) -> Turn:
        return replace(turn, now=Now(turn.now.wall_ms, turn.now.wall_ms))

    expired, notice, hear = Labour._expired, Labour.notice, Labour.hear

    def wall_notice(self: Labour, turn: Turn, opened: Opened, shifts: list[Shift]) -> None:
        if isinstance(opened.event, Claim):
            notice(self, by_the_wall(turn), opened, shifts)
        else:
            notice(self, turn, opened, shifts)

    put(expired, lambda self, turn: expired(self, by_the_wall(turn)))
    put(notice, wall_notice)
    put(hear, lambda self, turn, peer, live: hear(self, by_the_wall(turn), peer, live))


@mutant("who loses a race lets its model work on", "strangers")
def loser_works_on() -> None:
    put(Jobs.keep, lambda self, turn, wanted: None)


# --- fold ----------------------------------------------------------------------------------------------------------


@mutant("events of a task that is not in the tree yet are dropped", "calm")
def early_children_dropped() -> None:
    apply = GoalPlan.apply

    def hasty(self: GoalPlan, identifier: EventId, event: Event) -> list[Shift]:
        about = getattr(event, "task", None)
        if about is not None and about not in self.tasks:
            return []
        return apply(self, identifier, event)

    put(apply, hasty)


@mutant("events of authors who are not members yet are dropped", "calm")
def early_authors_dropped() -> None:
    apply = Plan.apply

    def hasty(self: Plan, opened: Opened) -> list[Shift]:
        shifts = apply(self, opened)
        self._waiting.clear()
        return shifts

    put(apply, hasty)


@mutant("a child's id is assigned in order of appearance instead of derived", "calm")
def child_ids_assigned() -> None:
    order = itertools.count()
    put(ids.child_task, lambda proposal, index: TaskId(f"{next(order):064x}"))


@mutant("a scorer's last mark counts, by arrival", "strangers")
def last_heard_mark_counts() -> None:
    add = TaskBook.add

    def overwrite(self: TaskBook, identifier: EventId, event: object) -> None:
        if isinstance(event, Score):
            self.scores.setdefault(event.proposal, {})[event.author] = (event.hlc, identifier, event)
        else:
            add(self, identifier, event)  # type: ignore[arg-type]

    put(add, overwrite)


@mutant("the depth limit is a recommendation", "choosy")
def depth_limit_ignored() -> None:
    put(GoalPlan._is_leaf, lambda self, about, proposal, subgoal: subgoal.leaf)


@mutant("a cancel ends a goal that was done before", "strangers")
def cancel_after_the_end() -> None:
    put(GoalPlan._root_done, lambda self: [])


# --- gossip --------------------------------------------------------------------------------------------------------


@mutant("after a full frame, sync goes on behind the stamp, skipping events that share it", "strangers")
def sync_skips_equal_stamps() -> None:
    after = reconcile._after
    put(after, lambda envelopes, lower: Bound(after(envelopes, lower).hlc + 1))


@mutant("sets of equal size are taken for equal", "storm")
def equal_counts_are_equal_sets() -> None:
    put(eventset.fingerprint, lambda total, count: count.to_bytes(16, "big"))


@mutant("an observer gives events to others when it reads", "strangers")
def observer_gives() -> None:
    init = reconcile.Initiator.__init__

    def generous(self: reconcile.Initiator, events: eventset.EventSet, horizon: int, *, silent: bool) -> None:
        init(self, events, horizon, silent=False)

    reconcile.Initiator.__init__ = generous  # type: ignore[method-assign]


@mutant("an observer announces itself", "strangers")
def observer_publishes() -> None:
    Me.silent = property(lambda self: False)  # type: ignore[assignment,method-assign]


@mutant("events from the far future are taken in", "strangers")
def far_future_taken() -> None:
    put(Record.horizon, lambda self, turn: hlc.HLC_MAX - 1)


@mutant("events go out before they are on the disk", "ballots")
def publish_before_append() -> None:
    effects = Turn.effects

    def loud_first(self: Turn) -> list[Effect]:
        return sorted(effects(self), key=lambda effect: isinstance(effect, Append) and effect.sync)

    put(effects, loud_first)


@mutant("own words are written, but not synced, before they go out", "storm")
def publish_before_sync() -> None:
    effects = Turn.effects

    def unsynced(self: Turn) -> list[Effect]:
        return [Append(e.envelopes, sync=False) if isinstance(e, Append) else e for e in effects(self)]

    put(effects, unsynced)


# --- decomposers ---------------------------------------------------------------------------------------------------


@mutant("a strict goal takes the best split there is, like any other", "choosy")
def strict_forgotten() -> None:
    nominable = scene.nominable

    def lenient(goal: GoalPlan, about: Task, the_scene: scene.Scene) -> EventId | None:
        book = goal.book(about.id)
        means = {p: mean for p in book.proposals if (mean := book.mean(p, goal.electorate.members)) is not None}
        best = min(means, key=lambda p: (-means[p], p), default=None)
        return nominable(goal, about, the_scene) or best

    put(nominable, lenient)


@mutant("nobody polishes", "choosy")
def nothing_polished() -> None:
    put(decomposer.weakest_link, lambda goal, about, the_scene: None)
