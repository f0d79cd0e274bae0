"""Model requests: at most one for each subject, no more than there are slots, and patience with a failing model."""

from swarmd.replica.effects import Abort, Ask
from swarmd.replica.inputs import Now
from swarmd.replica.jobs import Jobs, Subject
from swarmd.replica.turn import Turn
from swarmd.roles.work import Execute, Place
from swarmd.vocab.ids import EventId, GoalId, TaskId

REQUEST = Execute(place=Place(goal="Japan trip", title="Japan trip"))


def subject(number: int, goal: str = "g") -> Subject:
    return Subject("work", GoalId(EventId(goal)), TaskId("t"), EventId(f"claim{number}"))


def turn(mono_ms: int = 0) -> Turn:
    return Turn(Now(0, mono_ms))


def test_a_job_is_asked_for_under_a_number_of_its_own() -> None:
    jobs, now = Jobs(), turn()
    for number in range(2):
        jobs.start(now, subject(number), REQUEST)
    assert now.work == [Ask(1, REQUEST), Ask(2, REQUEST)]
    assert jobs.number(subject(1)) == 2
    assert jobs.free(3) == 1


def test_a_job_is_finished_once() -> None:
    jobs = Jobs()
    jobs.start(turn(), subject(0), REQUEST)
    job = jobs.finish(1)
    assert job is not None
    assert job.subject == subject(0)
    assert jobs.finish(1) is None


def test_jobs_that_are_not_wanted_any_more_are_aborted() -> None:
    jobs, now = Jobs(), turn()
    for number in range(3):
        jobs.start(turn(), subject(number), REQUEST)
    jobs.keep(now, lambda about: about == subject(1))
    assert now.work == [Abort(1), Abort(3)]
    assert [job.subject for job in jobs.drop_all(now)] == [subject(1)]
    assert not jobs.running


def test_each_failure_doubles_the_wait_up_to_two_minutes() -> None:
    jobs = Jobs()
    waits = []
    for _ in range(10):
        jobs.put_off(subject(0), 0, 2_000)
        now = turn()
        assert not jobs.may_start(now, subject(0), 1)
        waits.append(next(at for at in range(0, 200_000, 500) if jobs.may_start(turn(at), subject(0), 1)))
    assert waits == [2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 120_000, 120_000, 120_000, 120_000]


def test_nothing_starts_without_a_free_slot() -> None:
    jobs = Jobs()
    assert not jobs.may_start(turn(), subject(0), 0)
    jobs.start(turn(), subject(0), REQUEST)
    assert not jobs.may_start(turn(), subject(1), 1)


def test_what_is_remembered_of_an_ended_goal_is_dropped() -> None:
    jobs = Jobs()
    jobs.put_off(subject(0), 0, 2_000)
    jobs.put_off(subject(0, "other"), 0, 2_000)
    jobs.forget(GoalId(EventId("g")))
    assert jobs.may_start(turn(), subject(0), 1)
    assert list(jobs.failures) == [subject(0, "other")]
