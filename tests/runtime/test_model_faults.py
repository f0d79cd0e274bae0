"""Whole daemons in one process, whose models are asked over real HTTP and go wrong in every known way."""

import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trio

from swarmd.daemon.clock import SystemClock
from swarmd.daemon.loop import Loop
from swarmd.events.envelope import Identity, Swarm
from swarmd.events.kinds import Limits
from swarmd.hardware import Machine as Hardware
from swarmd.hardware import Suited, suit
from swarmd.llm.asking import Deadlines
from swarmd.llm.ollama import OllamaLlm
from swarmd.ports import Llm
from swarmd.replica.inputs import ListPeers, SetGoal, ShowGoal, ShowStatus
from swarmd.replica.machine import Machine
from swarmd.replica.status import PeerView, StatusView
from swarmd.roles.scene import Timing
from swarmd.roles.work import Backend
from tests.runtime.memory_lan import MemoryLan, MemoryNet
from tests.runtime.test_loop import MemoryStore
from tests.unit.llm.fake_ollama import FakeOllama, obliging
from tests.unit.llm.fake_server import AMID, BEFORE, Json, Reply

SWARM = Swarm.of_key(b"k" * 32)
MODELS = {"qwen3:4b": "4.0B"}
ROLES = ("decomposer", "scorer", "executor")
BRISK = Timing(deliberation_ms=3_000, ballot_ms=1_000, settle_ms=60, presence_ms=400, sync_ms=200)
QUICK = Deadlines(first_token=1.5, next_token=0.5, backoff=0.02)
PC = Hardware(architecture="x86_64", memory_bytes=16 << 30, allowed_bytes=16 << 30, cores=8, vector=True, name="PC")
GOALS = ("Plan a two-week trip to Japan", "do nothing", "🗾🍣🎌", "Полагодити паркан біля хати")


class Mischief:
    """How the server replies: each fault once, at a request that a seed chooses, and else as it should."""

    def __init__(self, seed: int) -> None:
        self.happened: Counter[str] = Counter()
        self._rng = random.Random(seed)
        self._left: list[tuple[str, str]] = [("any", fault) for fault in (*BEFORE, *AMID)]
        self._left += [("any", "busy")] * 5
        self._left += [(kind, "empty") for kind in ("split", "marks", "text")]
        self._left += [("split", "prose"), ("marks", "prose"), ("split", "unclosed thought"), ("split", "twenty-five")]
        self._left += [("split", "echo"), ("marks", "out of range"), ("marks", "no number")]
        self._left += [("any", "slow first token")]
        self._rng.shuffle(self._left)

    def __call__(self, request: Json) -> str | Reply:
        fields = request["format"]["properties"] if request.get("format") else {}
        kind = "split" if "subgoals" in fields else "marks" if fields else "text"
        good = obliging(request)
        if self._rng.random() < 0.4:
            return good
        for number, (wanted, fault) in enumerate(self._left):
            if wanted in ("any", kind):
                del self._left[number]
                self.happened[fault] += 1
                return self._wrong(fault, good)
        return good

    @property
    def is_over(self) -> bool:
        return not self._left

    def _wrong(self, fault: str, good: str) -> str | Reply:
        match fault:
            case "empty":
                return ""
            case "prose":
                return f"Of course! Here it is:\n```json\n{good}\n```\n[Adjust as needed]"
            case "unclosed thought":
                return f"<think>Perhaps {good}"
            case "twenty-five":
                return json.dumps({"subgoals": [{"title": f"Carry box number {n} away"} for n in range(25)]})
            case "echo":
                return json.dumps({"subgoals": [{"title": GOALS[0]}] * 3})
            case "out of range":
                return '{"critique": "", "specific": 98989, "disjoint": -1, "covering": 0.6}'
            case "no number":
                return '{"critique": "", "specific": "8/10", "disjoint": NaN, "covering": 7}'
            case "slow first token":
                return Reply(good, load_s=1.0)
            case _:
                return Reply(good, fault)  # type: ignore[arg-type]


class Home:
    """Three daemons, all with one Ollama."""

    def __init__(self, fake: FakeOllama, models: list[str | None], deadlines: Deadlines = QUICK) -> None:
        self.fake = fake
        lan = MemoryLan()
        self.loops = [self._daemon(lan, number, model, deadlines) for number, model in enumerate(models)]

    def _daemon(self, lan: MemoryLan, number: int, model: str | None, deadlines: Deadlines) -> Loop:
        me = Identity(bytes([number + 1]) * 32)
        rng = random.Random(number)
        machine = Machine(me, SWARM, name=f"peer{number}", roles=ROLES, timing=BRISK, rng=rng, version="test")

        async def choose() -> Llm:
            return OllamaLlm(self.fake.host, model, slots=2, deadlines=deadlines)

        def suited(backend: Backend) -> Suited:
            return suit(PC, backend, slots=2)

        net = MemoryNet(lan, me.peer)
        return Loop(machine, store=MemoryStore(), net=net, choose=choose, suit=suited, clock=SystemClock())

    @asynccontextmanager
    async def alive(self) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            for loop in self.loops:
                await nursery.start(lambda task_status, loop=loop: loop.run(task_status=task_status))
            yield
            for loop in self.loops:
                loop.stop()

    async def status(self, number: int = 0) -> StatusView:
        found = await self.loops[number].command(ShowStatus())
        assert isinstance(found, StatusView)
        return found

    async def until(self, true: Callable[[StatusView], bool], number: int = 0) -> StatusView:
        """Wait until the status of one of them is as it should be."""
        while not true(status := await self.status(number)):
            await trio.sleep(0.05)
        return status

    async def ends(self, goal: str) -> set[tuple[str, str]]:
        """How a goal ended, and what its plan is, by everybody's word."""
        while True:
            views = [await loop.command(ShowGoal(goal=goal)) for loop in self.loops]
            found = {(view.status, view.digest) for view in views}  # type: ignore[union-attr]
            if len(found) == 1 and not any(status == "open" for status, _ in found):
                return found
            await trio.sleep(0.1)


def at_home(home: Home, journey: Callable[[Home], Awaitable[None]], within_s: float) -> None:
    async def main() -> None:
        with trio.fail_after(within_s):
            async with home.alive():
                await journey(home)

    trio.run(main)


@pytest.mark.parametrize("seed", [1, 2])
def test_every_goal_ends_whatever_the_models_do(seed: int) -> None:
    mischief = Mischief(seed)
    fake = FakeOllama(MODELS, mischief)
    home = Home(fake, [None, None, None])

    async def journey(home: Home) -> None:
        async with fake.open():
            for number in range(3):
                await home.until(lambda status: status.model != "" and status.peers_alive == 2, number)
            waiting = list(GOALS)
            while waiting or not mischief.is_over:
                text = waiting.pop() if waiting else f"Another goal, since faults are left, after {len(fake.asked)}"
                goal = await home.loops[len(waiting) % 3].command(SetGoal(text=text, limits=Limits(depth=1)))
                ((status, _),) = await home.ends(str(goal))
                assert status in ("done", "failed")

    at_home(home, journey, 110)
    misfits = {"empty", "prose", "echo", "twenty-five", "unclosed thought", "out of range", "no number"}
    assert mischief.happened.keys() == {*BEFORE, *AMID, *misfits, "slow first token"}
    assert mischief.happened["busy"] >= 5
    assert fake.forgot == 0


def test_a_role_goes_with_its_server_and_comes_back_with_it_and_the_goal_ends() -> None:
    fake = FakeOllama(MODELS, obliging)
    home = Home(fake, [None])

    async def journey(home: Home) -> None:
        async with fake.open():
            status = await home.until(lambda status: status.tokens_per_s > 0)
            assert status.roles == ROLES
            assert status.tokens_per_s == 8
            assert "8.0 tokens a second" in status.reasons[1]
            fake.script = lambda request: Reply(obliging(request), load_s=30)
            goal = str(await home.loops[0].command(SetGoal(text="Tidy the shed", limits=Limits(depth=1))))
            await home.until(lambda status: status.running > 0)
        away = await home.until(lambda status: status.roles == ("scorer",))
        assert "no Ollama answers" in away.no_model
        assert (away.model, away.slots, away.tokens_per_s, away.reasons) == ("", 0, 0, ())
        fake.script = obliging
        async with fake.open():
            assert (await home.until(lambda status: status.model != "")).roles == ROLES
            ((status_of_goal, _),) = await home.ends(goal)
            assert status_of_goal == "done"

    at_home(home, journey, 40)


def test_a_model_that_is_removed_withdraws_the_role_at_once_and_shows_the_command() -> None:
    fake = FakeOllama(MODELS, obliging)
    home = Home(fake, ["qwen3:4b"])

    async def journey(home: Home) -> None:
        async with fake.open():
            await home.until(lambda status: status.tokens_per_s > 0)
            fake.models = {}
            goal = str(await home.loops[0].command(SetGoal(text="Tidy the shed", limits=Limits(depth=1))))
            with trio.fail_after(10):  # not at the next probe, which may be half a minute away
                away = await home.until(lambda status: status.no_model != "")
            assert "ollama pull qwen3:4b" in away.no_model
            assert away.roles == ("scorer",)
            fake.models = dict(MODELS)
            ((status, _),) = await home.ends(goal)
            assert status == "done"

    at_home(home, journey, 60)


def test_the_self_test_delays_nothing_and_is_not_run_again() -> None:
    def loading(request: Json) -> str | Reply:
        is_test = request["options"]["num_predict"] == 64
        return Reply("one, two", load_s=2) if is_test else obliging(request)

    fake = FakeOllama(MODELS, loading)
    home = Home(fake, [None], Deadlines(first_token=10, next_token=1))

    async def journey(home: Home) -> None:
        async with fake.open():
            ready = await home.until(lambda status: status.model != "")
            assert ready.roles == ROLES
            assert ready.tokens_per_s == 0
            await home.until(lambda status: status.tokens_per_s > 0)
            for _ in range(3):
                home.loops[0]._model.doubt()  # type: ignore[union-attr]
                await trio.sleep(1.2)  # a doubt is looked into after a second
            assert sum(asked["options"]["num_predict"] == 64 for asked in fake.asked) == 1

    at_home(home, journey, 30)


def test_peers_are_told_which_model_was_chosen_and_why() -> None:
    fake = FakeOllama(MODELS, obliging)
    home = Home(fake, [None, "qwen3:4b"])

    async def journey(home: Home) -> None:
        async with fake.open():
            with trio.fail_after(20):
                while True:
                    peers = await home.loops[0].command(ListPeers())
                    assert isinstance(peers, tuple)
                    peer = peers[0] if peers else None
                    if isinstance(peer, PeerView) and peer.tokens_per_s:
                        break
                    await trio.sleep(0.05)
            assert (peer.model, peer.tier, peer.tokens_per_s, peer.slots) == ("qwen3:4b", "small", 8, 2)
            assert peer.why == "as the configuration says"

    at_home(home, journey, 30)
