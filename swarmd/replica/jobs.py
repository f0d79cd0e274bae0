"""Model requests under way and those that had to be put off. At most one for each subject."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from swarmd.replica.effects import Abort, Ask
from swarmd.replica.turn import Turn
from swarmd.roles.decomposer import Draft
from swarmd.roles.work import Request
from swarmd.vocab.ids import EventId, GoalId, TaskId

JobKind = Literal["work", "judge", "propose"]
_BACKOFF_MS_MAX = 120_000  # a model that keeps failing is asked every two minutes


@dataclass(frozen=True, slots=True)
class Subject:
    """What a job is about: a claim to work off, a proposal to judge, or a draft of a task to propose."""

    kind: JobKind
    goal: GoalId
    task: TaskId
    about: EventId | Draft


@dataclass(slots=True)
class Job:
    """A request that the model has. *written*: characters of text so far; *unsent*: those that viewers have not had
    yet; *sent_ms*: when they last had some."""

    subject: Subject
    sent_ms: int
    written: int = 0
    unsent: str = ""


@dataclass(slots=True)
class Jobs:
    """All jobs of this peer, by number."""

    running: dict[int, Job] = field(default_factory=dict)
    failures: dict[Subject, int] = field(default_factory=dict)
    _not_before: dict[Subject, int] = field(default_factory=dict)
    _last: int = 0

    def free(self, slots: int) -> int:
        """How many of *slots* are idle."""
        return slots - len(self.running)

    def may_start(self, turn: Turn, subject: Subject, slots: int) -> bool:
        """Whether a slot is idle and *subject* is not put off."""
        not_before = self._not_before.get(subject, 0)
        turn.wake_at(not_before)
        return not_before <= turn.mono_ms and self.free(slots) > 0

    def start(self, turn: Turn, subject: Subject, request: Request) -> None:
        """Give a job to the model."""
        self._last += 1
        self.running[self._last] = Job(subject, turn.mono_ms)
        turn.work.append(Ask(self._last, request))

    def finish(self, number: int) -> Job | None:
        """Take a job off the list; None if it is not there any more."""
        return self.running.pop(number, None)

    def keep(self, turn: Turn, wanted: Callable[[Subject], bool]) -> None:
        """Abort every job whose subject is not *wanted* any more."""
        for number in [n for n, job in self.running.items() if not wanted(job.subject)]:
            del self.running[number]
            turn.work.append(Abort(number))

    def drop_all(self, turn: Turn) -> list[Job]:
        """Abort every job; those that ran."""
        dropped = list(self.running.values())
        self.keep(turn, lambda _: False)
        return dropped

    def put_off(self, subject: Subject, mono_ms: int, retry_ms: int) -> None:
        """Note a failure; each one of the same subject doubles the wait."""
        count = self.failures[subject] = self.failures.get(subject, 0) + 1
        self._not_before[subject] = mono_ms + min(retry_ms << min(count - 1, 10), _BACKOFF_MS_MAX)

    def number(self, subject: Subject) -> int | None:
        """The number of the running job about *subject*."""
        return next((n for n, job in self.running.items() if job.subject == subject), None)

    def forget(self, goal: GoalId) -> None:
        """Drop what is remembered of a goal that has ended."""
        self.failures = {subject: count for subject, count in self.failures.items() if subject.goal != goal}
        self._not_before = {subject: at for subject, at in self._not_before.items() if subject.goal != goal}
