"""Labour: claims and their leases, the work that they entitle to, and its text while it is being written.

Leases are judged on this machine's monotonic clock; whose claim holds is judged by the fold alone.
"""

from typing import Literal

from swarmd.events.envelope import Opened
from swarmd.events.kinds import Claim, Result, Usage
from swarmd.gossip.frames import Live
from swarmd.plan import story
from swarmd.plan.plan import GoalPlan, Shift
from swarmd.plan.task import Task, TaskBook, holder_of
from swarmd.plan.views import Change
from swarmd.replica.company import Company
from swarmd.replica.effects import Stream
from swarmd.replica.jobs import Job, Jobs, Subject
from swarmd.replica.me import Me
from swarmd.replica.record import UNSTAMPED, Record
from swarmd.replica.turn import Turn
from swarmd.roles import executor
from swarmd.roles.language import may_be_english, speaks_of_a_language, strays
from swarmd.roles.scene import Scene, Timing
from swarmd.roles.work import Text
from swarmd.vocab import limits
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId
from swarmd.vocab.text import clean, cut

_LIVE_MS = 500  # running text is told twice a second
_RENEWALS = 3  # so often a quiet claim is renewed within its lease: two renewals may be lost
_RETRY_SETTLES = 4  # a failed attempt rests for so many settle times, times its number
_CUT = "\n\n[cut: the text was longer than a result may be]"


class Labour:
    """The executor's part of a replica. *streams*: running text by claim, for viewers."""

    def __init__(self, record: Record, me: Me, company: Company, jobs: Jobs, timing: Timing) -> None:
        self.streams: dict[EventId, str] = {}
        self._record = record
        self._me = me
        self._company = company
        self._jobs = jobs
        self._timing = timing
        self._stream_ends: dict[EventId, int] = {}  # how many characters of it were written, lost ones included
        self._heard_ms: dict[EventId, int] = {}  # when each claim without a result was last heard of
        self._claimed_ms: dict[EventId, int] = {}  # own claims: since when they settle
        self._rest_until: dict[TaskId, int] = {}  # tasks that failed: not to be claimed before

    def notice(self, turn: Turn, opened: Opened, shifts: list[Shift]) -> None:
        """An event was taken in."""
        event = opened.event
        if isinstance(event, Claim):
            self._heard_ms[opened.id] = turn.mono_ms
        elif isinstance(event, Result) and self._ends_its_claim(event):
            self._forget(event.claim)
            if event.status == "failed":
                rest = self._timing.settle_ms * _RETRY_SETTLES * event.attempt
                self._rest_until[event.task] = turn.mono_ms + rest
        for shift in shifts:
            if shift.kind == "ended":
                self._forget_goal(GoalId(EventId(shift.goal)))

    def _ends_its_claim(self, result: Result) -> bool:
        """Whether it is the word of the claim's own author: a stranger's neither stops a lease's clock nor makes a task
        rest."""
        plan = self._record.plan.goals.get(GoalId(EventId(result.goal)))
        book = plan.books.get(TaskId(result.task)) if plan else None
        return book is not None and result.claim in book.claims and result in book.outcomes(result.claim)

    def hear(self, turn: Turn, peer: PeerId, live: Live) -> None:
        """A claim's holder says that it works, and perhaps what it has written."""
        plan = self._record.plan.goals.get(GoalId(EventId(live.goal)))
        book = plan.books.get(TaskId(live.task)) if plan else None
        claim = book.claims.get(live.claim) if book else None
        if claim is None or claim.author != peer or live.claim not in self._heard_ms:
            return
        self._heard_ms[live.claim] = turn.mono_ms
        if live.text:
            self._show(turn, live)

    def work(self, turn: Turn, scene: Scene) -> None:
        """Work off the claims that hold, give way where they do not, and claim what there is room for."""
        held = self._held()
        self._jobs.keep(turn, lambda subject: subject.kind != "work" or subject.about in held)
        for claim, (plan, task) in held.items():
            subject = Subject("work", plan.id, task.id, claim)
            if self._jobs.number(subject) is None:
                self._settle(turn, plan, task, subject, claim)
            number = self._jobs.number(subject)
            if number is not None:
                self._renew(turn, self._jobs.running[number], claim, plan.book(task.id).claims[claim].lease_ms)
        if "executor" in self._me.roles and self._company.caught_up:
            self._claim(turn, scene)

    def settling(self) -> int:
        """How many own claims hold a task and are not being worked on yet."""
        started = {job.subject.about for job in self._jobs.running.values()}
        return sum(claim not in started for claim in self._held()) if "executor" in self._me.roles else 0

    def chunk(self, number: int, text: str) -> None:
        """The model wrote more of a job's text."""
        job = self._jobs.running.get(number)
        if job is not None and job.subject.kind == "work":
            piece = clean_piece(text)
            job.unsent += piece
            job.written += len(piece)

    def use(self, turn: Turn, subject: Subject, answer: object) -> bool:
        """Publish what the model wrote; False if it is of no use."""
        text = clean(answer.text, 1 << 30, lines=True) if isinstance(answer, Text) else ""
        if not isinstance(answer, Text) or not text:
            return False
        if self._is_foreign(subject, text):
            self.give_up(turn, subject, "the model wrote in another language than the goal's")
            return True
        if len(text.encode()) > limits.RESULT_BYTES_MAX:
            text = cut(text, limits.RESULT_BYTES_MAX - len(_CUT.encode())) + _CUT
        self._result(turn, subject, "done", text, clean(answer.model, limits.MODEL_BYTES_MAX), answer.usage)
        return True

    def _is_foreign(self, subject: Subject, text: str) -> bool:
        """Whether a text is in another language than its goal while somebody may still do better: the last attempt's
        is better than none."""
        plan = self._record.plan.goals[subject.goal]
        claim = plan.book(subject.task).claims.get(EventId(str(subject.about)))
        if plan.goal is None or claim is None or claim.attempt >= plan.goal.policy.attempts:
            return False
        task = plan.tasks.get(subject.task)
        if task is None:
            return False
        return not speaks_of_a_language(f"{task.title} {task.detail}") and strays(text, plan.goal.text)

    def give_up(self, turn: Turn, subject: Subject, reason: str) -> None:
        """Publish that an attempt failed."""
        text = clean(reason, limits.REASON_BYTES_MAX) or "no reason given"
        self._result(turn, subject, "failed", text, "", Usage())

    # --- claims ----------------------------------------------------------------------------------------------------

    def _held(self) -> dict[EventId, tuple[GoalPlan, Task]]:
        """Own claims that hold a task and have no result."""
        held = {}
        for plan in self._record.plan.open_goals():
            for task in plan.walk():
                claim = unfinished_claim(task, plan.book(task.id))
                if claim is not None and plan.book(task.id).claims[claim].author == self._me.peer:
                    held[claim] = (plan, task)
        return held

    def _settle(self, turn: Turn, plan: GoalPlan, task: Task, subject: Subject, claim: EventId) -> None:
        """Start on a claim when it has had time to meet an earlier one; after a restart it settles anew."""
        settled = self._claimed_ms.setdefault(claim, turn.mono_ms) + self._timing.settle_ms
        turn.wake_at(settled)
        ready = turn.mono_ms >= settled and self._company.caught_up
        if ready and "executor" in self._me.roles and self._jobs.free(self._me.slots) > 0:
            attempt = plan.book(task.id).claims[claim].attempt
            self._jobs.start(turn, subject, executor.request(plan, task, attempt))

    def _claim(self, turn: Turn, scene: Scene) -> None:
        free = self._jobs.free(self._me.slots) - self.settling()
        expired, horizon = self._expired(turn), self._record.horizon(turn)
        for plan in self._record.plan.open_goals():
            can_read = self._can_read(plan)
            for opening in executor.openings(plan, scene, expired):
                if free <= 0:
                    return
                if not can_read and executor.has_abler(plan, opening.task, scene):
                    continue
                if opening.task.born >= horizon:
                    continue  # made while our clock was wrong: no claim of today would count
                rest_until = self._rest_until.get(opening.task.id, 0)
                turn.wake_at(rest_until)
                if rest_until > turn.mono_ms:
                    continue
                assert plan.goal is not None
                claim = self._record.say(
                    turn,
                    Claim(
                        author=self._me.peer,
                        hlc=UNSTAMPED,
                        goal=plan.id,
                        task=opening.task.id,
                        attempt=opening.attempt,
                        lease_ms=plan.goal.policy.lease_ms,
                    ),
                )
                self._claimed_ms[claim] = turn.mono_ms
                turn.wake_at(turn.mono_ms + self._timing.settle_ms)
                free -= 1

    def _can_read(self, plan: GoalPlan) -> bool:
        """Whether this peer's model knows the goal's language; the embedded one knows English only."""
        backend = self._me.backend
        return backend is None or backend.name != "embedded" or plan.goal is None or may_be_english(plan.goal.text)

    def _expired(self, turn: Turn) -> set[EventId]:
        """Others' claims whose holder has been silent for the lease, or has said goodbye."""
        expired = set()
        for plan in self._record.plan.open_goals():
            for task in plan.walk():
                book = plan.book(task.id)
                claim = unfinished_claim(task, book)
                if claim is None or book.claims[claim].author == self._me.peer:
                    continue
                seen = self._record.roster.seen.get(book.claims[claim].author)
                ends = self._heard_ms.get(claim, turn.mono_ms) + book.claims[claim].lease_ms
                turn.wake_at(ends)
                if turn.mono_ms >= ends or (seen is not None and seen.presence.leaving):
                    expired.add(claim)
        return expired

    # --- text ------------------------------------------------------------------------------------------------------

    def _renew(self, turn: Turn, job: Job, claim: EventId, lease_ms: int) -> None:
        """Keep the lease of a claim that is being worked on, by its text or by an empty chunk."""
        due = job.sent_ms + (_LIVE_MS if job.unsent else lease_ms // _RENEWALS)
        turn.wake_at(due)
        if turn.mono_ms < due:
            return
        text = cut(job.unsent, limits.LIVE_BYTES_MAX)
        offset = job.written - len(job.unsent)
        job.unsent = job.unsent[len(text) :]
        job.sent_ms = turn.mono_ms
        live = Live(goal=job.subject.goal, task=job.subject.task, claim=claim, offset=offset, text=text)
        turn.loud.append(Stream(live))
        if text:
            self._show(turn, live)
        turn.wake_at(turn.mono_ms + (_LIVE_MS if job.unsent else lease_ms // _RENEWALS))

    def _show(self, turn: Turn, live: Live) -> None:
        known = live.offset > 0
        so_far, end = (self.streams.get(live.claim, ""), self._stream_ends.get(live.claim, 0)) if known else ("", 0)
        if live.offset < end:
            return  # repeated, or overtaken by the one after it
        gap = " … " if live.offset > end else ""  # a chunk was lost; the result will have it all
        self.streams[live.claim] = cut(so_far + gap + live.text, limits.LIVE_TEXT_BYTES_MAX)
        self._stream_ends[live.claim] = live.offset + len(live.text)
        where = story.title(self._record.plan, live.goal, live.task)
        line = f"“{where}”: {clean(live.text, limits.TITLE_BYTES_MAX)}"
        wall_ms = self._record.wall_ms(turn)
        turn.told.append(
            Change(kind="live", text=line, goal=live.goal, task=live.task, chunk=live.text, wall_ms=wall_ms)
        )

    # --- results ---------------------------------------------------------------------------------------------------

    def _result(
        self,
        turn: Turn,
        subject: Subject,
        status: Literal["done", "failed"],
        text: str,
        model: str,
        usage: Usage,
    ) -> None:
        """Publish how an attempt ended, if its claim still holds: the loser of a race publishes nothing."""
        plan = self._record.plan.goals[subject.goal]
        task = plan.tasks.get(subject.task)
        assert isinstance(subject.about, str)
        if task is None or plan.ended or unfinished_claim(task, plan.book(task.id)) != subject.about:
            return
        claim = plan.book(task.id).claims[subject.about]
        self._record.say(
            turn,
            Result(
                author=self._me.peer,
                hlc=UNSTAMPED,
                goal=plan.id,
                task=task.id,
                attempt=claim.attempt,
                claim=subject.about,
                status=status,
                text=text,
                model=model,
                usage=usage,
            ),
        )

    def _forget(self, claim: EventId) -> None:
        self.streams.pop(claim, None)
        self._stream_ends.pop(claim, None)
        self._heard_ms.pop(claim, None)
        self._claimed_ms.pop(claim, None)

    def _forget_goal(self, goal: GoalId) -> None:
        self._jobs.forget(goal)
        for task, book in self._record.plan.goals[goal].books.items():
            self._rest_until.pop(task, None)
            for claim in book.claims:
                self._forget(claim)


def unfinished_claim(task: Task, book: TaskBook) -> EventId | None:
    """The claim that holds a task which is being worked on; None if nobody holds it, or its attempt has ended."""
    claim = holder_of(task, book) if task.state == "ready" else None
    return claim if claim is not None and not book.outcomes(claim) else None


def clean_piece(text: str) -> str:
    """A piece of running text without control characters; unlike `clean`, white space at its ends stays."""
    kept = clean("|" + text + "|", limits.LIVE_TEXT_BYTES_MAX, lines=True)
    return kept[1:].removesuffix("|")
