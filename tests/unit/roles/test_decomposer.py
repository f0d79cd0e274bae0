"""Parallel decomposers differ, polish what others wrote, and stop."""

from swarmd.events.kinds import Policy
from swarmd.roles import decomposer
from swarmd.roles.decomposer import Draft, strategy
from swarmd.roles.scene import PROPOSERS_MAX
from swarmd.roles.strategies import STRATEGIES
from swarmd.vocab.ids import TaskId, rendezvous
from tests.household import PEERS
from tests.unit.roles.deliberation import Deliberation

# --- drafts --------------------------------------------------------------------------------------------------------


def test_parallel_decomposers_take_different_strategies() -> None:
    drafts = [Deliberation().wanted(me) for me in range(3)]
    strategies = [draft.strategy for draft in drafts if draft is not None]
    assert len(set(strategies)) == 3


def test_the_first_decomposers_in_rendezvous_order_propose_and_no_more() -> None:
    talk = Deliberation()
    wishing = [me for me in range(7) if talk.wanted(me, live=7) is not None]
    order = rendezvous(f"propose {talk.goal}", PEERS)[:PROPOSERS_MAX]
    assert {PEERS[me] for me in wishing} == set(order)


def test_when_they_have_not_proposed_in_time_anybody_may() -> None:
    talk = Deliberation()
    assert all(talk.wanted(me, live=7, mono_ms=1_000) is not None for me in range(7))


def test_each_proposes_once_of_its_own() -> None:
    talk = Deliberation()
    talk.propose(0)
    assert talk.wanted(0) is None
    assert talk.wanted(1) is not None


def test_strategies_go_round() -> None:
    assert {strategy(0, turn) for turn in range(len(STRATEGIES))} == set(STRATEGIES)
    assert len({strategy(rank, 0) for rank in range(PROPOSERS_MAX)}) == PROPOSERS_MAX


# --- polish --------------------------------------------------------------------------------------------------------


def test_a_split_that_falls_short_is_polished_by_one_that_did_not_write_it() -> None:
    talk = Deliberation()
    for author in range(3):
        talk.mark(talk.propose(author), 0.1, 0.2, 0.3 + author / 10)
    book = talk.plan.book(TaskId(talk.goal))
    best = max(book.proposals, key=lambda p: book.mean(p, PEERS[:3]) or 0)
    wishes = [talk.wanted(me) for me in range(3)]
    assert [wish.refines for wish in wishes if wish is not None] == [best]
    assert wishes[2] is None, "its author"


def test_a_lone_decomposer_polishes_its_own() -> None:
    talk = Deliberation()
    split = talk.propose(0)
    talk.mark(split, 0.1, 0.1, 0.1)
    assert talk.wanted(0, live=1) == Draft("by time", split)


def test_a_split_that_is_good_enough_is_not_polished() -> None:
    talk = Deliberation()
    talk.mark(talk.propose(0), 0.9, 0.9, 0.9)
    assert talk.wanted(0) is None


def test_nothing_is_polished_before_enough_scorers_have_spoken_on_every_split() -> None:
    talk = Deliberation()
    split = talk.propose(0)
    talk.mark(split, 0.1)
    assert talk.wanted(0, live=3) is None
    talk.mark(split, 0.1, 0.1)
    talk.propose(1, ms=11)  # and this one nobody has marked
    assert all(talk.wanted(me) is None for me in (0, 1))


def test_polishing_is_bounded_in_generations() -> None:
    talk = Deliberation(Policy(polish=1))
    first = talk.propose(0)
    talk.mark(first, 0.1, 0.1, 0.1)
    second = talk.propose(1, ms=12, refines=first)
    talk.mark(second, 0.2, 0.2, 0.2)
    assert talk.plan.book(TaskId(talk.goal)).generation(second) == 1
    wishes = [talk.wanted(me) for me in range(3)]
    assert all(wish is None or wish.refines is None for wish in wishes)
    assert talk.exhausted()


def test_a_polisher_is_given_the_split_and_what_was_said_of_it() -> None:
    talk = Deliberation()
    split = talk.propose(0)
    talk.mark(split, 0.1, 0.1, 0.1)
    plan = talk.plan
    request = decomposer.request(plan, plan.tasks[TaskId(talk.goal)], Draft("by time", split))
    assert request.previous == plan.book(TaskId(talk.goal)).proposals[split].subgoals
    assert request.strategy == "by time"
