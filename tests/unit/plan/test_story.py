"""The story is plain, safe and never stumbles, whatever order the facts came in."""

import random

import pytest

from swarmd.events.kinds import Amend, Promise
from swarmd.plan import story
from swarmd.plan.plan import Plan
from swarmd.plan.views import Change
from swarmd.vocab.ids import EventId, PeerId
from swarmd.vocab.text import is_safe
from tests.household import PEERS, SWARM, Household, at, history, member, part


def name(peer: PeerId) -> str:
    return peer[-4:]


def told(plan: Plan, home: Household) -> list[Change]:
    """What a replica would tell of these events."""
    changes: list[Change | None] = []
    for opened in home.said:
        shifts = plan.apply(opened)
        changes.append(story.of_event(opened, plan, name))
        changes += [story.of_shift(shift, plan, 0) for shift in shifts]
    return [change for change in changes if change is not None]


def test_a_whole_goal_is_told_line_by_line() -> None:
    home = Household(PEERS[:2])
    goal = home.goal(PEERS[0], PEERS[:2])
    split = home.proposal(PEERS[0], goal, goal, 50, part("flights"), part("hotels"))
    home.score(PEERS[1], goal, goal, split, 60, 0.5)
    home.say(Promise(author=PEERS[1], hlc=at(61), goal=goal, task=goal, ballot=1, approvals=()))  # type: ignore[arg-type]
    for peer in PEERS[:2]:
        home.vote(peer, goal, goal, split, 70, 1)
    home.say(Amend(author=PEERS[0], hlc=at(71), goal=goal, electorate=PEERS[:1], quorum=1))
    lines = [change.text.split(" ", 1)[1] for change in told(Plan(SWARM), home)[2:]]
    assert lines == [
        "set a goal: “Japan trip”",
        "proposes to split “Japan trip” by time into 2 parts",
        "marks a split of “Japan trip” 0.50",
        "moves to ballot 1 for “Japan trip”",
        "votes for that split of “Japan trip”",
        "votes for that split of “Japan trip”",
        "in ballot 1: “Japan trip” is split by time into 2 parts, below the threshold for want of a better one",
        "names the electorate of 1 scorers",
    ]


def test_a_second_vote_in_one_ballot_is_told_as_equivocation() -> None:
    home = Household(PEERS[:1])
    goal = home.goal(PEERS[0], PEERS[:1])
    home.vote(PEERS[0], goal, goal, EventId("a" * 64), 50)
    home.vote(PEERS[0], goal, goal, EventId("b" * 64), 60)
    assert [change.kind for change in told(Plan(SWARM), home)][-1] == "equivocation"


def test_a_member_that_brings_a_decision_and_its_undoing_at_once_is_told_without_harm() -> None:
    home = Household(PEERS[:2])
    goal = home.goal(PEERS[0], PEERS[:3], quorum=3)
    home.accept(goal, goal, PEERS[:3], 100, part("flights"), part("hotels"))
    home.vote(PEERS[2], goal, goal, EventId("e" * 64), 150)
    home.said.append(member(PEERS[2]))  # only now do both of its votes fold, the second voiding the first
    assert "accepted" not in [change.kind for change in told(Plan(SWARM), home)]


@pytest.mark.parametrize("seed", range(12))
def test_no_order_of_arrival_makes_the_story_stumble(seed: int) -> None:
    rng = random.Random(seed)
    home = Household(())
    events = history(rng)
    home.said = rng.sample(events, len(events))
    for change in told(Plan(SWARM), home):
        assert is_safe(change.text)
