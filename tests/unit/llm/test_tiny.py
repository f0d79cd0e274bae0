import pytest

from swarmd.events.kinds import Subgoal
from swarmd.llm import examples, tiny
from swarmd.llm.domains import DOMAINS, INNER_GOALS
from swarmd.llm.examples import EXAMPLE_GOALS, PATTERNS
from swarmd.llm.extract import composed
from swarmd.roles.checks import check_split
from swarmd.roles.strategies import STRATEGIES
from swarmd.roles.work import Compose, Part, Place
from swarmd.vocab import limits

GOAL = "Renovate a small bathroom"
PLACE = Place(goal=GOAL, title=GOAL)
ODD = Place(goal="Become a beekeeper", title="Become a beekeeper")


def test_every_strategy_has_a_pattern_of_its_own_shape() -> None:
    assert set(PATTERNS) == set(STRATEGIES)
    for pattern in PATTERNS.values():
        assert len(pattern.openers) == len(set(pattern.openers)) >= tiny.PARTS
        assert all(len(endings) == len(pattern.openers) for endings in pattern.endings)
        assert len(pattern.endings) == len(EXAMPLE_GOALS)
    assert examples.shown("by moonlight", ODD) == examples.shown("by activity", ODD)


@pytest.mark.parametrize("lists", [kind.lists for kind in DOMAINS], ids=[kind.goal for kind in DOMAINS])
def test_an_example_of_every_kind_is_a_split_as_we_want_it(lists: dict[str, tuple[str, ...]]) -> None:
    assert set(lists) == set(STRATEGIES[:3]), "the strategies that are tried first"
    for lines in lists.values():
        assert len(lines) == tiny.PARTS
        assert all(line.count("| ") == 1 for line in lines)
        assert check_split(ODD, [Subgoal(title=line.replace("|", "")) for line in lines]).flagged == ()


@pytest.mark.parametrize(
    ("goal", "alike"),
    [
        ("Plan a two-week trip to Japan", "Go walking in Scotland for ten days"),
        ("Repaint the old shed", "Turn the attic into a study"),
        ("Write a specification for a till", "Write the requirements for a car-sharing website"),
        ("Learn to play the guitar", "Learn to swim as an adult"),
        ("Sell our boat", "Sell grandmother's piano"),
    ],
)
def test_a_goal_is_shown_an_example_of_its_own_kind(goal: str, alike: str) -> None:
    shown = examples.shown("by time", Place(goal=goal, title=goal))
    assert [said for said, _ in shown.examples][-1] == alike
    assert all(part.startswith(opener) for opener, part in zip(shown.openers, shown.examples[-1][1], strict=True))


def test_a_goal_of_no_known_kind_is_shown_the_general_examples_and_a_small_task_small_ones() -> None:
    assert tuple(said for said, _ in examples.shown("by time", ODD).examples) == EXAMPLE_GOALS
    below = examples.shown("by activity", Place(goal=GOAL, title="Choose the tiles"))
    assert tuple(said for said, _ in below.examples) == INNER_GOALS


@pytest.mark.parametrize(
    ("goal", "can_read"),
    [
        ("Get fit", True),
        ("Learn Spanish", True),
        ("Renovate a small bathroom", True),
        ("Einen Umzug vorbereiten und die Wohnung streichen", False),
        ("Підготувати квартиру до зими", False),
        ("京都へ旅行する", False),
        ("Tổ chức đám cưới", False),
        ("تجهيز الأطفال للمدرسة", False),
        ("🎉🎂", False),
        ("Do nothing.", False),
    ],
)
def test_the_model_is_only_asked_for_what_it_can_read(goal: str, can_read: bool) -> None:
    assert tiny.can_read(goal) is can_read


def test_prompts_of_one_split_share_their_long_beginning() -> None:
    shown = examples.shown("by time", PLACE)
    one = tiny.list_prompt(shown, GOAL, [], "First,")
    two = tiny.list_prompt(shown, GOAL, ["First, measure the room"], "Then,")
    assert two.startswith(one.removesuffix("1. First,"))
    assert two.endswith("1. First, measure the room\n2. Then,")


@pytest.mark.parametrize(
    ("title", "is_usable"),
    [
        ("First, remove the old tiles from the wall", True),
        ("First, tiles", False),
        ("First, build shelves and sort the novels", False),  # an example's part
        ("First, renovate a small bathroom", False),
        ("First, plan the bathroom", False),  # says no more than the goal
        ("First, buy 37 towels and a lamp", False),  # a number that nobody gave
        ("First, I like the blue towels best", False),
        ("First, buy towels [brand] and lamps", False),
        ("First, hire the hire the hire the hire", False),
        ("First, hang a mirror above the basin", False),  # already there
        ("First, " + "walk and " * 10, False),
        ("First, buy white tiles and lay the tiles", False),  # goes in circles
        ("First, paint the door again", False),
        ("First, put in insulation, cables and roof windows", False),  # an example's part
    ],
)
def test_a_candidate_is_usable_if_it_is_sound_new_and_nobodys_copy(title: str, is_usable: bool) -> None:
    known = ["Hang a mirror above the basin"]
    assert tiny.is_usable(title, "First,", PLACE, known) is is_usable


@pytest.mark.parametrize(
    ("title", "core"),
    [
        ("At home: write a budget", "write a budget"),
        ("First, measure the room", "measure the room"),
        ("Choose the tiles", "the tiles"),
        ("Remove tiles, mortar and dust from the wall", "mortar and dust from the wall"),
        ("Say it", "Say it"),
    ],
)
def test_the_core_of_a_title_leaves_out_its_opening(title: str, core: str) -> None:
    assert tiny.core(title) == core


def test_the_deed_keeps_its_verb() -> None:
    assert tiny.act("Choose the tiles") == "Choose the tiles"
    assert tiny.act("At home: choose the tiles") == "choose the tiles"
    assert tiny.task_beginning(Place(goal=GOAL, title="Measure the walls")) == "To measure the walls,"
    assert tiny.subject(Place(goal=GOAL, title="First, measure the walls")) == f"{GOAL}: measure the walls"


def test_relevance_is_what_the_goal_adds() -> None:
    assert tiny.relevance([-1.0, -3.0, -4.0, -2.0]) == [3.0, -1.0]
    assert tiny.relevance_mark(1.5) > 0.8 > 0.5 > tiny.relevance_mark(0.0) > tiny.relevance_mark(-0.6)
    assert 0 < tiny.relevance_mark(-30) < tiny.relevance_mark(30) <= 1
    prompts = [prompt for prompt, _ in tiny.relevance_pairs(GOAL, ["a", "b"])]
    assert prompts[0] == prompts[1] != prompts[2] == prompts[3]


def test_a_long_goal_and_a_deep_task_stay_short_in_prompts() -> None:
    place = Place(goal="long " * 1_000, path=("x",), title="First, measure the room.")
    assert len(tiny.subject(place).encode()) <= 2 * tiny.GOAL_BYTES_MAX
    assert tiny.subject(place).endswith(": measure the room")
    assert tiny.task_prompt(place, (Part(title="a", text="b " * 9_000),)).endswith("To measure the room,")
    assert len(tiny.task_prompt(place, ())) < 1_500


def test_a_text_ends_with_its_last_whole_sentence() -> None:
    assert (
        tiny.finished(" To do it, measure 3.5 m. Then buy\ntiles! And the")
        == "To do it, measure 3.5 m. Then buy tiles!"
    )
    assert tiny.finished("Do it well. Then here is a guide: 1. Start") == "Do it well."
    assert tiny.finished("To do it, here is a guide: 1. Start") == "", "nothing but an announcement"
    assert tiny.is_degenerate("Too short.")
    assert tiny.is_degenerate("Go to the shop. " * 6)


def test_a_composed_text_takes_the_first_sentences_of_each_part() -> None:
    parts = (
        Part(title="Measure", text="It is 3 m wide. It is 2 m long. The door sticks."),
        Part(title="Buy tiles", text="", status="failed"),
        Part(title="測る", text="幅は三メートル。長さは二メートル。扉が固い。"),
    )
    text = composed(Compose(place=PLACE, parts=parts))
    assert text == (
        "Measure: It is 3 m wide. It is 2 m long.\n\nBuy tiles: not done.\n\n測る: 幅は三メートル。長さは二メートル。"
    )
    many = tuple(Part(title="t" * 400, text="x" * 9_000) for _ in range(12))
    assert len(composed(Compose(place=PLACE, parts=many)).encode()) < limits.RESULT_BYTES_MAX
