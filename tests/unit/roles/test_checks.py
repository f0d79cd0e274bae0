import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swarmd.events.kinds import Subgoal
from swarmd.roles.checks import (
    alike,
    asks_nothing,
    check_split,
    critique,
    is_looping,
    join_marks,
    likeness,
    stems,
    tidy,
)
from swarmd.roles.work import Judgement, Place
from swarmd.vocab import limits
from swarmd.vocab.text import is_safe

GOAL = "Plan a two-week trip to Japan"
PLACE = Place(goal=GOAL, title=GOAL)
GOOD = (
    "Book return flights to Tokyo",
    "Reserve hotels in Kyoto",
    "Buy rail passes",
    "Draw up a daily sightseeing plan",
)


def parts(*titles: str) -> list[Subgoal]:
    return [Subgoal(title=title) for title in titles]


def judged(specific: float | None, disjoint: float | None, covering: float | None, said: str = "") -> Judgement:
    return Judgement(specific=specific, disjoint=disjoint, covering=covering, critique=said, model="m")


def test_a_sound_split_has_no_flaw_and_marks_over_the_usual_threshold() -> None:
    findings = check_split(PLACE, parts(*GOOD))
    assert findings.flagged == ()
    assert findings.lines == ()
    assert min(findings.specific, findings.disjoint, findings.covering) >= 0.6


@pytest.mark.parametrize(
    ("title", "flaw"),
    [
        ("—", "empty"),
        ("🎌🎌", "empty"),
        ("Go", "short"),
        ("Budget", "short"),
        ("[insert step here]", "placeholder"),
        ("Book <hotel name>", "placeholder"),
        ("TBD", "placeholder"),
        ("Step 3", "placeholder"),
        ("Sub-goal 2:", "placeholder"),
        ("...", "empty"),
        ("trip trip trip trip trip", "looping"),
        ("hahahahahahahahaha", "looping"),
        ("Plan a two-week trip to Japan", "repeats the task"),
        ("Plan the two-week trip to Japan!", "repeats the task"),
        ("Two-week Japan trip plan", "repeats the task"),
    ],
)
def test_a_flawed_part_is_named(title: str, flaw: str) -> None:
    findings = check_split(PLACE, parts("Book return flights to Tokyo", title))
    assert findings.flaws == ((), (flaw,))
    assert findings.lines[0].startswith("part 2 ")


def test_near_duplicates_are_named_as_a_pair() -> None:
    findings = check_split(
        PLACE, parts("Buy rail passes", "Book hotels in Kyoto", "Pack clothes", "Booking hotels, Kyoto")
    )
    assert findings.flaws[3] == ("repeats a part",)
    assert "parts 2 and 4 say nearly the same" in findings.lines
    assert findings.disjoint < check_split(PLACE, parts(*GOOD)).disjoint


def test_a_part_that_repeats_an_inner_task_or_its_ancestors_is_flagged() -> None:
    place = Place(goal=GOAL, path=("Arrange transport",), title="Buy rail passes for the family")
    findings = check_split(
        place, parts("Buy rail passes for the family", "Arrange the transport", "Compare pass prices")
    )
    assert findings.flaws == (("repeats the task",), ("repeats the task",), ())


def test_a_near_copy_of_a_sibling_or_of_what_is_elsewhere_in_the_plan_is_flagged() -> None:
    place = Place(
        goal=GOAL,
        path=("Arrange transport",),
        title="Travel between cities",
        siblings=("Book return flights to Tokyo",),
        around=("Reserve hotels in Kyoto",),
    )
    findings = check_split(
        place, parts("Booking return flights, Tokyo", "Reserve a hotel in Kyoto", "Compare prices of rail passes")
    )
    assert findings.flaws == (("repeats the plan",), ("repeats the plan",), ())
    assert findings.lines[0] == "part 1 is done elsewhere in the plan"
    assert [part.title for part in tidy(parts("Reserve a hotel in Kyoto", "Buy a city map"), place, 7)] == [
        "Buy a city map"
    ]


def test_a_part_in_another_script_is_flagged_and_a_split_in_another_language_marked_down() -> None:
    goal = "Підготувати квартиру до зими"
    findings = check_split(Place(goal=goal, title=goal), parts("Утеплити вікна", "Check the radiators"))
    assert findings.flaws == ((), ("another language",))
    assert "part 2 is not in Ukrainian" in findings.lines
    german = "Einen Umzug in eine kleinere Wohnung vorbereiten"
    foreign = check_split(Place(goal=german, title=german), parts(*GOOD))
    assert foreign.lines[0] == "the parts are not in German"
    assert (foreign.specific, foreign.covering) == (0, 0)


def test_the_better_a_models_class_the_more_it_has_to_say() -> None:
    findings = check_split(PLACE, parts(*GOOD))
    marks = [join_marks(judged(0.0, 0.0, 0.0), findings, tier)[0] for tier in ("tiny", "small", "good")]
    assert findings.specific > marks[0] > marks[1] > marks[2] > 0


@pytest.mark.parametrize("goal", ["", "🎉🎂🎈", "…", "Do nothing", "do nothing!", "何もしない"])
def test_a_goal_without_words_or_work_asks_for_nothing(goal: str) -> None:
    assert asks_nothing(goal)
    assert not asks_nothing(f"{goal} and paint the door")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Book a hotel in Tokyo", "Book a hotel in Kyoto"),
        ("Kitchen: paint the walls white", "Bedroom: paint the walls white"),
        ("Day 1: visit temples", "Day 2: visit temples"),
        ("東京のホテルを予約する", "京都のホテルを予約する"),
        ("東京でラーメンを食べる", "寺院を訪れる"),
        ("预订东京的酒店", "购买火车通票"),
        ("احجز فندقا في طوكيو", "اشتر تذاكر القطار"),
        ("Забронювати готель у Києві", "Купити квитки на потяг"),
        ("Đặt khách sạn ở Huế", "Mua vé tàu đi Đà Nẵng"),
        ("Mua bàn", "Bán hoa"),
    ],
)
def test_parts_about_different_things_are_not_alike(one: str, other: str) -> None:
    assert not alike(one, other)
    assert check_split(Place(goal="🎌", title="🎌"), parts(one, other)).flagged == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Book a hotel in Tokyo", "Booking hotels in Tokyo"),
        ("東京のホテルを予約する", "東京のホテルを予約"),
        ("预订东京的酒店", "预订东京酒店"),
        ("احجز فندقا في طوكيو", "اِحجِز فندقًا في طوكيو"),
        ("Забронювати готель у Києві", "Бронювання: забронювати готелі у Києві"),
        ("Đặt khách sạn ở Huế", "Đặt một khách sạn ở Huế"),
        ("Réserver un hôtel à Paris", "Réserver un hôtel, à Paris !"),
        ("จองโรงแรมในโตเกียว", "จองโรงแรมโตเกียว"),
        ("दिल्ली में होटल बुक करें", "दिल्ली में एक होटल बुक करें"),
    ],
)
def test_the_same_part_in_other_words_is_alike_in_any_script(one: str, other: str) -> None:
    assert alike(one, other), likeness(one, other)


def test_composed_and_decomposed_letters_are_the_same_word() -> None:
    assert stems("Huế") == stems("Hue\u0302\u0301")


@pytest.mark.parametrize("text", ["", "One sentence.", "Visit the temple and then the garden and then the tea house."])
def test_ordinary_text_is_not_looping(text: str) -> None:
    assert not is_looping(text)


def test_a_text_that_lost_the_thread_is_looping() -> None:
    assert is_looping("Then we go on. " * 4)
    assert is_looping("The plan is to make the plan of the plan, and " + "the end of the day is " * 5)


def test_no_split_has_no_marks() -> None:
    findings = check_split(PLACE, [])
    assert (findings.specific, findings.disjoint, findings.covering) == (0, 0, 0)
    assert findings.lines == ()


def test_a_single_part_is_said_to_be_no_split() -> None:
    findings = check_split(PLACE, parts("Book return flights to Tokyo"))
    assert findings.lines == ("a single part is no split",)
    assert findings.covering < 0.5


def test_marks_of_text_count_alone_where_the_model_has_none() -> None:
    findings = check_split(PLACE, parts(*GOOD))
    text = (findings.specific, findings.disjoint, findings.covering)
    assert join_marks(None, findings, "small") == text
    assert join_marks(judged(None, None, None), findings, "small") == text
    assert join_marks(judged(98989, -1, float("nan")), findings, "small") == text


def test_marks_of_model_and_text_are_averaged() -> None:
    findings = check_split(PLACE, parts(*GOOD))
    specific, disjoint, covering = join_marks(judged(0.0, None, 1.0), findings, "small")
    assert specific == findings.specific / 2
    assert disjoint == findings.disjoint
    assert covering == (1 + findings.covering) / 2


def test_a_model_cannot_outvote_a_flaw_that_the_text_shows() -> None:
    findings = check_split(PLACE, parts("Buy rail passes", "Buy rail passes", "TBD"))
    assert join_marks(judged(1.0, 1.0, 1.0), findings, "small") == (
        findings.specific,
        findings.disjoint,
        findings.covering,
    )


def test_a_critique_is_one_bounded_line_with_failed_checks_first() -> None:
    findings = check_split(PLACE, parts("Buy rail passes", "Buy rail passes", "Reserve hotels"))
    said = critique(judged(0.5, 0.5, 0.5, "add\na \x1b[31mbudget" + "é" * 4_000), findings)
    assert said.startswith("parts 1 and 2 say nearly the same; add a budget")
    assert is_safe(said)
    assert len(said.encode()) <= limits.CRITIQUE_BYTES_MAX
    assert critique(None, check_split(PLACE, parts(*GOOD))) == ""


def test_tidy_keeps_what_is_sound_and_renumbers_what_it_waits_for() -> None:
    said = [
        Subgoal(title="Reserve hotels in\n Kyoto\x07", detail="Two\x1b[2J lines\nhere"),
        Subgoal(title="Reserve hotel in Kyoto"),
        Subgoal(title="Buy rail passes", after=(0, 1, 2, 3)),
        Subgoal(title=GOAL),
        Subgoal(title="Pack warm clothes", leaf=True, after=(2, 0, 2)),
    ]
    tidied = tidy(said, PLACE, 7)
    assert [part.title for part in tidied] == ["Reserve hotels in Kyoto", "Buy rail passes", "Pack warm clothes"]
    assert tidied[0].detail == "Two lines\nhere"
    assert [part.after for part in tidied] == [(), (0,), (0, 1)]
    assert tidied[2].leaf


@pytest.mark.parametrize("children_max", [0, 1, 3, 100])
def test_tidy_holds_to_the_number_of_children(children_max: int) -> None:
    said = parts(*(f"{verb} the {thing}" for verb, thing in zip(_VERBS, _THINGS, strict=True)))
    assert len(tidy(said, PLACE, children_max)) == min(children_max, limits.CHILDREN_MAX)


_VERBS = [
    "book",
    "reserve",
    "pack",
    "paint",
    "wash",
    "sell",
    "carry",
    "write",
    "measure",
    "clean",
    "borrow",
    "repair",
    "invite",
    "sew",
]
_THINGS = [
    "flight",
    "hotel",
    "bags",
    "wall",
    "dishes",
    "car",
    "table",
    "letter",
    "room",
    "window",
    "ladder",
    "bicycle",
    "guests",
    "curtain",
]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=60), st.lists(st.integers(0, 11), max_size=4)), max_size=14), st.integers(0, 14)
)
def test_whatever_a_model_says_becomes_a_valid_proposal(said: list[tuple[str, list[int]]], children_max: int) -> None:
    subgoals = [Subgoal(title=title, detail=title, after=tuple(after)) for title, after in said]
    tidied = tidy(subgoals, PLACE, children_max)
    assert len(tidied) <= min(children_max, limits.CHILDREN_MAX)
    for index, part in enumerate(tidied):
        assert part.title.strip()
        assert is_safe(part.title)
        assert is_safe(part.detail, lines=True)
        assert len(part.title.encode()) <= limits.TITLE_BYTES_MAX
        assert all(0 <= waited < index for waited in part.after)
    assert tidy(tidied, PLACE, children_max) == tidied
    findings = check_split(PLACE, subgoals)
    for mark in (findings.specific, findings.disjoint, findings.covering):
        assert 0 <= mark <= 1
