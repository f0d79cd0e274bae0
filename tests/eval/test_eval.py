"""The measure itself: what it counts, and that every goal goes through the whole pipeline."""

import pytest
import trio

from swarmd.llm.scripted import ScriptedLlm
from swarmd.plan.views import GoalView
from tests.eval import measure
from tests.eval.goals import GOALS, Wish
from tests.eval.pipeline import Meter, plan
from tests.eval.single import Single, one_shot

JAPAN = GOALS[0]


def planned(wish: Wish, seed: int = 1) -> tuple[GoalView, Meter]:
    async def run() -> tuple[GoalView, Meter]:
        llm = ScriptedLlm()
        meter = Meter(llm)
        return await plan(wish, await llm.probe(), meter, seed, depth=2), meter

    return trio.run(run)


def row_of(single: Single, wish: Wish = JAPAN) -> measure.Row:
    async def run() -> measure.Row:
        return await measure.of_single(wish, single, None)

    return trio.run(run)


def test_there_are_twenty_four_goals_of_all_kinds_in_six_languages() -> None:
    assert len({wish.name for wish in GOALS}) == len({wish.text for wish in GOALS}) == 24
    assert {wish.language for wish in GOALS} == {"en", "uk", "vi", "ja", "ar", "de"}
    assert {wish.language for wish in GOALS[:13]} == {"en", "uk", "vi", "ja", "ar", "de"}, "a short run sees them all"


def test_a_goal_goes_through_the_whole_pipeline_and_equal_seeds_give_equal_plans() -> None:
    view, meter = planned(JAPAN)
    assert view.status == "done"
    assert len(view.root.proposals) == 3
    assert set(meter.spent) == {"propose", "judge", "execute", "compose"}
    again, _ = planned(JAPAN)
    assert again.digest == view.digest
    assert [task.title for task in again.root.children] == [task.title for task in view.root.children]


def test_every_accepted_split_is_measured_at_its_place() -> None:
    view, _ = planned(JAPAN)
    splits = measure.splits_of(view)
    inner = [child for child in view.root.children if child.children]
    assert len(splits) == 1 + len(inner)
    assert splits[0][0].is_root
    assert {place.title for place, _ in splits[1:]} == {child.title for child in inner}


def test_the_scripted_model_passes_its_own_measure() -> None:
    async def run() -> measure.Row:
        llm = ScriptedLlm()
        return await measure.of_single(JAPAN, await one_shot(JAPAN, llm, 1), None)

    single = trio.run(run)
    assert (single.parsed, single.valid, single.distinct, single.executable) == (1, 1, 1, 1)
    assert single.on_topic is None, "no model to measure it by"


@pytest.mark.parametrize(
    ("parts", "column", "share"),
    [
        ((), "parsed", 0.0),
        (("Book flights to Tokyo", "Reserve hotels in Kyoto"), "valid", 0.0),
        (("Book flights to Tokyo", "Booking flights, Tokyo", "Pack warm clothes"), "valid", 0.0),
        (("Book flights to Tokyo", "Booking flights, Tokyo", "Pack warm clothes"), "distinct", 1 / 3),
        (("First, find a shop and sign the lease", "Pack warm clothes"), "original", 1 / 2),
        (("Flüge nach Tokio buchen und für die Familie packen", "Pack warm clothes"), "in_language", 1 / 2),
        (("京都へ旅行する", "Pack warm clothes"), "in_language", 1 / 2),
    ],
)
def test_what_is_wrong_with_a_plan_is_counted(parts: tuple[str, ...], column: str, share: float) -> None:
    assert getattr(row_of(Single(parts, (), 1.0)), column) == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("Measure the room first, then choose tiles that fit its size and your budget.", True),
        ("Measure the room first, then choose tiles that fit its size and your", False),
        ("Measure the room. " * 6, False),
        ("Done.", False),
        ("", False),
    ],
)
def test_a_text_is_whole_if_it_is_long_enough_ends_and_does_not_loop(text: str, is_whole: bool) -> None:
    assert row_of(Single((), (text,), 1.0)).executable == float(is_whole)


def test_the_mean_leaves_out_what_could_not_be_counted() -> None:
    some, none = row_of(Single(("Book flights to Tokyo",), (), 2.0)), row_of(Single((), (), 4.0))
    assert measure.overall([some, none]).distinct == some.distinct
    assert measure.overall([some, none]).seconds == 3.0
