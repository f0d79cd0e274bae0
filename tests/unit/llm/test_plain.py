import pytest

from swarmd.llm import plain
from swarmd.roles.checks import check_split
from swarmd.roles.language import language, strays
from swarmd.roles.strategies import STRATEGIES
from swarmd.roles.work import CHECKLIST, Compose, Execute, Part, Place, Propose

GOALS = {
    "uk": "Підготувати квартиру до зими",
    "ja": "家族で京都へ三日間の旅行を計画する",
    "de": "Einen Umzug in eine kleinere Wohnung vorbereiten",
    "vi": "Tổ chức đám cưới nhỏ cho 50 khách",
    "ar": "تجهيز الأطفال للعودة إلى المدرسة",
}


def propose(goal: str, strategy: str = "by activity", title: str = "") -> Propose:
    place = Place(goal=goal, title=title or goal)
    return Propose(place=place, strategy=strategy, children_max=7, leaves_only=False)


@pytest.mark.parametrize(("code", "goal"), GOALS.items())
def test_the_checklist_is_in_the_goals_language_and_passes_the_checks(code: str, goal: str) -> None:
    parts = plain.split(propose(goal))
    assert len(parts) == 5
    assert all(part.leaf for part in parts)
    assert check_split(Place(goal=goal, title=goal), parts).lines == ()
    for part in parts:
        text = plain.execute(Execute(place=Place(goal=goal, title=part.title)))
        assert text.startswith(plain.CHECKLISTS[code].label)
        assert language(text) == code
        assert not strays(text, goal)


def test_parallel_decomposers_do_not_say_the_same() -> None:
    assert len({plain.split(propose(GOALS["uk"], strategy)) for strategy in STRATEGIES[:3]}) == 3


@pytest.mark.parametrize("goal", ["Préparer le mariage de notre fille dans les Alpes", "🎉🎂", "нічого не робити"])
def test_a_goal_without_a_checklist_or_without_work_is_not_split(goal: str) -> None:
    assert plain.split(propose(goal)) == ()


def test_steps_are_not_split_into_the_same_steps() -> None:
    assert plain.split(propose(GOALS["ja"], title=plain.CHECKLISTS["ja"].steps[0][0])) == ()


def test_a_task_that_is_no_step_is_said_to_be_open() -> None:
    text = plain.execute(Execute(place=Place(goal=GOALS["de"], title="Den Lieferwagen mieten")))
    assert "noch auszuarbeiten" in text
    assert text.startswith("Allgemeine Checkliste")


def test_a_composition_bears_the_label_once_and_names_what_is_open() -> None:
    place = Place(goal=GOALS["de"], title=GOALS["de"])
    first = plain.execute(Execute(place=Place(goal=GOALS["de"], title=plain.CHECKLISTS["de"].steps[0][0])))
    parts = (Part(title="Ziel", text=first), Part(title="Wagen", text="", status="failed"))
    text = plain.compose(Compose(place=place, parts=parts))
    assert text.count("Allgemeine Checkliste") == 1
    assert "Wagen: (nicht erledigt)" in text
    assert "Ziel: Was soll am Ende stimmen" in text


def test_it_says_that_it_is_no_model() -> None:
    assert "no model" in CHECKLIST
