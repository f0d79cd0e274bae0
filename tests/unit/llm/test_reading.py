import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swarmd.llm.reading import (
    ANSWER_BYTES_MAX,
    Refused,
    Truncated,
    Unreadable,
    read_marks,
    read_object,
    read_split,
    read_text,
)
from swarmd.roles.work import Place, Propose
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.text import is_safe

GOAL = "Plan a two-week trip to Japan"
REQUEST = Propose(place=Place(goal=GOAL, title=GOAL), strategy="by time", children_max=7, leaves_only=False)
TITLES = ("Book return flights", "Reserve hotels in Kyoto", "Buy rail passes")
SPLIT = json.dumps({"subgoals": [{"title": t, "detail": "", "leaf": False, "after": []} for t in TITLES]})


def titles(raw: str, request: Propose = REQUEST) -> tuple[str, ...]:
    return tuple(part.title for part in read_split(raw, request))


@pytest.mark.parametrize(
    "raw",
    [
        SPLIT,
        f"```json\n{SPLIT}\n```",
        f"```\n{SPLIT}```",
        f"<think>I {{could}} say [this]</think>\n{SPLIT}",
        f"<THINKING>hm</THINKING>{SPLIT}",
        f"so far so good</think>{SPLIT}",
        f"Here is the split:\n{SPLIT}\n[Note: adjust as needed]",
        f"{SPLIT}\n{{}}",
        f"{{{SPLIT}}}",
        SPLIT.replace("]}]}", "],},],}"),
        SPLIT.replace("false", "False"),
        SPLIT.replace('"detail": ""', '"detail": "run `ls` and ```stop``` now, }] {["'),
        SPLIT.replace('"detail": ""', '"detail": "None, True, ,} stays"'),
    ],
)
def test_an_answer_in_a_common_disguise_is_read(raw: str) -> None:
    assert titles(raw) == TITLES


def test_an_answer_in_another_language_than_the_goals_is_asked_for_once_more() -> None:
    for goal in ("Einen Umzug in eine kleinere Wohnung vorbereiten", "Підготувати квартиру до зими", "京都へ旅行する"):
        request = Propose(place=Place(goal=goal, title=goal), strategy="by time", children_max=7, leaves_only=False)
        with pytest.raises(Unreadable, match="another language"):
            read_split(SPLIT, request)


def test_a_repair_leaves_strings_alone() -> None:
    found = read_object('{"a": "None, ]", "b": None, "c": [1, 2, ], "d": True}')
    assert found == {"a": "None, ]", "b": None, "c": [1, 2], "d": True}


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "   \n",
        "``````",
        "I cannot do that.",
        "<think>I was still thinking {}",
        "<think>one</think><think>two " + SPLIT,
        '{"subgoals": "none"}',
        '{"parts": []}',
        '{"subgoals": [{"detail": "no title"}]}',
        '{"subgoals": [{"title": 7}]}',
        '{"subgoals": [1, 2]}',
        '{"subgoals": [], "subgoals": []}',
        "{subgoals: []}",
        "{'subgoals': []}",
        '{"subgoals": [' + "[" * 50 + "]" * 50 + "]}",
        "[" * 1_000 + "{" + "[" * 30_000,
        '{"a":' * 9_000 + "1" + "}" * 9_000,
        SPLIT + " " * ANSWER_BYTES_MAX,
        "\ud800" * 100,
    ],
)
def test_what_is_no_answer_may_be_asked_for_again(raw: str) -> None:
    with pytest.raises(Unreadable):
        read_split(raw, REQUEST)


@pytest.mark.parametrize("cut", [12, 40, len(SPLIT) // 2, len(SPLIT) - 1])
def test_a_truncated_answer_is_never_repaired(cut: int) -> None:
    with pytest.raises(Truncated):
        read_split(SPLIT[:cut], REQUEST)


def test_an_answer_of_repeats_is_refused_and_not_asked_for_again() -> None:
    raw = json.dumps({"subgoals": [{"title": GOAL}, {"title": "Book flights"}, {"title": "Book the flights"}]})
    with pytest.raises(Refused) as refusal:
        read_split(raw, REQUEST)
    assert not isinstance(refusal.value, Unreadable)
    assert isinstance(refusal.value, RemoteFault)


def test_no_subgoals_means_that_the_task_is_best_done_whole() -> None:
    assert read_split('{"subgoals": []}', REQUEST) == ()


def test_numbers_of_awaited_parts_become_indices_and_wrong_ones_are_dropped() -> None:
    said = [{"title": title, "after": [1, 2, 3, 9, -4, 10**30]} for title in TITLES]
    assert [part.after for part in read_split(json.dumps({"subgoals": said}), REQUEST)] == [(), (0,), (0, 1)]


def test_leaves_only_makes_every_part_a_leaf() -> None:
    request = Propose(place=REQUEST.place, strategy="by time", children_max=7, leaves_only=True)
    assert all(part.leaf for part in read_split(SPLIT, request))


def test_a_list_that_ran_away_keeps_its_first_seven_different_parts() -> None:
    verbs = [
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
    ]
    things = [
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
    ]
    run = [f"{verb} the {thing}" for verb, thing in zip(verbs, things, strict=True)]
    raw = json.dumps({"subgoals": [{"title": title} for title in [run[0], run[0], *run, *run]]})
    assert titles(raw) == tuple(run[:7])


def test_half_a_surrogate_pair_is_no_text_and_a_whole_one_is_a_character() -> None:
    split = '{"subgoals": [{"title": "Book %s flights"}, {"title": "Buy rail passes"}]}'
    with pytest.raises(Unreadable, match="surrogate"):
        titles(split % "\\ud83d")
    assert titles(split % "\\ud83d\\uddfe") == ("Book 🗾 flights", "Buy rail passes")


@pytest.mark.parametrize(
    "said", ["98989", "-1", '"8/10"', "NaN", "Infinity", "-Infinity", "null", "true", "[0.5]", "7", "1e999"]
)
def test_a_mark_that_is_none_is_void_and_the_others_stand(said: str) -> None:
    marks = read_marks(f'{{"critique": "x", "specific": {said}, "disjoint": 0.7, "covering": 1}}')
    assert (marks.specific, marks.disjoint, marks.covering) == (None, 0.7, 1.0)
    assert marks.critique == "x"


@pytest.mark.parametrize("raw", ["{}", '{"specific": 7, "disjoint": 7, "covering": 7}', "7", '"8/10"', "98989", "NaN"])
def test_an_answer_without_any_valid_mark_may_be_asked_for_again(raw: str) -> None:
    with pytest.raises(Unreadable):
        read_marks(raw)


def test_a_critique_is_made_safe() -> None:
    marks = read_marks('{"critique": "a\\u001b[2Jb\\nc", "specific": 0.5}')
    assert is_safe(marks.critique)
    assert read_marks('{"critique": 5, "specific": 0.5}').critique == ""


def test_a_text_is_read_without_thoughts_and_fences() -> None:
    assert read_text("<think>hm</think>\n```markdown\nBuy two `tickets`.\n```") == "Buy two `tickets`."
    for raw in ("", "<think>for ever", "\x1b[2J"):
        with pytest.raises(Unreadable):
            read_text(raw)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(),
        st.text(alphabet='{}[]",:\\ntrueNoe<think>/`1.', max_size=80),
        st.builds(SPLIT.__getitem__, st.builds(slice, st.integers(0, 99), st.integers(0, 300))),
    )
)
def test_no_answer_of_a_model_raises_anything_but_a_remote_fault(raw: str) -> None:
    for read in (lambda: read_split(raw, REQUEST), lambda: read_marks(raw), lambda: read_text(raw)):
        with contextlib.suppress(RemoteFault):
            read()
