"""Claims: the same holder and the same counting result everywhere, and they are what a child would pick from the
list."""

import random
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from swarmd.events.kinds import Claim, Result
from swarmd.plan.claims import claim_order, counting, holder
from swarmd.plan.plan import Plan, fold
from swarmd.plan.task import holder_of, result_of
from swarmd.vocab import hlc
from swarmd.vocab.hlc import Hlc
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId, child_task
from tests.household import PEERS, SWARM, Household, at, part

seeds = st.integers(0, 100_000).map(random.Random)
GOAL = GoalId(EventId("9" * 64))
TASK = TaskId("7a" * 32)


def race(rng: random.Random) -> tuple[dict[EventId, Claim], dict[EventId, Result]]:
    """Claims with few stamps, attempts and authors, so that ties are common; results, some of which no claim backs."""
    claims = {
        EventId(f"claim{n}"): Claim(
            author=PeerId(rng.choice("abc")), hlc=rng.randrange(4), goal=GOAL, task=TASK,
            attempt=rng.randint(1, 2), lease_ms=60_000,
        )
        for n in range(rng.randrange(6))
    }  # fmt: skip
    results: dict[EventId, Result] = {}
    for n in range(rng.randrange(6)):
        about = rng.choice([*claims, EventId("unheard")])
        honest = about in claims and rng.random() < 0.7
        results[EventId(f"result{n}")] = Result(
            author=claims[about].author if honest else PeerId(rng.choice("abc")), hlc=rng.randrange(9), goal=GOAL,
            task=TASK, attempt=claims[about].attempt if honest else rng.randint(1, 2), claim=about,
            status=rng.choice(("done", "failed")), text="",
        )  # fmt: skip
    return claims, results


def better(one: tuple[EventId, Claim], other: tuple[EventId, Claim]) -> bool:
    """Attempt (higher first), then stamp, then author; the id only where one author said it twice."""
    (i, a), (j, b) = one, other
    if a.attempt != b.attempt:
        return a.attempt > b.attempt
    if a.hlc != b.hlc:
        return a.hlc < b.hlc
    return (a.author, i) < (b.author, j)


def winner(claims: Iterable[tuple[EventId, Claim]]) -> EventId | None:
    """Whom nobody beats."""
    runners = list(claims)
    unbeaten = [one for one in runners if not any(better(other, one) for other in runners if other is not one)]
    assert len(unbeaten) == bool(runners), "the order is total"
    return unbeaten[0][0] if unbeaten else None


@given(seeds, st.integers(0, 3))
@settings(max_examples=300)
def test_the_holder_is_whom_no_valid_claim_beats(rng: random.Random, born: int) -> None:
    claims, _ = race(rng)
    valid = [(i, c) for i, c in claims.items() if c.hlc > born]
    expected = winner(valid)
    shuffled = dict(rng.sample(list(claims.items()), len(claims)))
    assert holder(shuffled, Hlc(born)) == expected
    orders = [claim_order(i, c) for i, c in claims.items()]
    assert len(set(orders)) == len(orders)


@given(seeds, st.integers(0, 3))
@settings(max_examples=300)
def test_the_result_that_counts_is_done_before_failed_then_that_of_the_best_claim(
    rng: random.Random, born: int
) -> None:
    claims, results = race(rng)
    backed = {
        i: r
        for i, r in results.items()
        if r.claim in claims
        and claims[r.claim].hlc > born
        and (claims[r.claim].author, claims[r.claim].attempt) == (r.author, r.attempt)
    }
    counts = counting(dict(rng.sample(list(results.items()), len(results))), claims, Hlc(born))
    assert (counts is None) == (not backed)
    if counts is None:
        return
    chosen = backed[counts]
    rivals = [r for r in backed.values() if r.status == "done"] or list(backed.values())
    assert chosen in rivals
    assert chosen.claim == winner({(r.claim, claims[r.claim]) for r in rivals})
    assert chosen.hlc == min(r.hlc for r in rivals if r.claim == chosen.claim), "its author's first word on it"


@given(seeds)
@settings(max_examples=60)
def test_any_order_of_arrival_gives_the_same_holder_and_result_in_the_tree(rng: random.Random) -> None:
    home = Household()
    goal = home.goal(PEERS[0], PEERS[:3])
    split = home.accept(goal, goal, PEERS[:3], 100, part("flights"), part("hotels"))
    task = child_task(split, 0)
    for _ in range(rng.randint(1, 5)):
        ms = rng.choice((float("-inf"), 50, 101, 102, 103, 104))
        attempt, executor = rng.randint(1, 2), rng.choice(PEERS)
        claim = home.claim(executor, goal, task, ms, attempt)
        if rng.random() < 0.5:
            home.result(executor, goal, task, claim, 200, attempt, done=rng.random() < 0.6)
    seen = set()
    for _ in range(4):
        plan = fold(rng.sample(home.said, len(home.said)), SWARM).goals[goal]
        book = plan.book(task)
        held, counts = holder_of(plan.tasks[task], book), result_of(plan.tasks[task], book)
        seen.add((held, counts, plan.tasks[task].state))
        assert held is None or book.claims[held].hlc > at(101), "two of three votes had accepted it by then"
        assert counts is None or book.claims[book.results[counts].claim].hlc > at(101)
    assert len(seen) == 1


@given(seeds)
@settings(max_examples=60)
def test_a_done_task_stays_done_whatever_is_heard_later_of_the_race_or_of_the_ballots(rng: random.Random) -> None:
    home = Household()
    goal = home.goal(PEERS[0], PEERS[:3])
    split = home.proposal(PEERS[0], goal, goal, 50, part("flights"), part("hotels"))
    for ballot in range(3):  # one split, approved again and again; stamps of skewed clocks
        for peer in rng.sample(PEERS[:3], rng.randint(0, 3)):
            home.vote(peer, goal, goal, split, rng.randrange(100, 200), ballot)
    task = child_task(split, 0)
    for _ in range(4):
        executor, attempt, ms = rng.choice(PEERS), rng.randint(1, 3), rng.randrange(90, 220)
        claim = home.claim(executor, goal, task, ms, attempt)
        home.result(executor, goal, task, claim, ms + 10, attempt, done=rng.random() < 0.6)
    plan = Plan(SWARM)
    done = False
    for opened in [*home.said[: len(PEERS)], *rng.sample(home.said[len(PEERS) :], len(home.said) - len(PEERS))]:
        plan.apply(opened)
        known = plan.goals[goal].tasks.get(task) if goal in plan.goals else None
        done_now = known is not None and known.state == "done"
        assert done_now or not done
        done = done_now


def test_a_clock_of_1970_wins_nothing() -> None:
    claim = Claim(author=PeerId("old"), hlc=hlc.at(0), goal=GOAL, task=TASK, attempt=9, lease_ms=60_000)
    fresh = Claim(author=PeerId("new"), hlc=at(1), goal=GOAL, task=TASK, attempt=1, lease_ms=60_000)
    claims = {EventId("old"): claim, EventId("new"): fresh}
    assert holder(claims, Hlc(at(0))) == "new"
    result = Result(
        author=PeerId("old"), hlc=at(5), goal=GOAL, task=TASK, attempt=9, claim=EventId("old"), status="done", text=""
    )
    assert counting({EventId("r"): result}, claims, Hlc(at(0))) is None
