"""A task's book: what was said of it, in any order."""

import itertools
import math

import pytest

from swarmd.plan.ballot import BallotBook
from swarmd.plan.plan import fold
from swarmd.plan.task import TaskBook
from swarmd.vocab.ids import EventId, TaskId
from tests.household import PEERS, SWARM, Household, part

MEMBERS = PEERS[:3]


def book(home: Household, goal: str) -> TaskBook:
    return fold(home.said, SWARM).goals[EventId(goal)].book(TaskId(goal))


def test_a_new_book_is_empty() -> None:
    assert TaskBook(BallotBook(TaskId("0" * 64))).empty


def test_a_scorers_first_word_on_a_split_counts_in_any_order_of_arrival() -> None:
    home = Household()
    goal = home.goal(PEERS[0], MEMBERS)
    split = home.proposal(PEERS[0], goal, goal, 10, part("a"), part("b"))
    for ms, mark in ((30, 0.9), (20, 0.2), (40, 0.8)):
        home.score(PEERS[0], goal, goal, split, ms, mark)
    scores = home.said[-3:]
    for order in itertools.permutations(scores):
        plan = fold([*home.said[:-3], *order], SWARM).goals[goal]
        assert plan.book(TaskId(goal)).mean(split, MEMBERS) == pytest.approx(0.2)


def test_the_mean_is_the_same_to_the_last_bit_whichever_python_adds_up() -> None:
    home = Household()
    goal = home.goal(PEERS[0], MEMBERS)
    split = home.proposal(PEERS[0], goal, goal, 10, part("a"), part("b"))
    for ms, (peer, mark) in enumerate(zip(MEMBERS, (0.1, 0.2, 0.8), strict=True), 20):
        home.score(peer, goal, goal, split, ms, mark)
    marks = book(home, goal).marks(split, MEMBERS).values()
    first, second, third = marks
    assert first + second + third != math.fsum(marks), "marks that show no difference"
    assert book(home, goal).mean(split, MEMBERS) == math.fsum(marks) / 3


def test_the_mean_is_that_of_the_electorates_marks() -> None:
    home = Household()
    goal = home.goal(PEERS[0], MEMBERS)
    split = home.proposal(PEERS[0], goal, goal, 10, part("a"), part("b"))
    assert book(home, goal).mean(split, MEMBERS) is None
    for scorer, mark in ((0, 0.2), (1, 0.6), (5, 1.0)):
        home.score(PEERS[scorer], goal, goal, split, 20, mark)
    assert book(home, goal).mean(split, MEMBERS) == pytest.approx(0.4)
    assert set(book(home, goal).marks(split, MEMBERS)) == {PEERS[0], PEERS[1]}


def test_a_mark_weighs_by_what_it_rests_on_and_that_is_part_of_the_event() -> None:
    home = Household()
    goal = home.goal(PEERS[0], MEMBERS)
    split = home.proposal(PEERS[0], goal, goal, 10, part("a"), part("b"))
    for scorer, mark, basis in ((0, 0.0, "text"), (1, 1.0, "good")):
        home.score(PEERS[scorer], goal, goal, split, 20, mark, basis)
    assert book(home, goal).mean(split, MEMBERS) == pytest.approx(3 / 4)
    home.score(PEERS[2], goal, goal, split, 20, 0.0, "constant")
    assert book(home, goal).mean(split, MEMBERS) == pytest.approx(3 / 5), "a judge that is not heard weighs like text"


@pytest.mark.parametrize("basis", ["", "marvellous"])
def test_a_basis_that_this_peer_does_not_know_weighs_least(basis: str) -> None:
    home = Household()
    goal = home.goal(PEERS[0], MEMBERS)
    split = home.proposal(PEERS[0], goal, goal, 10, part("a"), part("b"))
    home.score(PEERS[0], goal, goal, split, 20, 0.0, basis)
    home.score(PEERS[1], goal, goal, split, 20, 1.0, "text")
    assert book(home, goal).mean(split, MEMBERS) == pytest.approx(1 / 2)


def test_refined_are_the_splits_that_another_one_polishes() -> None:
    home = Household()
    goal = home.goal(PEERS[0], MEMBERS)
    first = home.proposal(PEERS[0], goal, goal, 10, part("a"), part("b"))
    second = home.proposal(PEERS[1], goal, goal, 11, part("c"), part("d"), refines=first)
    assert book(home, goal).refined() == {first}
    assert [book(home, goal).generation(p) for p in (first, second)] == [0, 1]


def test_marks_may_come_before_the_split_that_they_are_about() -> None:
    home = Household()
    goal = home.goal(PEERS[0], MEMBERS)
    split = home.proposal(PEERS[0], goal, goal, 10, part("a"), part("b"))
    home.score(PEERS[0], goal, goal, split, 20, 0.5)
    late = home.said.pop(-2)
    home.said.append(late)
    assert book(home, goal).mean(split, MEMBERS) == pytest.approx(0.5)
