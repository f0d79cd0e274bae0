"""Never two accepted splits, whatever is lost, late or restarted; and always one once a majority is up."""

import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from swarmd.events.kinds import Approval, Promise, Vote
from swarmd.plan.ballot import BallotBook, Electorate, Forced, Free, Undecidable, recover
from swarmd.vocab.ids import EventId, PeerId, TaskId
from tests.property.chamber import Chamber, dumbly_accepted, root

seeds = st.integers(0, 100_000).map(random.Random)
sizes = st.integers(1, 7)
TASK = TaskId("7a" * 32)
SPLITS = [EventId(letter * 64) for letter in "abc"]


@given(seeds, sizes, st.booleans(), st.sampled_from((0.5, 0.6, 0.75)))
@settings(max_examples=400)
def test_no_two_splits_are_ever_accepted_and_a_majority_decides(
    rng: random.Random, size: int, unanimous: bool, mean: float
) -> None:
    chamber = Chamber(rng, size, quorum=size if unanimous and size < 4 else 0, mean=mean, marks_known=0.2)
    first: set[EventId] = set()
    for _ in range(rng.randrange(24)):
        chamber.spell()
        accepted = chamber.accepted_ever()
        assert len(accepted) <= 1
        assert chamber.shown() <= accepted
        assert first <= accepted, "an accepted split is never taken back"
        first = accepted
    quorum = chamber.scorers[0].plan.electorate.quorum
    survivors = rng.sample(chamber.scorers, rng.randint(quorum, size))
    chamber.heal(survivors)
    assert len(chamber.accepted_ever()) == 1
    assert chamber.shown() == chamber.accepted_ever() >= first
    assert all(root(one).accepted is not None for one in survivors)


@given(seeds, sizes)
@settings(max_examples=40)
def test_with_all_chairs_silent_but_the_last_there_is_still_a_decision(rng: random.Random, size: int) -> None:
    chamber = Chamber(rng, size, mean=0.8)
    electorate = chamber.scorers[0].plan.electorate
    chairs = [electorate.chair(chamber.task, ballot) for ballot in range(size)]
    silent = set(chairs[: size - electorate.quorum])
    chamber.heal([one for one in chamber.scorers if one.peer not in silent])
    assert len(chamber.accepted_ever()) == 1


@given(seeds, st.integers(2, 7))
@settings(max_examples=40)
def test_without_a_quorum_nothing_is_accepted(rng: random.Random, size: int) -> None:
    chamber = Chamber(rng, size, mean=0.8)
    quorum = chamber.scorers[0].plan.electorate.quorum
    chamber.heal(rng.sample(chamber.scorers, quorum - 1))
    assert not chamber.accepted_ever()
    chamber.heal(rng.sample(chamber.scorers, quorum))
    assert len(chamber.accepted_ever()) == 1, "and it goes on as soon as there is one"


@given(seeds, sizes)
@settings(max_examples=150)
def test_the_book_counts_as_a_child_would(rng: random.Random, size: int) -> None:
    members = [PeerId(f"peer{number}") for number in range(size)]
    electorate = Electorate.of(members, rng.randint(0, size))
    book = BallotBook(TASK)
    votes: list[Vote] = []
    for number in range(rng.randrange(4 * size)):
        vote = Vote(
            author=rng.choice([*members, PeerId("stranger")]), hlc=rng.randrange(9), goal=TASK, task=TASK,  # type: ignore[arg-type]
            ballot=rng.randrange(2), proposal=rng.choice(SPLITS[:2]), approve=rng.random() < 0.8,
        )  # fmt: skip
        votes.append(vote)
        book.add(EventId(str(number)), vote)
    accepted = book.accepted(electorate, SPLITS)
    dumb = dumbly_accepted(votes, set(members), electorate.quorum)
    assert (accepted is not None) == bool(dumb)
    if accepted is not None:
        assert accepted.proposal in dumb
        below = [vote for vote in votes if vote.ballot < accepted.ballot]
        assert not dumbly_accepted(below, set(members), electorate.quorum)
        valid = [v for v in votes if (v.ballot, v.author) not in book.equivocators()]
        complete = [
            stamp
            for stamp in range(9)
            if accepted.proposal
            in dumbly_accepted([v for v in valid if v.hlc <= stamp], set(members), electorate.quorum)
        ]
        assert accepted.born == min(complete), "from that stamp on it was accepted, in one ballot or the other"
    assert book.accepted(electorate, ()) is None, "what nobody has seen is not shown as accepted"
    for ballot in range(2):
        if book.hopeless(ballot, electorate):
            assert not could_accept(votes, ballot, members, electorate.quorum)


def could_accept(said: list[Vote], ballot: int, members: list[PeerId], quorum: int) -> bool:
    """Whether those who have not voted in *ballot* could still bring some split to its quorum."""
    votes = {
        peer: {(v.proposal, v.approve) for v in said if (v.author, v.ballot) == (peer, ballot)} for peer in members
    }
    return any(sum(not v or v == {(split, True)} for v in votes.values()) >= quorum for split in SPLITS)


@given(seeds, st.integers(1, 5))
@settings(max_examples=200)
def test_recovery_is_free_only_if_nothing_can_have_been_accepted(rng: random.Random, size: int) -> None:
    members = [PeerId(f"peer{number}") for number in range(size)]
    electorate = Electorate.of(members, rng.randint(0, size))
    quorum = electorate.quorum
    promisers = rng.sample(members, rng.randint(quorum, size))
    ballots = 3
    # at most one nominee a ballot, as honest chairs have it; each member approved it or did not
    nominee = {ballot: rng.choice(SPLITS) for ballot in range(ballots)}
    approved = {peer: {b for b in range(ballots) if rng.random() < 0.5} for peer in promisers}
    promises = [
        Promise(
            author=peer, hlc=1, goal=TASK, task=TASK, ballot=ballots,  # type: ignore[arg-type]
            approvals=tuple(Approval(b, nominee[b]) for b in sorted(approved[peer])),
        )
        for peer in promisers
    ]  # fmt: skip
    silent = size - len(promisers)
    possible = {
        ballot
        for ballot in range(ballots)
        for outside in range(silent + 1)
        if sum(ballot in given for given in approved.values()) + outside >= quorum
    }
    recovery = recover(promises, electorate)
    if possible:
        assert recovery == Forced(nominee[max(possible)])
    else:
        assert recovery == Free()
    for order in itertools.islice(itertools.permutations(promises), 6):
        assert recover(order, electorate) == recovery


def test_recovery_waits_where_an_equivocating_chair_makes_it_undecidable() -> None:
    electorate = Electorate.of([PeerId(p) for p in "abcd"], 3)
    promises = [
        Promise(author=PeerId(p), hlc=1, goal=TASK, task=TASK, ballot=1, approvals=given)  # type: ignore[arg-type]
        for p, given in (
            ("a", (Approval(0, SPLITS[0]), Approval(0, SPLITS[1]))),
            ("b", (Approval(0, SPLITS[0]),)),
            ("c", (Approval(0, SPLITS[1]),)),
        )
    ]
    assert recover(promises, electorate) == Undecidable()
