"""Follow a goal to its end: changes as they are told, the goal itself fetched again after them, never too often.

The story is for the eye and may have gaps; the fetched goal is the truth. A daemon that restarts is waited for.
"""

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import trio
from msgspec import Struct

from swarmd.control.client import Client
from swarmd.plan.views import Change, GoalView
from swarmd.replica.status import PeerView
from swarmd.vocab.faults import LocalMistake, RemoteFault, Unreachable

STORY_MAX = 200  # more lines than any terminal shows
NEWS_MAX = 2_000  # changes between two fetches; what is beyond is old by then
FETCH_S_MIN = 0.25  # an eye sees no more than four pictures a second of a tree
FETCH_S_MAX = 1.0  # clocks on the screen go on, and a lost change is not missed for longer
RECONNECT_S = 1.0
LAST_WORD_S = 0.5  # the goal may be seen to have ended just before its end is told
PATIENCE_S = 30.0  # a restart of the daemon takes seconds, of the machine a minute; then say so


class Sight(Struct, frozen=True, kw_only=True):
    """What is seen at one moment. *news*: changes since the last sight, "live" chunks included; *story*: the latest
    changes without them; *connected*: whether the daemon answers now."""

    goal: GoalView
    peers: tuple[PeerView, ...]
    story: tuple[Change, ...]
    news: tuple[Change, ...]
    connected: bool


OnUpdate: TypeAlias = Callable[[Sight], None]


async def follow(client: Client, goal: str, on_update: OnUpdate, *, patience_s: float = PATIENCE_S) -> GoalView:
    """Call *on_update* with each new sight of *goal* (an id, its beginning, or "latest") until it ends; the ended goal.

    At most four sights a second, at least one. Raises Unreachable if no daemon answers at first or for *patience_s*
    later on, UnknownId if there is no such goal, and whatever *on_update* raises; never an exception group of them.
    """
    view = await client.goal(goal)
    peers = await client.peers()
    if view.status != "open":
        on_update(Sight(goal=view, peers=peers, story=(), news=(), connected=True))
        return view
    ears = _Ears()
    outcome: GoalView | Exception
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ears.listen, client, view.id)
        try:
            outcome = await _until_ended(client, view, peers, ears, on_update, patience_s)
        except Exception as error:
            outcome = error
        nursery.cancel_scope.cancel()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


async def _until_ended(
    client: Client,
    view: GoalView,
    peers: tuple[PeerView, ...],
    ears: "_Ears",
    on_update: OnUpdate,
    patience_s: float,
) -> GoalView:
    story: deque[Change] = deque(maxlen=STORY_MAX)
    reached = trio.current_time()
    while True:
        connected = True
        try:
            view = await client.goal(view.id)
            peers = await client.peers()
            reached = trio.current_time()
        except Unreachable:
            connected = False
            if trio.current_time() - reached > patience_s:
                raise
        if view.status != "open":
            await ears.wait_for_the_end()
        news = ears.take()
        story.extend(change for change in news if change.kind != "live")
        on_update(Sight(goal=view, peers=peers, story=tuple(story), news=news, connected=connected))
        if view.status != "open":
            return view
        await trio.sleep(FETCH_S_MIN)
        await ears.wait(FETCH_S_MAX - FETCH_S_MIN)


class _Ears:
    """Hears changes in the background, reconnecting as often as it takes."""

    def __init__(self) -> None:
        self._heard: deque[Change] = deque(maxlen=NEWS_MAX)
        self._bell = trio.Event()

    async def listen(self, client: Client, goal: str) -> None:
        """Hear what is told about *goal*, until cancelled."""
        while True:
            try:
                async with client.changes(goal) as changes:
                    async for change in changes:
                        self._heard.append(change)
                        self._bell.set()
            except (LocalMistake, RemoteFault):
                pass  # the fetches tell how long the daemon has been away
            await trio.sleep(RECONNECT_S)

    def take(self) -> tuple[Change, ...]:
        """What was heard since the last time."""
        news = tuple(self._heard)
        self._heard.clear()
        self._bell = trio.Event()
        return news

    async def wait(self, seconds: float) -> None:
        """Return when something was heard, after *seconds* at the latest."""
        with trio.move_on_after(seconds):
            await self._bell.wait()

    async def wait_for_the_end(self) -> None:
        """Return when the goal's end was told, soon at the latest."""
        with trio.move_on_after(LAST_WORD_S):
            while not any(change.kind in ("ended", "cancel") for change in self._heard):
                self._bell = trio.Event()
                await self._bell.wait()
