"""Thinking about open tasks: what to say in their ballots, which splits to judge and to propose, and what the model
said."""

import random

from swarmd.events.kinds import Amend, Nomination, Promise, Proposal, Score, Vote
from swarmd.plan.ballot import Electorate
from swarmd.plan.plan import GoalPlan
from swarmd.plan.task import Task
from swarmd.replica.company import Company
from swarmd.replica.jobs import Jobs, Subject
from swarmd.replica.labour import Labour
from swarmd.replica.me import Me
from swarmd.replica.record import UNSTAMPED, Record
from swarmd.replica.turn import Turn
from swarmd.roles import decomposer, scorer
from swarmd.roles.calibration import Calibration
from swarmd.roles.checks import check_split, critique, is_mark, join_marks, tidy
from swarmd.roles.decomposer import Draft
from swarmd.roles.scene import Scene, TaskClock, children_max, place
from swarmd.roles.work import CHECKLIST, Judgement, Split
from swarmd.vocab import limits
from swarmd.vocab.ids import EventId, GoalId, PeerId, TaskId
from swarmd.vocab.text import clean, cut

_TRIES = 2  # after so many failures to judge a split the text checks do; after so many to split a task it is done whole
_FIRST_TRIES = (
    6  # a minute of doubling waits for a model that is busy; if nobody has proposed by then, it is done whole
)
_SPEECHES_MAX = 8  # things said about one task in a row; more would be a loop
_JUST_ENOUGH = 1e-6  # the mean of three marks of 0.7 is a hair below 0.7
_TEXT_CHECKS = "text checks"
_TEXT, _CONSTANT = "text", "constant"  # bases of a mark for which no model was heard


class Thought:
    """The decomposer's and the scorer's part of a replica. *clocks*: of every open task."""

    def __init__(
        self, record: Record, me: Me, company: Company, labour: Labour, jobs: Jobs, rng: random.Random
    ) -> None:
        self.clocks: dict[TaskId, TaskClock] = {}
        self._record = record
        self._me = me
        self._company = company
        self._labour = labour
        self._jobs = jobs
        self._rng = rng
        self._calibration = Calibration()

    def think(self, turn: Turn, scene: Scene) -> None:
        """Say what is to be said about every open task, and start what the model has room for."""
        wishes: list[tuple[int, int, Subject]] = []
        open_tasks: set[TaskId] = set()
        for age, plan in enumerate(self._record.plan.open_goals()):
            self._name_electorate(turn, plan, scene)
            for task in list(plan.walk()):
                if task.state != "open" or task.leaf:
                    continue
                open_tasks.add(task.id)
                self._start_clock(plan, task, scene)
                if self._company.caught_up:
                    wishes += [(rank, age, wish) for rank, wish in self._consider(turn, plan, task, scene)]
                turn.wake_at(scorer.deadline(plan, task, scene))
        for task_id in self.clocks.keys() - open_tasks:
            del self.clocks[task_id]
        wanted = {wish for _, _, wish in wishes}
        self._jobs.keep(turn, lambda subject: subject.kind == "work" or subject in wanted)
        for _, _, wish in sorted(wishes, key=lambda entry: entry[:2]):
            self._begin(turn, wish)

    def use(self, turn: Turn, subject: Subject, answer: object) -> bool:
        """Turn what the model said about *subject* into an event; False if it is of no use."""
        plan = self._record.plan.goals[subject.goal]
        task = plan.tasks.get(subject.task)
        if task is None or plan.ended or task.accepted is not None:
            return True
        if isinstance(answer, Split) and isinstance(subject.about, Draft):
            return self._propose(turn, plan, task, subject.about, answer)
        if isinstance(answer, Judgement) and isinstance(subject.about, str):
            self._calibration.note(answer)
            self._score(turn, plan, task, subject.about, answer)
            return True
        return False

    def _start_clock(self, plan: GoalPlan, task: Task, scene: Scene) -> None:
        clock = self.clocks.get(task.id)
        if clock is None:
            clock = self.clocks[task.id] = TaskClock(scene.mono_ms, self._rng.random())
        if clock.proposed_ms is None and plan.book(task.id).proposals:
            clock.proposed_ms = scene.mono_ms

    def _name_electorate(self, turn: Turn, plan: GoalPlan, scene: Scene) -> None:
        """The author of a goal that was given before any scorer was known names its first electorate."""
        if plan.goal is None or plan.goal.author != self._me.peer or plan.electorate.members:
            return
        scorers = scene.live("scorer")[: limits.ELECTORATE_MAX]
        if turn.mono_ms < self._company.warm_ms() or not scorers or not self._company.caught_up:
            turn.wake_at(self._company.warm_ms())
            return
        quorum = Electorate.of(scorers, plan.goal.quorum).quorum
        self._record.say(
            turn,
            Amend(author=self._me.peer, hlc=UNSTAMPED, goal=plan.id, electorate=tuple(scorers), quorum=quorum),
        )

    def _consider(self, turn: Turn, plan: GoalPlan, task: Task, scene: Scene) -> list[tuple[int, Subject]]:
        """Speak about a task, and wish for work on it: marks first (rank 0), then splits (rank 1)."""
        wishes: list[tuple[int, Subject]] = []
        if "scorer" in self._me.roles:
            for proposal in scorer.overdue(plan, task, scene):
                self._score(turn, plan, task, proposal, None)
            self._speak(turn, plan, task, scene)
            if task.accepted is not None:
                return []
            unscored = scorer.unscored(plan, task, scene)
            wishes += [(0, Subject("judge", plan.id, task.id, proposal)) for proposal in unscored]
        if "decomposer" in self._me.roles:
            draft = decomposer.wanted(plan, task, scene)
            wishes += [(1, Subject("propose", plan.id, task.id, draft))] if draft is not None else []
        return wishes

    def _speak(self, turn: Turn, plan: GoalPlan, task: Task, scene: Scene) -> None:
        for _ in range(_SPEECHES_MAX):
            speech = scorer.speak(plan, task, scene) if task.accepted is None and not plan.ended else None
            if speech is None:
                return
            self._record.say(turn, _event(speech, author=self._me.peer, goal=plan.id, task=task.id))

    def _begin(self, turn: Turn, subject: Subject) -> None:
        """Judge or propose, unless it is under way, put off, or there is no free slot."""
        if self._jobs.number(subject) is not None:
            return
        plan = self._record.plan.goals[subject.goal]
        task = plan.tasks[subject.task]
        failures = self._jobs.failures.get(subject, 0)
        if isinstance(subject.about, Draft):
            if failures >= _FIRST_TRIES and not plan.book(task.id).proposals:
                self._propose(turn, plan, task, subject.about, Split(subgoals=(), model=""))
            elif self._may_start(turn, subject):
                self._jobs.start(turn, subject, decomposer.request(plan, task, subject.about))
            return
        proposal = plan.book(task.id).proposals[subject.about]
        if _stands_in(proposal) or self._me.backend is None or failures >= _TRIES:
            self._score(turn, plan, task, subject.about, None)
        elif self._may_start(turn, subject):
            self._jobs.start(turn, subject, scorer.request(plan, task, subject.about))

    def _may_start(self, turn: Turn, subject: Subject) -> bool:
        """Claims that settle keep their slots: what is claimed must be worked on before its lease runs out."""
        return self._jobs.may_start(turn, subject, self._me.slots - self._labour.settling())

    def _propose(self, turn: Turn, plan: GoalPlan, task: Task, draft: Draft, split: Split) -> bool:
        subgoals = tidy(split.subgoals, place(plan, task), children_max(plan, task))
        if len(subgoals) < 2:  # one part is no split
            subject = Subject("propose", plan.id, task.id, draft)
            again = self._jobs.failures.get(subject, 0) + 1 < _TRIES or draft.refines is not None
            if split.subgoals and again:
                return False  # nothing that holds was left of what the model said
            subgoals = ()  # a model that finds no parts twice may be right
        if any(known.subgoals == subgoals for known in plan.book(task.id).proposals.values()):
            return False
        self._record.say(
            turn,
            Proposal(
                author=self._me.peer,
                hlc=UNSTAMPED,
                goal=plan.id,
                task=task.id,
                strategy=cut(draft.strategy, limits.STRATEGY_BYTES_MAX),
                subgoals=subgoals,
                refines=draft.refines,
                model=clean(split.model, limits.MODEL_BYTES_MAX),
            ),
        )
        return True

    def _score(self, turn: Turn, plan: GoalPlan, task: Task, proposal: EventId, judgement: Judgement | None) -> None:
        book = plan.book(task.id)
        if self._me.peer in book.scores.get(proposal, {}) or proposal not in book.proposals:
            return
        assert plan.goal is not None
        basis = self._basis(judgement)
        if not _stands_in(book.proposals[proposal]):
            findings = check_split(place(plan, task), book.proposals[proposal].subgoals)
            heard = None if basis in (_TEXT, _CONSTANT) else judgement
            marks, words = join_marks(heard, findings, basis), critique(judgement, findings)
        else:  # to do a task whole, or by a general checklist, is just good enough: any split that is better wins
            marks, words = (min(1.0, plan.goal.policy.threshold + _JUST_ENOUGH),) * 3, ""
        heard_model = judgement.model if judgement is not None and basis != _TEXT else _TEXT_CHECKS
        self._record.say(
            turn,
            Score(
                author=self._me.peer,
                hlc=UNSTAMPED,
                goal=plan.id,
                task=task.id,
                proposal=proposal,
                specific=marks[0],
                disjoint=marks[1],
                covering=marks[2],
                critique=cut(words, limits.CRITIQUE_BYTES_MAX),
                model=clean(heard_model, limits.MODEL_BYTES_MAX),
                basis=basis,
            ),
        )

    def _basis(self, judgement: Judgement | None) -> str:
        """What a mark rests on: the class of this peer's model, or the checks of the text alone."""
        if judgement is None or self._me.backend is None:
            return _TEXT
        if not any(map(is_mark, (judgement.specific, judgement.disjoint, judgement.covering))):
            return _TEXT
        return _CONSTANT if self._calibration.is_constant else self._me.backend.tier


def _stands_in(proposal: Proposal) -> bool:
    """Whether it is no model's split: a task to be done whole, or a general checklist."""
    return not proposal.subgoals or proposal.model == CHECKLIST


def _event(speech: scorer.Speech, *, author: PeerId, goal: GoalId, task: TaskId) -> Promise | Nomination | Vote:
    ballot = speech.ballot
    match speech:
        case scorer.SayPromise(approvals=approvals):
            return Promise(author=author, hlc=UNSTAMPED, goal=goal, task=task, ballot=ballot, approvals=approvals)
        case scorer.SayNomination(proposal=proposal, promises=promises):
            return Nomination(
                author=author, hlc=UNSTAMPED, goal=goal, task=task, ballot=ballot, proposal=proposal, promises=promises
            )
        case scorer.SayVote(proposal=proposal, approve=approve):
            return Vote(
                author=author, hlc=UNSTAMPED, goal=goal, task=task, ballot=ballot, proposal=proposal, approve=approve
            )
