"""Model requests under way and those that had to be put off. At most one for each subject."""

from dataclasses import dataclass, field
from typing import Literal

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
    """A request that the model has. *written*: characters of text so far; *unsent*: what viewers have not had yet."""

    subject: Subject
    request: Request
    started_ms: int
    written: int = 0
    unsent: str = ""
    sent_ms: int = 0


@dataclass(slots=True)
class Jobs:
    """All jobs of this peer, by number."""

    running: dict[int, Job] = field(default_factory=dict)
    failures: dict[Subject, int] = field(default_factory=dict)
    not_before: dict[Subject, int] = field(default_factory=dict)
    _last: int = 0

    def start(self, subject: Subject, request: Request, mono_ms: int) -> int:
        """Note a job that is given to the model now; returns its number."""
        self._last += 1
        self.running[self._last] = Job(subject, request, mono_ms, sent_ms=mono_ms)
        return self._last

    def finish(self, number: int) -> Job | None:
        """Take a job off the list; None if it is not there any more."""
        return self.running.pop(number, None)

    def put_off(self, subject: Subject, mono_ms: int, retry_ms: int) -> int:
        """Note a failure; returns how many there were. Each one doubles the wait."""
        count = self.failures[subject] = self.failures.get(subject, 0) + 1
        self.not_before[subject] = mono_ms + min(retry_ms << min(count - 1, 10), _BACKOFF_MS_MAX)
        return count

    def number(self, subject: Subject) -> int | None:
        """The number of the running job about *subject*."""
        return next((n for n, job in self.running.items() if job.subject == subject), None)

    def forget(self, goal: GoalId) -> None:
        """Drop what is remembered of a goal that has ended."""
        for memory in (self.failures, self.not_before):
            for subject in [s for s in memory if s.goal == goal]:
                del memory[subject]
