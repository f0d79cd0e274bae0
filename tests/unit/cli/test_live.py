"""The live view fits the terminal exactly, and what it leaves out is what matters least."""

import io
import random
from collections.abc import Sequence

import pytest
from rich.cells import cell_len

from swarmd.cli.live import live_view
from swarmd.cli.words import ASCII, UNICODE, Signs, console
from swarmd.plan.views import Change, ClaimView, GoalView, TaskView
from swarmd.replica.status import PeerView
from tests.unit.invented import KITCHEN, START_MS, goal_view, mid_run, peer, peers, task


def lines(
    goal: GoalView | None,
    width: int = 80,
    height: int = 24,
    company: Sequence[PeerView] = (),
    story: Sequence[Change] = (),
    signs: Signs = UNICODE,
) -> list[str]:
    """The lines of a picture."""
    output = io.StringIO()
    console(output, signs, width=width).print(live_view(goal, company, story, width, height, 192.0, signs))
    return output.getvalue().rstrip("\n").split("\n")


def story(count: int) -> list[Change]:
    return [Change(kind="claim", text=f"thing {number} [red] happened", wall_ms=START_MS) for number in range(count)]


def large(tasks: int, seed: int) -> GoalView:
    """A goal with many tasks in every state."""
    rng = random.Random(seed)
    held = ClaimView(id="c" * 64, executor=KITCHEN, attempt=1, since_ms=START_MS)
    states = ("done", "waiting", "ready", "claimed", "deliberating", "failed", "cancelled", "draft", "open")

    def grow(count: int, depth: int) -> TaskView:
        if count <= 1 or depth == 4:
            status = rng.choice(states)
            running = {"claim": held, "stream": "word " * 300} if status == "claimed" else {}
            return task(f"Task {rng.random():.6f} " + "long " * rng.randrange(30), status, depth, **running)
        parts = rng.randint(2, 6)
        children = tuple(grow((count - 1) // parts, depth + 1) for _ in range(parts))
        over = all(child.status in ("done", "cancelled") for child in children)
        return task("Inner", "done" if over else "split", depth, children=children)

    return goal_view(grow(tasks, 0))


@pytest.mark.parametrize("height", [1, 2, 3, 8, 24, 60])
@pytest.mark.parametrize("width", [12, 80])
@pytest.mark.parametrize("signs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_the_picture_fits_every_terminal(width: int, height: int, signs: Signs) -> None:
    many = [peer(f"peer-{number}") for number in range(20)]
    for goal in (None, mid_run(), *(large(tasks, seed) for tasks, seed in ((5, 1), (60, 2), (400, 3)))):
        for told, company in (([], ()), (story(1), peers()), (story(50), many)):
            picture = lines(goal, width, height, company, told, signs)
            assert len(picture) <= height
            assert max(map(cell_len, picture)) <= width


def test_a_full_terminal_is_used_to_the_last_line() -> None:
    assert len(lines(large(400, 3), 80, 24, peers(), story(50))) == 24


def test_running_work_is_on_top_and_finished_work_is_folded_below() -> None:
    picture = lines(mid_run())
    assert picture[1].startswith("◆ Two weeks in Japan for four")
    assert picture[2].startswith("├── ◆ Kyoto")
    assert "▶ Choose temples and gardens  claimed by mini-pc, attempt 2" in picture[3]
    assert "whose moss garden opens at nine, and" in picture[4]
    assert "✓ Flights and rail passes  done by mini-pc, 3 tasks" in picture[-1]
    assert not any("Compare flights" in line for line in picture)


def test_when_little_fits_the_running_task_stays_and_the_rest_is_counted() -> None:
    picture = lines(mid_run(), height=6)
    assert any("▶ Choose temples" in line for line in picture)
    assert picture[-1].endswith("and 7 more tasks")


def test_several_finished_siblings_share_one_line() -> None:
    parts = tuple(task(f"Part {number}", "done") for number in range(5))
    picture = lines(goal_view(task("A goal", "split", 0, children=(*parts, task("Last", "ready")))))
    assert "✓ 5 done  Part 0, Part 1, Part 2, Part 3, Part 4" in picture[-1]


def test_every_task_of_a_pruned_tree_is_shown_or_counted() -> None:
    goal = goal_view(task("A goal", "split", 0, children=tuple(task(f"T{n}", "waiting") for n in range(30))))
    picture = lines(goal, height=10)
    assert picture[-1].endswith("and 23 more tasks")
    assert sum(" T" in line for line in picture) == 7


def test_peers_and_story_are_below_with_the_latest_last() -> None:
    picture = lines(mid_run(), company=peers(), story=story(30))
    assert any("● kitchen-pi SmolLM2-135M (tiny) 1/1   ● mini-pc qwen3:4b 1/2" in line for line in picture)
    assert any("○ nas silent 40 s" in line for line in picture)
    assert picture[-1].endswith("thing 29 [red] happened")


def test_live_chunks_are_no_story() -> None:
    told = [Change(kind="live", text="chunk", chunk="x"), Change(kind="vote", text="nas voted")]
    picture = lines(mid_run(), story=told)
    assert picture[-1] == "nas voted"
    assert not any("chunk" in line for line in picture)


def test_before_there_is_a_goal_it_waits_for_one() -> None:
    assert lines(None)[0] == "waiting for a goal"
