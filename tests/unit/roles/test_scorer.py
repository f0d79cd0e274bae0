"""One test for each sentence of the ballot that a scorer keeps to."""

import random

from swarmd.events.kinds import Approval
from swarmd.plan.ballot import Free
from swarmd.roles import scorer
from swarmd.roles.scorer import SayNomination, SayPromise, SayVote, Speech
from swarmd.vocab.ids import PeerId
from tests.property.chamber import TIMING, Chamber, Scorer, root


class Bench(Chamber):
    """A chamber in which a test decides what is said and heard. By default everybody likes both splits."""

    def __init__(self, size: int = 3, *, quorum: int = 0, strict: bool = False, mean: float = 1.5) -> None:
        super().__init__(random.Random(7), size, quorum=quorum, strict=strict, mean=mean)
        self.electorate = self.scorers[0].plan.electorate
        for one in self.scorers:
            self.wants(one)  # everybody has seen the task

    def chair(self, ballot: int) -> Scorer:
        return self.of(self.electorate.chair(self.task, ballot))

    def of(self, peer: PeerId) -> Scorer:
        return next(one for one in self.scorers if one.peer == peer)

    def others(self, ballot: int) -> list[Scorer]:
        return [one for one in self.scorers if one is not self.chair(ballot)]

    def wants(self, one: Scorer) -> Speech | None:
        return scorer.speak(one.plan, root(one), self._scene(one))

    def say(self, one: Scorer) -> Speech | None:
        """Let *one* say one thing."""
        said = self.wants(one)
        if said is not None:
            identifier = self._keep(self._event(one, said))
            one.own.add(identifier)
            self._deliver(one, identifier)
        return said

    def tell(self, *some: Scorer) -> None:
        """*some* hear everything that was ever said."""
        for one in some or self.scorers:
            for identifier in self.events:
                self._deliver(one, identifier)

    def wait(self) -> None:
        """Longer than any first ballot may take."""
        for one in self.scorers:
            self.wants(one)  # sees that something is nominable
        self.now_ms += TIMING.deliberation_ms + 2 * TIMING.ballot_ms + 1

    def restart(self, one: Scorer) -> None:
        self._restart(one)


def test_the_chair_of_the_first_ballot_waits_for_its_window_and_nominates_the_best_mean() -> None:
    bench = Bench(mean=0.7)
    chair = bench.chair(0)
    means = {s: chair.plan.book(bench.task).mean(s, bench.electorate.members) or 0 for s in bench.splits}
    assert bench.wants(chair) is None, "other decomposers may still propose"
    bench.now_ms += TIMING.deliberation_ms
    assert bench.wants(chair) == SayNomination(0, max(means, key=lambda s: means[s]), ())


def test_it_does_not_wait_when_every_live_decomposer_has_proposed_and_every_live_scorer_has_scored() -> None:
    bench = Bench()
    scene = bench._scene(bench.chair(0))
    scene.with_role["decomposer"] = [bench.peers[0]]
    assert isinstance(scorer.speak(bench.chair(0).plan, root(bench.chair(0)), scene), SayNomination)
    bench.chair(0).plan.book(bench.task).scores[bench.splits[0]].pop(bench.peers[1])
    assert scorer.speak(bench.chair(0).plan, root(bench.chair(0)), scene) is None


def test_nobody_else_nominates() -> None:
    bench = Bench()
    bench.now_ms += TIMING.deliberation_ms
    assert all(bench.wants(one) is None for one in bench.others(0))


def test_a_scorer_votes_once_for_a_valid_nomination() -> None:
    bench = Bench()
    bench.now_ms += TIMING.deliberation_ms
    bench.say(bench.chair(0))
    bench.tell()
    for one in bench.scorers:
        assert isinstance(bench.say(one), SayVote)
        assert bench.wants(one) is None


def test_it_approves_what_it_finds_good_enough_and_rejects_what_it_does_not() -> None:
    for mean, approve in ((1.5, True), (-0.5, False)):
        bench = Bench(strict=True, mean=mean)
        chair = bench.chair(0)
        nomination = bench._keep(bench._event(chair, SayNomination(0, bench.splits[0], ())))
        bench._deliver(bench.others(0)[0], nomination)
        assert bench.wants(bench.others(0)[0]) == SayVote(0, bench.splits[0], approve)


def test_with_polishing_exhausted_the_best_is_approved_though_below_the_threshold_unless_the_goal_is_strict() -> None:
    for strict in (False, True):
        bench = Bench(strict=strict, mean=-0.5)
        bench.wait()
        said = bench.wants(bench.chair(0))
        assert (said is None) if strict else isinstance(said, SayNomination)


def test_a_scorer_votes_in_no_ballot_below_its_promise() -> None:
    bench = Bench()
    one = bench.others(0)[0]
    bench.wait()
    bench.say(bench.chair(0))
    assert bench.say(one) == SayPromise(1, ())
    bench.tell(one)
    assert not isinstance(bench.wants(one), SayVote)


def test_a_scorer_that_has_voted_higher_does_not_vote_lower_any_more() -> None:
    bench = Bench()
    one = bench.others(1)[0]
    first = bench._keep(bench._event(bench.chair(0), SayNomination(0, bench.splits[0], ())))
    promises = [bench._keep(bench._event(s, SayPromise(1, ()))) for s in bench.scorers if s is not one]
    second = bench._keep(bench._event(bench.chair(1), SayNomination(1, bench.splits[1], tuple(sorted(promises)))))
    for identifier in (*promises, second):
        bench._deliver(one, identifier)
    assert bench.say(one) == SayVote(1, bench.splits[1], True)
    bench._deliver(one, first)
    assert not isinstance(bench.wants(one), SayVote | SayNomination)


def test_a_chair_that_is_silent_is_passed_over() -> None:
    bench = Bench()
    bench.wait()
    living = bench.others(0)
    for one in living:
        assert bench.say(one) == SayPromise(1, ())
    bench.tell(*living)
    said = bench.say(bench.chair(1)) if bench.chair(1) in living else None
    assert isinstance(said, SayNomination)
    assert said.ballot == 1
    bench.tell(*living)
    assert [bench.say(one) for one in living] == [SayVote(1, said.proposal, True)] * 2
    bench.tell(*living)
    assert all(root(one).accepted is not None for one in living)


def test_a_promise_tells_all_approvals_ever_given_below_it() -> None:
    bench = Bench()
    one = bench.others(0)[0]
    bench.now_ms += TIMING.deliberation_ms
    bench.say(bench.chair(0))
    bench.tell(one)
    vote = bench.say(one)
    assert isinstance(vote, SayVote)
    bench.wait()
    assert bench.say(one) == SayPromise(1, (Approval(0, vote.proposal),))


def test_after_a_restart_a_scorer_keeps_its_word() -> None:
    bench = Bench()
    one = bench.others(0)[0]
    bench.wait()
    bench.say(one)
    bench.say(bench.chair(0))
    bench.restart(one)
    bench.tell(one)
    assert not isinstance(bench.wants(one), SayVote), "it has promised ballot 1"


def test_the_chair_of_a_later_ballot_nominates_again_what_may_have_been_accepted() -> None:
    bench = Bench(size=3)
    bench.now_ms += TIMING.deliberation_ms
    bench.say(bench.chair(0))
    bench.tell()
    first = bench.say(bench.chair(0))
    assert isinstance(first, SayVote)
    voter = bench.others(0)[0]
    bench.say(voter)  # two approvals: accepted, but nobody has heard it yet
    assert bench.accepted_ever() == {first.proposal}
    living = bench.others(0)
    bench.wait()
    for one in living:
        bench.say(one)
    bench.tell(*living)
    bench.heal(living)
    assert bench.shown() == {first.proposal}


def test_a_forced_nomination_is_approved_whatever_the_taste() -> None:
    bench = Bench(strict=True, mean=-0.5)
    one = bench.others(1)[0]
    split = bench.splits[1]
    promises = [
        bench._keep(bench._event(s, SayPromise(1, (Approval(0, split),) if n == 0 else ())))
        for n, s in enumerate(s for s in bench.scorers if s is not one)
    ]
    nomination = bench._keep(bench._event(bench.chair(1), SayNomination(1, split, tuple(sorted(promises)))))
    for identifier in (*promises, nomination):
        bench._deliver(one, identifier)
    assert bench.wants(one) == SayVote(1, split, True)


def test_the_timer_rests_while_there_is_nothing_to_nominate() -> None:
    bench = Bench(strict=True, mean=-0.5)
    for _ in range(5):
        bench.wait()
        assert all(bench.wants(one) is None for one in bench.scorers)


def test_a_hopeless_ballot_is_left_at_once() -> None:
    bench = Bench()
    one = bench.others(0)[0]
    nomination = bench._keep(bench._event(bench.chair(0), SayNomination(0, bench.splits[0], ())))
    rejections = [
        bench._keep(bench._event(s, SayVote(0, bench.splits[0], False))) for s in bench.scorers if s is not one
    ]
    for identifier in (nomination, *rejections):
        bench._deliver(one, identifier)
    bench.say(one)
    assert bench.wants(one) == SayPromise(1, (Approval(0, bench.splits[0]),))


def test_a_scorer_joins_a_ballot_that_others_have_moved_to_without_waiting_for_its_own_timer() -> None:
    bench = Bench()
    one, other = bench.others(0)
    assert bench.wants(one) is None
    bench._deliver(one, bench._keep(bench._event(other, SayPromise(5, ()))))
    assert bench.say(one) == SayPromise(5, ())


def test_the_nomination_names_the_promises_that_it_rests_on() -> None:
    bench = Bench()
    bench.wait()
    living = bench.others(0)
    for one in living:
        bench.say(one)
    bench.tell(*living)
    said = bench.wants(bench.chair(1))
    assert isinstance(said, SayNomination)
    assert len(said.promises) == 2
    bench.say(bench.chair(1))
    bench.tell(*living)
    book = living[0].plan.book(bench.task).ballots
    assert [recovery for _, _, recovery in book.valid_nominations(1, bench.electorate)] == [Free()]


def test_who_is_not_of_the_electorate_says_and_scores_nothing() -> None:
    bench = Bench()
    one = bench.scorers[0]
    scene = bench._scene(one)
    scene.me = PeerId("stranger")
    bench.now_ms += 100_000
    assert scorer.speak(one.plan, root(one), scene) is None
    assert scorer.unscored(one.plan, root(one), scene) == []


def test_a_split_that_is_put_to_the_vote_is_scored_before_others() -> None:
    bench = Bench()
    one = bench.scorers[0]
    book = one.plan.book(bench.task)
    book.scores.clear()
    assert scorer.unscored(one.plan, root(one), bench._scene(one)) == sorted(bench.splits)
    last = sorted(bench.splits)[1]
    bench._deliver(one, bench._keep(bench._event(bench.chair(0), SayNomination(0, last, ()))))
    assert scorer.unscored(one.plan, root(one), bench._scene(one))[0] == last


def test_a_scorer_votes_only_when_it_has_marked_the_split() -> None:
    bench = Bench()
    one = bench.others(0)[0]
    one.plan.book(bench.task).scores.clear()
    bench._deliver(one, bench._keep(bench._event(bench.chair(0), SayNomination(0, bench.splits[0], ()))))
    assert bench.wants(one) is None


def test_nobody_runs_ahead_of_a_quorum_that_does_not_follow() -> None:
    bench = Bench()
    one = bench.others(0)[0]
    bench.wait()
    assert isinstance(bench.say(one), SayPromise)
    bench.now_ms += 3_600_000
    assert bench.wants(one) is None


def test_each_stalled_ballot_is_given_more_time_than_the_one_before() -> None:
    bench = Bench()
    one, follower = bench.others(0)
    spans = []
    for _ in range(6):
        before = bench.now_ms
        while not isinstance(bench.say(one), SayPromise):
            bench.now_ms = scorer.deadline(one.plan, root(one), bench._scene(one)) or bench.now_ms + 1
        spans.append(bench.now_ms - before)
        bench.tell(follower)
        while bench.say(follower):
            pass
        bench.tell(one)
    assert spans[1:4] == sorted(spans[1:4])
    assert abs(spans[4] - spans[5]) <= 1, "up to a bound"
