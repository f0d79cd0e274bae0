"""Following a goal: never too often, never stuck, through a restart of the daemon, to its end."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import trio
import trio.testing

from swarmd.cli.follow import FETCH_S_MIN, NEWS_MAX, STORY_MAX, Sight, follow
from swarmd.cli.screen import Lines
from swarmd.control.client import Client
from swarmd.plan.views import Change, GoalView
from swarmd.replica.status import PeerView
from swarmd.vocab.faults import Unreachable
from tests.unit.invented import GOAL_ID, mid_run, peers


class FakeClient(Client):
    """A daemon's answers on a virtual clock. *away*: from when to when nobody answers."""

    def __init__(self, ends_s: float, *, status: str = "done", away: tuple[float, float] = (0.0, 0.0)) -> None:
        super().__init__(Path("nowhere"))
        self._start = trio.current_time()
        self._ends_s = ends_s
        self._status = status
        self._away = away
        self.fetched: list[float] = []
        self.subscribed = 0
        self._send: trio.MemorySendChannel[Change] | None = None

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return trio.current_time() - self._start

    def _reach(self) -> None:
        if self._away[0] <= self.now < self._away[1]:
            raise Unreachable("no daemon answers\nStart one.")

    async def goal(self, goal: str = "latest") -> GoalView:
        """The goal, which ends in time."""
        await trio.lowlevel.checkpoint()
        self._reach()
        self.fetched.append(self.now)
        status = self._status if self.now >= self._ends_s else "open"
        return msgspec.structs.replace(mid_run(), status=status, done=min(9, int(self.now)))

    async def peers(self) -> tuple[PeerView, ...]:
        """The usual company."""
        self._reach()
        return peers()

    @asynccontextmanager
    async def changes(self, goal: str = "") -> AsyncIterator[AsyncIterator[Change]]:
        """What the test tells, until the daemon goes away."""
        assert goal == GOAL_ID
        self._reach()
        self.subscribed += 1
        self._send, receive = trio.open_memory_channel[Change](10_000)
        try:
            yield receive
        finally:
            receive.close()

    def tell(self, *changes: Change) -> None:
        """Tell whoever listens."""
        assert self._send is not None
        for change in changes:
            self._send.send_nowait(change)

    def hang_up(self) -> None:
        """End the stream, as a daemon that stops does."""
        assert self._send is not None
        self._send.close()


def followed(
    make: Callable[[], FakeClient], *script: tuple[float, Callable[[FakeClient], None]], patience_s: float = 30.0
) -> tuple[FakeClient, list[Sight], GoalView]:
    """Follow on a virtual clock while *script* happens: pairs of a time and what the daemon does then."""
    seen: list[Sight] = []

    async def run() -> tuple[FakeClient, GoalView]:
        client = make()
        goal: GoalView | Unreachable

        async def act() -> None:
            for when, deed in script:
                await trio.sleep(when - client.now)
                deed(client)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(act)
            try:
                goal = await follow(client, "latest", seen.append, patience_s=patience_s)
            except Unreachable as error:
                goal = error
            nursery.cancel_scope.cancel()
        if isinstance(goal, Unreachable):
            raise goal
        return client, goal

    client, goal = trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))
    return client, seen, goal


def vote(number: int) -> Change:
    return Change(kind="vote", text=f"vote {number}", goal=GOAL_ID)


def test_it_ends_with_the_goal_and_its_last_word() -> None:
    def end(client: FakeClient) -> None:
        client.tell(Change(kind="ended", text="the goal is done", goal=GOAL_ID))

    _, seen, goal = followed(lambda: FakeClient(5.0), (5.1, end))
    assert goal.status == "done"
    assert seen[-1].news[-1].kind == "ended"
    assert [sight.goal.status for sight in seen].count("done") == 1


def test_an_ended_goal_is_seen_once_and_at_once() -> None:
    client, seen, goal = followed(lambda: FakeClient(0.0, status="failed"))
    assert (goal.status, len(seen), client.subscribed) == ("failed", 1, 0)


def test_a_busy_goal_is_fetched_at_most_four_times_a_second_and_a_quiet_one_once() -> None:
    script = [(number / 100, lambda client: client.tell(vote(0))) for number in range(10, 500)]
    client, seen, _ = followed(lambda: FakeClient(10.0), *script)
    busy = [moment for moment in client.fetched if 0.5 <= moment < 4.5]
    quiet = [moment for moment in client.fetched if 5.5 <= moment < 9.5]
    assert len(busy) <= 4.0 / FETCH_S_MIN + 1
    assert 3 <= len(quiet) <= 5
    assert len(seen) <= len(client.fetched)


def test_a_flood_of_changes_is_bounded_and_chunks_are_no_story() -> None:
    def flood(client: FakeClient) -> None:
        client.tell(*map(vote, range(NEWS_MAX + 500)), Change(kind="live", text="chunk", chunk="x"))

    _, seen, _ = followed(lambda: FakeClient(3.0), (1.5, flood))
    told = [len(sight.news) for sight in seen]
    assert max(told) == NEWS_MAX
    assert [change.kind for sight in seen for change in sight.news].count("live") == 1
    assert len(seen[-1].story) == STORY_MAX
    assert seen[-1].story[-1].text == f"vote {NEWS_MAX + 499}"


def test_a_restart_of_the_daemon_is_waited_for() -> None:
    client, seen, goal = followed(
        lambda: FakeClient(20.0, away=(5.0, 12.0)),
        (5.0, FakeClient.hang_up),
        (15.0, lambda client: client.tell(vote(1))),
    )
    assert goal.status == "done"
    assert client.subscribed == 2
    assert any(not sight.connected for sight in seen)
    assert seen[-1].connected
    assert seen[-1].story == (vote(1),)


def test_a_daemon_that_stays_away_is_reported_in_the_end() -> None:
    with pytest.raises(Unreachable, match="no daemon answers"):
        followed(lambda: FakeClient(99.0, away=(2.0, 99.0)), patience_s=10.0)


def test_without_a_daemon_at_first_it_says_so_at_once() -> None:
    with pytest.raises(Unreachable):
        followed(lambda: FakeClient(9.0, away=(0.0, 9.0)))


def test_what_the_viewer_raises_comes_out_bare() -> None:
    def broken(sight: Sight) -> None:
        raise BrokenPipeError

    async def run() -> None:
        await follow(FakeClient(9.0), "latest", broken)

    with pytest.raises(BrokenPipeError):
        trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))


def test_plain_lines_tell_the_story_and_a_progress_that_only_grows() -> None:
    said: list[str] = []
    lines = Lines(said.append)
    goal = mid_run()
    for done, status in ((1, "open"), (0, "open"), (1, "open"), (3, "open"), (3, "done")):
        view = msgspec.structs.replace(goal, done=done, status=status)
        news = (vote(done), Change(kind="live", text="chunk", chunk="x"))
        lines(Sight(goal=view, peers=(), story=(), news=news, connected=True))
    progress = [line.split(" ", 1)[1] for line in said if "tasks done" in line]
    assert progress == ["1 of 10 tasks done", "3 of 10 tasks done"]
    assert said.count("vote 1") == 2
    assert said[-1].endswith("the goal is done")
    assert not any("chunk" in line for line in said)


def test_plain_lines_tell_that_the_daemon_went_and_came_back() -> None:
    said: list[str] = []
    lines = Lines(said.append, story=False)
    for connected in (True, False, False, True):
        lines(Sight(goal=msgspec.structs.replace(mid_run(), done=0), peers=(), story=(), news=(), connected=connected))
    assert [line.split(" ", 1)[1] for line in said] == ["the daemon is away, waiting for it", "the daemon is back"]
