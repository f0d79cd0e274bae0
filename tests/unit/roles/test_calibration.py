from swarmd.roles.calibration import Calibration
from swarmd.roles.work import Judgement


def judged(specific: float | None, disjoint: float | None, covering: float | None) -> Judgement:
    return Judgement(specific=specific, disjoint=disjoint, covering=covering, model="m")


SEVEN = judged(0.7, 0.7, 0.7)


def after(*judgements: Judgement) -> Calibration:
    calibration = Calibration()
    for judgement in judgements:
        calibration.note(judgement)
    return calibration


def test_a_judge_that_always_says_seven_is_constant_from_the_fifth_time_on() -> None:
    assert not after(*[SEVEN] * 4).is_constant
    assert after(*[SEVEN] * 5).is_constant
    assert after(judged(0.2, 0.4, 0.6), *[SEVEN] * 5).is_constant, "what it said long ago is forgotten"


def test_marks_that_differ_by_a_hair_are_the_same() -> None:
    assert after(*(judged(0.7 + n / 1_000, 0.7, 0.9) for n in range(5))).is_constant


def test_a_judge_that_tells_splits_apart_in_one_respect_is_heard() -> None:
    assert not after(*(judged(0.7, 0.5 + n / 10, 0.7) for n in range(5))).is_constant


def test_a_judge_that_can_only_say_one_thing_is_measured_by_it() -> None:
    assert not after(*(judged(0.3 + n / 10, None, None) for n in range(5))).is_constant
    assert after(*[judged(0.3, None, None)] * 5).is_constant


def test_one_different_word_makes_a_judge_heard() -> None:
    assert not after(*[SEVEN] * 5, judged(0.4, 0.7, 0.7)).is_constant
