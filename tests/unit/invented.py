"""An invented household: one goal in the middle of its run, its peers, and a daemon's door that lives in memory."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import trio

from swarmd.events.kinds import Limits, Policy
from swarmd.plan.report import walk
from swarmd.plan.views import (
    BallotView,
    Change,
    ClaimView,
    EventPage,
    GoalLine,
    GoalView,
    ProposalView,
    ResultView,
    ScoreView,
    SubgoalView,
    TaskPage,
    TaskView,
    VoteView,
)
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
from swarmd.replica.status import PeerView, StatusView
from swarmd.vocab.faults import UnknownId

KITCHEN, MINI, NAS = (f"12D3KooW{letter * 44}" for letter in "KMN")
NAMES = {KITCHEN: "kitchen-pi", MINI: "mini-pc", NAS: "nas"}
GOAL_ID = "8f3a2c1d" * 8
START_MS = 1_800_000_000_000


def proposal(
    identifier: str, author: str, strategy: str, mean: float | None, *parts: str, **more: object
) -> ProposalView:
    """A competing split with one scorer's marks."""
    marks = () if mean is None else (score(KITCHEN, mean),)
    facts: dict[str, object] = {
        "id": identifier * 64,
        "author": author,
        "strategy": strategy,
        "model": "qwen3:4b",
        "refines": None,
        "generation": 0,
        "subgoals": tuple(SubgoalView(title=part, detail="", leaf=False) for part in parts),
        "scores": marks,
        "mean": mean,
        "accepted": False,
    }
    return ProposalView(**{**facts, **more})  # type: ignore[arg-type]


def score(scorer: str, mark: float) -> ScoreView:
    """Equal marks."""
    return ScoreView(
        scorer=scorer, specific=mark, disjoint=mark, covering=mark, mark=mark, critique="", model="qwen3:4b"
    )


def votes(split: str, *approving: str, against: tuple[str, ...] = (), ballot: int = 0) -> tuple[VoteView, ...]:
    """Votes on one split in one ballot."""
    said = [(peer, True) for peer in approving] + [(peer, False) for peer in against]
    return tuple(
        VoteView(scorer=peer, ballot=ballot, proposal=split * 64, approve=approve, void=False) for peer, approve in said
    )


def result(executor: str, text: str, *, model: str = "qwen3:4b", attempt: int = 1, **more: object) -> ResultView:
    """A finished text."""
    facts: dict[str, object] = {
        "id": "e" * 64,
        "executor": executor,
        "attempt": attempt,
        "status": "done",
        "text": text,
        "model": model,
        "tokens": 120,
        "ms": 4_000,
        "counts": True,
    }
    return ResultView(**{**facts, **more})  # type: ignore[arg-type]


def task(title: str, status: str, depth: int = 1, **more: object) -> TaskView:
    """A task; a leaf unless it has children or splits."""
    facts: dict[str, object] = {
        "id": title.encode().hex().ljust(64, "0")[:64],
        "title": title,
        "detail": "",
        "depth": depth,
        "leaf": not more.get("children") and not more.get("proposals"),
        "status": status,
    }
    return TaskView(**{**facts, **more})  # type: ignore[arg-type]


def goal_view(root: TaskView, **more: object) -> GoalView:
    """A goal around its root task."""

    def count(each: TaskView) -> tuple[int, int]:
        below = [count(child) for child in each.children]
        over = each.status in ("done", "failed", "cancelled")
        return 1 + sum(tasks for tasks, _ in below), over + sum(done for _, done in below)

    tasks, done = count(root)
    facts: dict[str, object] = {
        "id": GOAL_ID,
        "text": root.title,
        "status": "open",
        "author": KITCHEN,
        "created_ms": START_MS,
        "ended_ms": None,
        "electorate": (KITCHEN, MINI, NAS),
        "quorum": 2,
        "limits": Limits(),
        "policy": Policy(),
        "forced_amend": False,
        "cancel_reason": "",
        "root": root,
        "tasks": tasks,
        "done": done,
        "events": 57,
        "digest": "d" * 64,
        "names": NAMES,
    }
    return GoalView(**{**facts, **more})  # type: ignore[arg-type]


def mid_run() -> GoalView:
    """Two weeks in Japan: one part finished, one running with everything that can be seen of a task, one in debate."""
    kyoto = task(
        "Kyoto: temples, gardens and a night in a ryokan",
        "split",
        proposals=(
            proposal("3", NAS, "by activity", 0.74, "Temples", "Food", accepted=True, generation=1, refines="4" * 64),
            proposal("4", MINI, "by place", 0.58, "East", "West"),
        ),
        votes=votes("3", MINI, NAS, against=(KITCHEN,)),
        below_threshold=False,
        children=(
            task(
                "Choose temples and gardens",
                "claimed",
                2,
                claim=ClaimView(id="c" * 64, executor=MINI, attempt=2, since_ms=START_MS + 60_000),
                stream="Day one begins at Fushimi Inari before sunrise, when the gates are empty. From there the train "
                "takes five minutes to Tofuku-ji, whose moss garden opens at nine, and",
                results=(result(NAS, "A late text.", attempt=1, counts=False),),
            ),
            task("Reserve a ryokan near the river", "waiting", 2, waits="Choose temples and gardens"),
            task("Find a cooking class", "ready", 2),
            task(
                "Rent kimonos",
                "failed",
                2,
                results=(result(KITCHEN, "no model answered within 300 s", status="failed", counts=True),),
            ),
        ),
    )
    tokyo = task(
        "Tokyo: five days in the city",
        "deliberating",
        ballot=1,
        proposals=(
            proposal("5", KITCHEN, "by time", 0.66, "Arrival day", "Museums", "Day trip to Nikko"),
            proposal("6", MINI, "by place", 0.71, "Asakusa", "Shibuya", "Ghibli museum"),
            proposal("7", NAS, "by risk", None, "Crowds", "Rain"),
        ),
        votes=votes("6", MINI, ballot=1),
        waits="votes of kitchen-pi or nas",
    )
    flights = task(
        "Flights and rail passes",
        "done",
        proposals=(proposal("8", MINI, "by phase", 0.8, "Flights", "Passes", accepted=True),),
        votes=votes("8", KITCHEN, MINI, NAS),
        results=(result(MINI, "Fly out on a Tuesday; buy the 14-day pass."),),
        children=(
            task("Compare flights", "done", 2, results=(result(MINI, "# Flights\nTuesday is cheapest."),)),
            task("Choose rail passes", "done", 2, results=(result(NAS, "The 14-day pass pays for itself."),)),
        ),
    )
    root = task(
        "Two weeks in Japan for four",
        "split",
        0,
        proposals=(
            proposal("1", MINI, "by place", 0.81, "Flights", "Kyoto", "Tokyo", accepted=True),
            proposal("2", KITCHEN, "by activity", 0.64, "Sights", "Food"),
        ),
        votes=votes("1", KITCHEN, MINI) + votes("2"),
        children=(flights, kyoto, tokyo),
    )
    return goal_view(root)


def task_page(goal: GoalView, found: TaskView) -> TaskPage:
    """A task of *goal* with one ballot for each that was voted in."""
    return TaskPage(
        goal=goal.id,
        path=(goal.text,) if found.depth else (),
        task=found,
        ballots=tuple(
            BallotView(
                ballot=number,
                chair=KITCHEN,
                nominated=tuple(dict.fromkeys(vote.proposal for vote in found.votes if vote.ballot == number)),
                forced=False,
                promised=(MINI, NAS) if number else (),
            )
            for number in sorted({vote.ballot for vote in found.votes})
        ),
        electorate=goal.electorate,
        quorum=goal.quorum,
        policy=goal.policy,
        names=goal.names,
    )


def finished(model: str = "qwen3:4b") -> GoalView:
    """A goal that is done, all of it written by *model*."""
    children = tuple(
        task(f"Part {number}", "done", results=(result(MINI, f"Text {number}.", model=model),)) for number in (1, 2)
    )
    root = task("A picnic", "done", 0, children=children, results=(result(NAS, "All of it.", model=model),))
    return goal_view(root, status="done", ended_ms=START_MS + 125_000)


def peer(name: str, **more: object) -> PeerView:
    """A peer in good health."""
    facts: dict[str, object] = {
        "id": next((key for key, known in NAMES.items() if known == name), "12D3KooW" + "Z" * 44),
        "name": name,
        "roles": ("decomposer", "scorer", "executor"),
        "model": "qwen3:4b",
        "running": 1,
        "slots": 2,
        "version": "0.1.0",
        "connected": True,
        "alive": True,
        "level": True,
        "seen_ms": 1_200,
        "clock_offset_ms": 3,
    }
    return PeerView(**{**facts, **more})  # type: ignore[arg-type]


def peers() -> tuple[PeerView, ...]:
    """Two that live and one that fell silent."""
    return (
        peer("mini-pc"),
        peer("kitchen-pi", model="SmolLM2-135M (tiny)", slots=1),
        peer("nas", alive=False, seen_ms=40_000),
    )


STATUS = StatusView(
    id=KITCHEN,
    name="kitchen-pi",
    version="0.1.0",
    swarm="a" * 32,
    roles=("scorer", "executor"),
    backend="ollama",
    model="qwen3:4b",
    tier="small",
    slots=2,
    running=1,
    caught_up=True,
    peers_connected=2,
    peers_alive=2,
    goals_open=1,
    goals=3,
    events=57,
    digest="d" * 64,
    fingerprint="f" * 64,
    published=31,
    refused={"malformed event": 2},
    clock_offset_ms=-4,
    uptime_ms=3_700_000,
)


class InMemoryDoor:
    """A daemon that has goals, peers and watchers, and no machine behind them."""

    def __init__(self, *goals: GoalView, room: int = 64) -> None:
        self.goals = {goal.id: goal for goal in goals}
        self.asked: list[Command] = []
        self.story: tuple[Change, ...] = ()
        self.watchers: list[trio.MemorySendChannel[Change]] = []
        self._room = room

    async def command(self, command: Command) -> Value:
        """As the machine would answer."""
        self.asked.append(command)
        match command:
            case SetGoal():
                identifier = f"{len(self.goals):064x}"
                root = task(command.text, "open", 0, id=identifier)
                self.goals[identifier] = goal_view(root, id=identifier)
                return identifier
            case CancelGoal():
                goal = self._find(command.goal)
                self.put(msgspec.structs.replace(goal, status="cancelled", cancel_reason=command.reason))
                return goal.id
            case ListGoals():
                return tuple(
                    GoalLine(
                        id=goal.id,
                        text=goal.text,
                        status=goal.status,
                        created_ms=goal.created_ms,
                        tasks=goal.tasks,
                        done=goal.done,
                    )
                    for goal in self.goals.values()
                )
            case ShowGoal():
                return self._find(command.goal)
            case ShowTask():
                return self._page(command.task)
            case ListEvents():
                return EventPage(goal=command.goal, task=command.task, peer=command.peer, events=self.story)
            case ListPeers():
                return peers()
            case ShowStatus():
                return STATUS

    @contextmanager
    def watch(self) -> Iterator[trio.MemoryReceiveChannel[Change]]:
        """Changes that are told from now on; a full channel loses them."""
        send, receive = trio.open_memory_channel[Change](self._room)
        self.watchers.append(send)
        try:
            yield receive
        finally:
            self.watchers.remove(send)
            send.close()

    def tell(self, change: Change) -> None:
        """Tell every watcher that has room."""
        for watcher in self.watchers:
            try:
                watcher.send_nowait(change)
            except trio.WouldBlock:
                continue

    def put(self, goal: GoalView) -> None:
        """The goal as it is from now on."""
        self.goals[goal.id] = goal

    def _page(self, prefix: str) -> TaskPage:
        for goal in self.goals.values():
            for found in walk(goal.root):
                if found.id.startswith(prefix):
                    return task_page(goal, found)
        raise UnknownId(f"no task begins with {prefix}")

    def _find(self, prefix: str) -> GoalView:
        if not self.goals:
            raise UnknownId('there is no goal yet\nSet one with `swarmctl goal "…"`.')
        found = [goal for goal in self.goals.values() if goal.id.startswith(prefix)]
        if not prefix:
            return found[-1]
        if len(found) != 1:
            how = "no goal has" if not found else f"{len(found)} goals have"
            raise UnknownId(f"{how} an id that begins with {prefix}\nList the goals with `swarmctl goals`.")
        return found[0]
