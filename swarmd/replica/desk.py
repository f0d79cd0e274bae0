"""The desk where people's commands are answered: goals set and cancelled, and everything that can be looked at."""

from swarmd.events.kinds import Cancel, Goal
from swarmd.plan import show, story
from swarmd.plan.plan import GoalPlan
from swarmd.plan.task import Task, holder_of
from swarmd.plan.views import Change, EventPage, GoalView, TaskPage
from swarmd.replica.company import Company
from swarmd.replica.effects import Value
from swarmd.replica.inputs import (
    CancelGoal,
    Command,
    ListEvents,
    ListGoals,
    ListPeers,
    SetGoal,
    ShowGoal,
    ShowStatus,
    ShowTask,
)
from swarmd.replica.jobs import Jobs
from swarmd.replica.labour import Labour
from swarmd.replica.me import Me
from swarmd.replica.record import UNSTAMPED, Record
from swarmd.replica.status import PeerView, StatusView
from swarmd.replica.turn import Turn
from swarmd.roles.scene import Scene
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake, UnknownId
from swarmd.vocab.ids import PeerId, short
from swarmd.vocab.text import clean


class Desk:
    """Answers commands from what the other parts of the replica know. *published*: messages sent since the start."""

    def __init__(self, record: Record, me: Me, company: Company, labour: Labour, jobs: Jobs) -> None:
        self.published = 0
        self._record = record
        self._me = me
        self._company = company
        self._labour = labour
        self._jobs = jobs

    def obey(self, turn: Turn, command: Command, scene: Scene) -> Value:
        """Do *command*; its answer. Raises LocalMistake in words that say what to do instead."""
        match command:
            case SetGoal():
                return self._set_goal(turn, command, scene)
            case CancelGoal():
                return self._cancel(turn, command)
            case ListGoals():
                lines = [show.goal_line(plan) for plan in self._known()]
                return tuple(sorted(lines, key=lambda line: (line.created_ms, line.id)))
            case ShowGoal():
                return self._view(turn, self._goal(command.goal), scene)
            case ShowTask():
                return self._page(turn, command.task, scene)
            case ListEvents():
                return self._events(command)
            case ListPeers():
                return self._peers(turn)
            case ShowStatus():
                return self._status(turn)

    def _set_goal(self, turn: Turn, command: SetGoal, scene: Scene) -> str:
        self._must_speak()
        text = clean(command.text, 1 << 30, lines=True)
        if not text:
            raise LocalMistake("the goal is empty; say in a sentence what you want to have planned")
        if len(text.encode()) > limits.GOAL_BYTES_MAX:
            raise LocalMistake(
                f"the goal is {len(text.encode())} bytes long, the limit is {limits.GOAL_BYTES_MAX};"
                " put the essence in one paragraph"
            )
        warm = turn.mono_ms >= self._company.warm_ms()  # before that, an amendment names the electorate
        scorers = tuple(scene.live("scorer")[: limits.ELECTORATE_MAX]) if warm else ()
        majority = len(scorers) // 2 + 1
        least, most = (majority, len(scorers)) if scorers else (1, limits.ELECTORATE_MAX)
        if command.quorum is not None and not least <= command.quorum <= most:
            electorate = f"{len(scorers)} scorers" if scorers else "any electorate"
            raise LocalMistake(
                f"a quorum of {command.quorum} does not fit {electorate}: it must be from {least} to {most}"
            )
        return self._record.say(
            turn,
            Goal(
                author=self._me.peer,
                hlc=UNSTAMPED,
                text=text,
                electorate=scorers,
                quorum=command.quorum or (majority if scorers else 0),
                limits=command.limits,
                policy=command.policy,
            ),
        )

    def _cancel(self, turn: Turn, command: CancelGoal) -> str:
        self._must_speak()
        plan = self._goal(command.goal)
        if plan.ended:
            raise LocalMistake(f"the goal has already ended: {plan.status}")
        reason = clean(command.reason, limits.REASON_BYTES_MAX)
        self._record.say(turn, Cancel(author=self._me.peer, hlc=UNSTAMPED, goal=plan.id, reason=reason))
        return plan.id

    def _must_speak(self) -> None:
        if self._me.mute:
            raise LocalMistake(f"this peer only observes for now: {self._me.mute}")
        if self._me.silent:
            raise LocalMistake("this peer only observes and says nothing; give the command on a peer that has a role")

    def _known(self) -> list[GoalPlan]:
        return [plan for plan in self._record.plan.goals.values() if plan.goal is not None]

    def _goal(self, prefix: str) -> GoalPlan:
        known = self._known()
        if not prefix and known:
            return max(known, key=lambda plan: (plan.goal.hlc if plan.goal else 0, plan.id))
        if not prefix:
            raise UnknownId("there is no goal yet; set one with: swarmctl goal TEXT")
        found = [plan for plan in known if plan.id.startswith(prefix.lower())]
        if len(found) > 1:
            raise UnknownId(f"{len(found)} goals begin with {prefix}; give more of the id")
        if not found:
            raise UnknownId(f"no goal begins with {prefix}; see: swarmctl goals")
        return found[0]

    def _view(self, turn: Turn, plan: GoalPlan, scene: Scene) -> GoalView:
        streams = self._labour.streams
        return show.goal_view(plan, self._record.called, streams, lambda task: self._waits(turn, plan, task, scene))

    def _page(self, turn: Turn, prefix: str, scene: Scene) -> TaskPage:
        plan, task = self._task(prefix)
        return show.task_page(plan, task, self._view(turn, plan, scene))

    def _task(self, prefix: str) -> tuple[GoalPlan, Task]:
        if not prefix:
            plan = self._goal("")
            assert plan.root is not None
            return plan, plan.root
        found = [(p, t) for p in self._known() for t in p.walk() if t.id.startswith(prefix.lower())]
        if len(found) > 1:
            raise UnknownId(f"{len(found)} tasks begin with {prefix}; give more of the id")
        if not found:
            raise UnknownId(f"no task begins with {prefix}; `swarmctl show` prints their ids")
        return found[0]

    def _peer(self, said: str) -> PeerId:
        """The peer that people call *said*: by name, by its id, or by an end of it, which is where ids differ."""
        record = self._record
        known = {self._me.peer, *record.roster.seen, *record.plan.members}
        found = [peer for peer in known if record.called(peer).casefold() == said.casefold() or peer == said]
        found = found or [peer for peer in known if peer.endswith(said)]
        if len(found) > 1:
            raise UnknownId(f"{len(found)} peers are called {said}: {', '.join(sorted(map(short, found)))}")
        if not found:
            raise UnknownId(f"no peer is called {said}; see: swarmctl peers")
        return found[0]

    def _events(self, wanted: ListEvents) -> EventPage:
        """The newest events that pass, found from the newest on: a story is seldom asked for from its beginning."""
        record = self._record
        task = self._task(wanted.task)[1].id if wanted.task else ""
        goal = self._goal(wanted.goal).id if wanted.goal else ""
        peer = self._peer(wanted.peer) if wanted.peer else ""
        told: list[Change] = []
        for opened in record.events.newest_first():
            if len(told) == wanted.count:
                break
            change = story.of_event(opened, record.plan, record.called)
            if (
                change is not None
                and goal in ("", change.goal)
                and task in ("", change.task)
                and peer in ("", change.peer)
                and (not wanted.kinds or change.kind in wanted.kinds)
            ):
                told.append(change)
        return EventPage(goal=goal, task=task, peer=peer, events=tuple(reversed(told)))

    def _waits(self, turn: Turn, plan: GoalPlan, task: Task, scene: Scene) -> str:
        """What a task waits for, in words; empty if it is under way."""
        if plan.ended or task.finished:
            return ""
        if task.state == "ready":
            blocked = plan.blocked(task)
            if blocked:
                return "waits for " + ", ".join(f"“{story.brief(t.title)}”" for t in blocked[:3])
            return "" if scene.live("executor") or holder_of(task, plan.book(task.id)) else "no executor is here"
        return self._waits_to_split(turn, plan, task, scene) if task.state == "open" else ""

    def _waits_to_split(self, turn: Turn, plan: GoalPlan, task: Task, scene: Scene) -> str:
        electorate = plan.electorate
        if not electorate.members:
            return "no scorer is known yet"
        alive = {*self._record.roster.alive(turn.mono_ms), self._me.peer}
        here = sum(member in alive for member in electorate.members)
        if here < electorate.quorum:
            return f"{here} of {len(electorate.members)} scorers are here, {electorate.quorum} must agree"
        book = plan.book(task.id)
        if not book.proposals:
            return "" if scene.live("decomposer") else "no decomposer is here"
        means = [mean for p in book.proposals if (mean := book.mean(p, electorate.members)) is not None]
        assert plan.goal is not None
        threshold = plan.goal.policy.threshold
        if plan.goal.policy.strict and means and max(means) < threshold:
            return f"no split reaches the threshold of {threshold:.2f}; the best has {max(means):.2f}"
        return ""

    def _peers(self, turn: Turn) -> tuple[PeerView, ...]:
        roster = self._record.roster
        alive = roster.alive(turn.mono_ms)
        mine = self._record.events.fingerprint()
        return tuple(
            PeerView(
                id=peer,
                name=self._record.called(peer),
                roles=seen.presence.roles,
                model=seen.presence.model,
                running=seen.presence.running,
                slots=seen.presence.slots,
                version=seen.presence.version,
                connected=peer in roster.connected,
                alive=peer in alive,
                level=seen.presence.fingerprint == mine,
                seen_ms=turn.mono_ms - seen.mono_ms,
                clock_offset_ms=seen.offset_ms(turn.now.wall_ms, turn.mono_ms),
                tier=seen.presence.tier,
                tokens_per_s=seen.presence.tokens_per_s,
                why=seen.presence.why,
            )
            for peer, seen in sorted(roster.seen.items())
        )

    def _status(self, turn: Turn) -> StatusView:
        me, record = self._me, self._record
        assert self._company.started_ms is not None
        return StatusView(
            id=me.peer,
            name=me.name,
            version=me.version,
            swarm=record.swarm_id,
            roles=("observer",) if me.silent else me.roles,
            backend=me.backend.name if me.backend else "",
            model=me.backend.model if me.backend else "",
            tier=me.backend.tier if me.backend else "",
            slots=me.slots,
            running=len(self._jobs.running),
            caught_up=self._company.caught_up,
            trouble=me.mute,
            forgotten=len(record.events.forgotten),
            peers_connected=len(record.roster.connected),
            peers_alive=len(record.roster.alive(turn.mono_ms)),
            goals_open=len(record.plan.open_goals()),
            goals=len(self._known()),
            events=len(record.events),
            digest=record.plan.digest(),
            fingerprint=record.events.fingerprint().hex(),
            published=self.published,
            refused=dict(sorted(record.refused.items())),
            clock_offset_ms=record.roster.offset_ms(turn.now.wall_ms, turn.mono_ms),
            uptime_ms=turn.mono_ms - self._company.started_ms,
            context_tokens=me.backend.context_tokens if me.backend else 0,
            schema=me.backend.schema if me.backend else False,
            token_scores=me.backend.token_scores if me.backend else False,
            tokens_per_s=me.tokens_per_s,
            reasons=me.reasons,
        )
