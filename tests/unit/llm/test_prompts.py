import pytest

from swarmd.events.kinds import Subgoal
from swarmd.llm.prompts import prompt_for
from swarmd.roles.strategies import INSTRUCTIONS
from swarmd.roles.work import Compose, Execute, Judge, Part, Place, Propose, Request
from swarmd.vocab import limits

PLACE = Place(
    goal="Підготувати квартиру до зими",
    path=("Вікна",),
    title="Утеплити вікна",
    detail="До першого морозу",
    siblings=("Перевірити батареї",),
)


def propose(place: Place = PLACE, **more: object) -> Propose:
    settings: dict[str, object] = {"strategy": "by risk", "children_max": 7, "leaves_only": False} | more
    return Propose(place=place, **settings)  # type: ignore[arg-type]


def test_a_proposal_is_told_where_it_lies_and_how_to_split() -> None:
    prompt = prompt_for(propose(), 4_096)
    for said in (PLACE.goal, "«Вікна» > «Утеплити вікна»", PLACE.detail, PLACE.siblings[0], INSTRUCTIONS["by risk"]):
        assert said in prompt.user
    assert "Answer in Ukrainian, the language of the goal." in prompt.system
    assert prompt.schema is not None
    assert "3 to 7 subgoals" in prompt.user
    assert "at most 2 subgoals" in prompt_for(propose(children_max=2), 4_096).user


def test_polishing_shows_the_split_and_its_critiques() -> None:
    request = propose(previous=(Subgoal(title="Купити піну"),), critiques=("part 1 is vague",), leaves_only=True)
    said = prompt_for(request, 4_096).user
    assert "1. Купити піну" in said
    assert "part 1 is vague" in said
    assert "Every subgoal is a leaf" in said


def test_an_executor_is_shown_the_results_that_it_builds_on() -> None:
    parts = (Part(title="Виміряти", text="120 см"), Part(title="Зламане", text="", status="failed"))
    for request in (Execute(place=PLACE, inputs=parts), Compose(place=PLACE, parts=parts)):
        prompt = prompt_for(request, 4_096)
        assert "Виміряти: «120 см»" in prompt.user
        assert "Зламане: (failed)" in prompt.user
        assert prompt.schema is None
        assert "headings" in prompt.user


@pytest.mark.parametrize(
    ("goal", "name"),
    [
        ("Plan a two-week trip to Japan", "in English,"),
        ("Einen Umzug in eine kleinere Wohnung vorbereiten", "in German,"),
        ("Tổ chức đám cưới nhỏ", "in Vietnamese,"),
        ("家族で京都へ旅行する", "in Japanese,"),
        ("تجهيز الأطفال للمدرسة", "in Arabic,"),
        ("Japan", "in the language of the goal."),
    ],
)
def test_every_prompt_names_the_goals_language(goal: str, name: str) -> None:
    place = Place(goal=goal, title=goal)
    requests: tuple[Request, ...] = (
        propose(place),
        Judge(place=place, subgoals=()),
        Execute(place=place),
        Compose(place=place, parts=()),
    )
    for request in requests:
        assert f"Answer {name}" in prompt_for(request, 4_096).system


def test_a_split_is_told_what_is_elsewhere_in_the_plan() -> None:
    place = Place(goal="Japan trip", path=("Travel",), title="Buy passes", around=("Reserve hotels", "Pack the bags"))
    assert (
        "Elsewhere in the plan, so not here: «Reserve hotels»; «Pack the bags»"
        in prompt_for(propose(place), 4_096).user
    )


def test_of_the_results_to_build_on_the_longest_are_cut_first_and_short_ones_stay_whole() -> None:
    short, middle, long = "short. " * 20, "middle " * 100, "long " * 20_000
    parts = tuple(
        Part(title=title, text=text) for title, text in (("A", long), ("B", short), ("C", middle), ("D", long))
    )
    for request in (Execute(place=PLACE, inputs=parts), Compose(place=PLACE, parts=parts)):
        prompt = prompt_for(request, 4_096)
        assert f"B: «{short.strip()}»" in prompt.user
        assert f"C: «{middle.strip()}»" in prompt.user
        a, d = (prompt.user.split(f"{title}: «")[1].split("»")[0] for title in "AD")
        assert len(a) == len(d) > len(middle)
        assert f"Goal: «{PLACE.goal}»" in prompt.user


def test_a_later_attempt_is_asked_in_other_words() -> None:
    prompts = {prompt_for(Execute(place=PLACE, attempt=attempt), 4_096).user for attempt in (1, 2, 3)}
    assert len(prompts) == 3


@pytest.mark.parametrize("context_tokens", [4_096, 8_192])
def test_what_is_too_long_gives_way_before_the_goal_and_the_instruction(context_tokens: int) -> None:
    goal = "Залишити цілий рядок. " * 60
    place = Place(goal=goal, path=("x" * 400,) * 8, title="y" * 400, detail="z" * 2_000, siblings=("s" * 400,) * 11)
    parts = tuple(Part(title="t" * 400, text="long " * 20_000) for _ in range(12))
    subgoals = tuple(Subgoal(title="t" * 400, detail="d" * 2_000) for _ in range(12))
    requests: tuple[Request, ...] = (
        propose(place, previous=subgoals, critiques=("c" * 2_000,) * 20),
        Judge(place=place, subgoals=subgoals),
        Execute(place=place, inputs=parts),
        Compose(place=place, parts=parts),
    )
    for request in requests:
        prompt = prompt_for(request, context_tokens)
        spent = (len(prompt.system.encode()) + len(prompt.user.encode())) / 3 + prompt.tokens_max
        assert spent <= context_tokens
        assert prompt.user.startswith(f"Goal: «{goal.strip()}»")
        assert prompt.user.rstrip().endswith(("subgoals.", "useless.", "assumed.", "preface.", "say."))


def test_the_longest_goal_leaves_room_for_the_instruction() -> None:
    place = Place(goal="目" * (limits.GOAL_BYTES_MAX // 3), title="目的地を選ぶ")
    prompt = prompt_for(propose(place), 4_096)
    assert prompt.user.count("目") >= 1_000
    assert INSTRUCTIONS["by risk"] in prompt.user
