"""One test for each sentence of the ballot that the book decides."""

from swarmd.events.kinds import Approval, Nomination, Promise, Vote
from swarmd.plan.ballot import Acceptance, BallotBook, Electorate, Forced, Free, Recovery, recover
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId, rendezvous

TASK = TaskId("7a" * 32)
GOAL = GoalId(EventId("90" * 32))
A, B = EventId("a" * 64), EventId("b" * 64)
PEERS = tuple(PeerId(f"peer{number}") for number in range(5))
FIVE = Electorate.of(PEERS, 0)
BOTH = (A, B)


class Book(BallotBook):
    """A book in which peers speak by number; ids are counted."""

    said: int

    def __init__(self) -> None:
        super().__init__(TASK)
        self.said = 0

    def _next(self) -> EventId:
        self.said += 1
        return EventId(f"{self.said:064}")

    def vote(self, peer: int, ballot: int, proposal: EventId = A, *, approve: bool = True, hlc: int = 1) -> None:
        vote = Vote(
            author=PEERS[peer], hlc=hlc, goal=GOAL, task=TASK, ballot=ballot, proposal=proposal, approve=approve
        )
        self.add(self._next(), vote)

    def promise(self, peer: int, ballot: int, *approvals: tuple[int, EventId]) -> EventId:
        identifier = self._next()
        self.add(identifier, promise(peer, ballot, *approvals))
        return identifier

    def nominate(self, peer: PeerId, ballot: int, proposal: EventId, *promises: EventId) -> Recovery | None:
        """Put *proposal* to the vote; what a voter may make of it."""
        nomination = Nomination(
            author=peer, hlc=1, goal=GOAL, task=TASK, ballot=ballot, proposal=proposal, promises=promises
        )
        self.add(self._next(), nomination)
        return self.may_vote(nomination, FIVE)


def promise(peer: int, ballot: int, *approvals: tuple[int, EventId]) -> Promise:
    given = tuple(Approval(b, proposal) for b, proposal in approvals)
    return Promise(author=PEERS[peer], hlc=1, goal=GOAL, task=TASK, ballot=ballot, approvals=given)


# --- chairs --------------------------------------------------------------------------------------------------------


def test_the_chair_of_a_ballot_is_at_its_place_in_the_rendezvous_order_for_that_task() -> None:
    order = rendezvous(TASK, PEERS)
    assert [FIVE.chair(TASK, ballot) for ballot in range(7)] == [*order, order[0], order[1]]


def test_chairs_differ_from_task_to_task() -> None:
    assert {FIVE.chair(TaskId(f"{task:064x}"), 0) for task in range(60)} == set(PEERS)


def test_only_the_chair_nominates() -> None:
    book = Book()
    chair = FIVE.chair(TASK, 0)
    assert book.nominate(chair, 0, A) == Free()
    assert all(book.nominate(peer, 0, A) is None for peer in PEERS if peer != chair)


# --- acceptance ----------------------------------------------------------------------------------------------------


def test_a_quorum_is_more_than_half_unless_the_user_wants_more() -> None:
    assert [Electorate.of(PEERS[:size], 0).quorum for size in range(6)] == [0, 1, 2, 2, 3, 3]
    assert Electorate.of(PEERS, 1).quorum == 3
    assert Electorate.of(PEERS, 4).quorum == 4
    assert Electorate.of(PEERS, 9).quorum == 5
    assert Electorate.of([*PEERS, *PEERS], 0) == FIVE


def test_accepted_is_what_a_quorum_of_distinct_members_approves_in_one_ballot() -> None:
    book = Book()
    for peer in (0, 0, 1):
        book.vote(peer, 0)
    assert book.accepted(FIVE, BOTH) is None
    book.vote(2, 0)
    assert book.accepted(FIVE, BOTH) == Acceptance(0, A, 1)  # type: ignore[arg-type]


def test_approvals_in_different_ballots_do_not_add_up() -> None:
    book = Book()
    for peer, ballot in ((0, 0), (1, 0), (2, 1)):
        book.vote(peer, ballot)
    assert book.accepted(FIVE, BOTH) is None


def test_strangers_and_rejections_do_not_count() -> None:
    book = Book()
    for peer in range(4):
        book.vote(peer, 0, approve=peer < 2)
    assert book.accepted(FIVE, BOTH) is None
    assert book.accepted(Electorate.of(PEERS[2:], 0), BOTH) is None


def test_a_split_is_accepted_from_the_stamp_of_the_deciding_vote_on() -> None:
    book = Book()
    for peer, hlc in ((0, 40), (1, 10), (2, 30), (3, 20)):
        book.vote(peer, 0, hlc=hlc)
    accepted = book.accepted(FIVE, BOTH)
    assert accepted is not None
    assert accepted.born == 30


def test_a_lower_ballot_that_is_heard_late_does_not_move_the_birth_forward() -> None:
    book = Book()
    for peer in range(3):
        book.vote(peer, 1, hlc=20)
    for peer in range(3):
        book.vote(peer, 0, hlc=90)  # a clock that runs ahead
    assert book.accepted(FIVE, BOTH) == Acceptance(0, A, 20)  # type: ignore[arg-type]


def test_two_different_votes_of_one_scorer_in_one_ballot_are_void_and_are_seen() -> None:
    book = Book()
    for peer in range(3):
        book.vote(peer, 0)
    book.vote(2, 0, B)
    assert book.accepted(FIVE, BOTH) is None
    assert book.equivocators() == [(0, PEERS[2])]
    book.vote(3, 0)
    assert book.accepted(FIVE, BOTH) is not None, "the others' votes stand"


def test_yes_and_no_to_the_same_split_void_each_other_too() -> None:
    book = Book()
    book.vote(0, 0)
    book.vote(0, 0, approve=False)
    assert book.approvals(0, A, FIVE) == set()


def test_the_same_vote_said_twice_is_one_vote() -> None:
    book = Book()
    book.vote(0, 0, hlc=5)
    book.vote(0, 0, hlc=3)
    assert book.approvals(0, A, FIVE) == {PEERS[0]}
    assert not book.equivocators()


# --- the next ballot -----------------------------------------------------------------------------------------------


def test_a_ballot_is_hopeless_when_those_left_cannot_make_a_quorum() -> None:
    book = Book()
    book.vote(0, 0, approve=False)
    book.vote(1, 0, approve=False)
    assert not book.hopeless(0, FIVE)
    book.vote(2, 0, approve=False)
    assert book.hopeless(0, FIVE)


def test_void_votes_are_lost_to_a_ballot() -> None:
    book = Book()
    for peer in range(3):
        book.vote(peer, 0, A)
        book.vote(peer, 0, B)
    assert book.hopeless(0, FIVE)


def test_approvals_split_between_two_nominees_can_be_hopeless() -> None:
    book = Book()
    for peer in range(4):
        book.vote(peer, 0, A if peer < 2 else B)
    assert not book.hopeless(0, FIVE), "the fifth may still decide"
    book.vote(4, 0, approve=False)
    assert book.hopeless(0, FIVE)


def test_a_promise_tells_every_approval_given_below_it() -> None:
    book = Book()
    book.vote(0, 0, A)
    book.vote(0, 1, B, approve=False)
    book.vote(0, 2, B)
    book.vote(1, 0, B)
    assert book.given(PEERS[0], 2) == (Approval(0, A),)
    assert book.given(PEERS[0], 3) == (Approval(0, A), Approval(2, B))


def test_the_promise_of_a_scorer_is_its_highest() -> None:
    book = Book()
    assert book.promised(PEERS[0]) == 0
    book.promise(0, 3)
    book.promise(0, 2)
    assert book.promised(PEERS[0]) == 3
    assert book.current(FIVE) == 3


# --- recovery ------------------------------------------------------------------------------------------------------


def test_the_chair_is_free_when_nothing_can_have_been_accepted() -> None:
    assert recover([promise(peer, 1) for peer in range(3)], FIVE) == Free()
    few = [promise(0, 1), *(promise(p, 1) for p in (1, 2, 3, 4)), promise(0, 1, (0, A))]
    assert recover(few[1:], FIVE) == Free()


def test_an_approval_that_the_silent_may_have_completed_binds_the_chair() -> None:
    promises = [promise(0, 1, (0, A)), promise(1, 1), promise(2, 1)]  # one approval, two members unheard: may be three
    assert recover(promises, FIVE) == Forced(A)
    assert recover([*promises, promise(3, 1)], FIVE) == Free(), "now two at most"


def test_the_highest_ballot_that_may_have_accepted_binds() -> None:
    promises = [promise(0, 3, (0, A), (2, B)), promise(1, 3, (0, A), (2, B)), promise(2, 3, (0, A))]
    assert recover(promises, FIVE) == Forced(B)


def test_a_later_nomination_needs_promises_of_a_quorum() -> None:
    book = Book()
    chair = FIVE.chair(TASK, 1)
    held = [book.promise(peer, 1) for peer in range(3)]
    assert book.nominate(chair, 1, A, *held[:2]) is None
    assert book.nominate(chair, 1, A, held[0], held[0], held[1]) is None
    assert book.nominate(chair, 1, A, *held) == Free()


def test_a_nomination_that_names_promises_which_are_not_here_cannot_be_checked_yet() -> None:
    book = Book()
    chair = FIVE.chair(TASK, 1)
    held = [book.promise(peer, 1) for peer in range(3)]
    assert book.nominate(chair, 1, A, *held, EventId("0" * 64)) is None


def test_promises_of_another_ballot_or_twice_by_one_peer_do_not_carry_a_nomination() -> None:
    book = Book()
    chair = FIVE.chair(TASK, 1)
    held = [book.promise(0, 1), book.promise(1, 1), book.promise(2, 2)]
    assert book.nominate(chair, 1, A, *held) is None
    twice = book.promise(1, 1, (0, A))
    assert book.nominate(chair, 1, A, held[0], held[1], twice) is None


def test_a_nomination_against_what_may_have_been_accepted_is_not_valid() -> None:
    book = Book()
    chair = FIVE.chair(TASK, 1)
    held = [book.promise(0, 1, (0, A)), book.promise(1, 1), book.promise(2, 1)]
    assert book.nominate(chair, 1, B, *held) is None
    assert book.nominate(chair, 1, A, *held) == Forced(A)


def test_the_first_ballot_rests_on_no_promises() -> None:
    book = Book()
    assert book.nominate(FIVE.chair(TASK, 0), 0, A, book.promise(0, 1)) is None


def test_valid_nominations_come_in_one_order_however_they_arrived() -> None:
    book = Book()
    chair = FIVE.chair(TASK, 0)
    book.nominate(chair, 0, B)
    book.nominate(chair, 0, A)
    assert [n.proposal for _, n, _ in book.valid_nominations(0, FIVE)] == [B, A]
