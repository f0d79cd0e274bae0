"""One goal through the whole swarm: real replicas in one process, a real model behind them, and no network.

The replicas' time stands still while the model works, so that a slow machine makes the same decisions as a fast one:
equal seeds and answers give equal plans. Equal requests are answered once, since the replicas share the model.
"""

import time
from dataclasses import dataclass, field

from swarmd.events.kinds import Limits
from swarmd.plan.report import walk
from swarmd.plan.views import GoalView
from swarmd.ports import Llm
from swarmd.replica.inputs import Answered, Chunk, Failed, SetGoal
from swarmd.roles.work import Answer, Backend, Request
from swarmd.vocab.faults import LocalMistake, RemoteFault
from tests.eval.goals import Wish
from tests.lan import Lan, Station

PEERS = 3
_WARM_MS = 3_000
_MINUTES_MAX = 60  # of the replicas' time; a goal that has not ended by then will not


@dataclass(slots=True)
class Spent:
    """What one kind of request cost. *first*: how many were answered at the first try."""

    calls: int = 0
    first: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Meter:
    """A model whose work is measured, by kind of request."""

    llm: Llm
    spent: dict[str, Spent] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    _known: dict[Request, Answer] = field(default_factory=dict)
    _failed: set[Request] = field(default_factory=set)

    async def ask(self, request: Request, pieces: list[str] | None = None) -> Answer:
        """The model's answer; raises RemoteFault as it does."""
        if request in self._known:
            return self._known[request]
        spent = self.spent.setdefault(type(request).__name__.lower(), Spent())
        began = time.perf_counter()
        again = request in self._failed
        spent.calls += not again
        try:
            answer = await self.llm.run(request, pieces.append if pieces is not None else lambda piece: None)
        except RemoteFault as fault:
            self._failed.add(request)
            self.faults.append(f"{type(request).__name__.lower()}: {fault}")
            raise
        finally:
            spent.seconds += time.perf_counter() - began
        spent.first += not again
        spent.tokens += answer.usage.tokens
        self._known[request] = answer
        return answer


async def plan(wish: Wish, backend: Backend, meter: Meter, seed: int, depth: int) -> GoalView:
    """The goal as the swarm leaves it, *depth* levels deep. Raises AssertionError if it does not end."""
    lan = Lan(PEERS, seed=seed)
    for station in lan.stations:
        station.start(backend)
    lan.run(_WARM_MS)
    goal = lan[0].command(SetGoal(text=wish.text, limits=Limits(depth=depth, children=5, tasks=40)))
    assert isinstance(goal, str), goal
    end = lan.mono_ms + _MINUTES_MAX * 60_000
    while not lan.ended():
        assert lan.mono_ms < end, f"“{wish.name}” does not end"
        lan.deliver_all()
        for station in lan.stations:
            await _work(station, meter)
        lan.deliver_all()
        lan.tick(end - lan.mono_ms)
    view = lan[0].view()
    assert len(lan.digests()) == 1
    assert all(task.status in ("done", "failed") for task in walk(view.root))
    return view


async def _work(station: Station, meter: Meter) -> None:
    for job, request in list(station.asked.items()):
        if job not in station.asked:
            continue
        pieces: list[str] = []
        try:
            answer = await meter.ask(request, pieces)
        except (RemoteFault, LocalMistake) as fault:
            station.asked.pop(job)
            station.feed(Failed(job, str(fault)))
            continue
        for piece in pieces:
            station.feed(Chunk(job, piece))
        station.feed(Answered(job, answer))
