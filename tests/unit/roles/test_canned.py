import pytest

from swarmd.events.kinds import Subgoal
from swarmd.roles.canned import answer
from swarmd.roles.checks import check_split
from swarmd.roles.strategies import INSTRUCTIONS, STRATEGIES, instruction
from swarmd.roles.work import Compose, Execute, Judge, Judgement, Part, Place, Propose, Split, Text

GOALS = (
    "Plan a two-week trip to Japan",
    "Get fit",
    "Підготувати квартиру до зими",
    "We are a volunteer group of about twenty people running a neighbourhood repair cafe in a borrowed school hall",
)


def propose(goal: str, strategy: str, **more: object) -> Propose:
    place = Place(goal=goal, title=goal)
    return Propose(place=place, strategy=strategy, children_max=7, leaves_only=False, **more)  # type: ignore[arg-type]


def split(request: Propose) -> Split:
    said = answer(request)
    assert isinstance(said, Split)
    return said


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("strategy", [*STRATEGIES, "by moonlight"])
def test_every_scripted_split_passes_the_checks(goal: str, strategy: str) -> None:
    said = split(propose(goal, strategy))
    assert len(said.subgoals) == 4
    assert check_split(Place(goal=goal, title=goal), said.subgoals).flagged == ()
    assert not any(part.leaf for part in said.subgoals)
    if not goal.isascii():
        return  # it writes English, which a part that quotes nothing of the goal does not hide
    inner = Place(goal=goal, title=said.subgoals[0].title)
    below = split(Propose(place=inner, strategy=strategy, children_max=7, leaves_only=False))
    assert check_split(inner, below.subgoals).flagged == ()
    assert all(part.leaf for part in below.subgoals)


@pytest.mark.parametrize("goal", ["Do nothing", "🎉🎂🎈", "…"])
def test_where_there_is_nothing_to_split_the_scripted_model_says_so(goal: str) -> None:
    assert split(propose(goal, "by time")).subgoals == ()


def test_equal_requests_get_equal_answers_and_strategies_differ() -> None:
    request = propose(GOALS[0], "by time")
    assert answer(request) == answer(request)
    assert len({split(propose(GOALS[0], strategy)).subgoals for strategy in STRATEGIES}) == len(STRATEGIES)


def test_a_polished_split_is_another_one_and_limits_hold() -> None:
    first = split(propose(GOALS[0], "by time"))
    polished = split(propose(GOALS[0], "by time", previous=first.subgoals, critiques=("vague",)))
    assert polished.subgoals != first.subgoals
    few = Propose(place=Place(goal="g", title="g"), strategy="by time", children_max=2, leaves_only=True)
    assert [part.leaf for part in split(few).subgoals] == [True, True]


def test_scripted_marks_lie_on_both_sides_of_the_usual_threshold() -> None:
    place = Place(goal="g", title="g")
    means = []
    for number in range(60):
        said = answer(Judge(place=place, subgoals=(Subgoal(title=f"Part {number}"),)))
        assert isinstance(said, Judgement)
        marks = [said.specific, said.disjoint, said.covering]
        assert all(mark is not None and 0.55 <= mark <= 0.95 for mark in marks)
        means.append(sum(mark or 0 for mark in marks) / 3)
    assert min(means) < 0.65 < 0.8 < max(means)


def test_scripted_texts_say_what_they_are_about() -> None:
    place = Place(goal="g", title="Book the hall")
    done = answer(Execute(place=place))
    assert isinstance(done, Text)
    assert done.text.startswith("Book the hall is done")
    assert done.text.count(".") == 2
    joined = answer(Compose(place=place, parts=(Part(title="A", text="x"), Part(title="B", text="", status="failed"))))
    assert isinstance(joined, Text)
    assert joined.text == "A: x\nB: not done."


def test_a_strategy_of_a_newer_peer_is_its_own_instruction() -> None:
    assert instruction("by moonlight") == "Split by moonlight."
    assert len(STRATEGIES) >= 6
    assert all(sentence.endswith(".") for sentence in INSTRUCTIONS.values())
