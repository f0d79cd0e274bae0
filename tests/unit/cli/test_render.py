"""What `show` and the lists print: everything that matters, nothing that drives a terminal."""

import io
import re

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import RenderableType

from swarmd.cli.render import goal_list, goal_tree, peer_list, status_page
from swarmd.cli.words import ASCII, UNICODE, Signs, console, tail
from swarmd.plan.views import ClaimView, GoalLine, GoalView, SupersededView
from tests.unit.invented import (
    GOAL_ID,
    KITCHEN,
    MINI,
    NAS,
    START_MS,
    STATUS,
    finished,
    goal_view,
    mid_run,
    peer,
    peers,
    proposal,
    result,
    task,
)


def drawn(picture: RenderableType, signs: Signs = UNICODE, width: int = 80, *, terminal: bool = False) -> str:
    """What is printed on an output of *width* cells."""
    output = io.StringIO()
    console(output, signs, width=width, force_terminal=terminal, color_system="standard" if terminal else None).print(
        picture
    )
    return output.getvalue()


def shown(
    goal: GoalView, signs: Signs = UNICODE, width: int = 80, *, after_s: int = 192, terminal: bool = False
) -> str:
    return drawn(goal_tree(goal, now_ms=START_MS + after_s * 1000, signs=signs), signs, width, terminal=terminal)


def test_a_goal_in_the_middle_of_its_run_shows_all_that_can_be_seen() -> None:
    text = shown(mid_run(), width=160)
    for line in (
        "████████████░░░░░░░░░░░░░░░░░░  4 of 10 tasks done, 3 min 12 s, open",
        "goal 8f3a2c1d, set by kitchen-pi; 2 of 3 scorers decide (kitchen-pi, mini-pc, nas)",
        "◆ Two weeks in Japan for four  split by place, 1 of 3 parts done",
        "★ by place     0.81  2 for, by mini-pc",
        "by activity  0.64  by kitchen-pi",
        "├── ✓ Flights and rail passes  done by mini-pc",
        "★ by activity  0.74  2 for, 1 against, by nas, polished",
        "├── ▶ Choose temples and gardens  claimed by mini-pc, attempt 2",
        "whose moss garden opens at nine, and",
        "superseded: attempt 1 by nas, done",
        "├── ‖ Reserve a ryokan near the river  waits for Choose temples and gardens",
        "├── ▷ Find a cooking class  ready",
        "└── ✗ Rent kimonos  failed: no model answered within 300 s",
        "└── ◇ Tokyo: five days in the city  deliberating, ballot 1, waits for votes of kitchen-pi or nas",
        "by place  0.71  1 for, by mini-pc",
        "draft: Asakusa · Shibuya · Ghibli museum",
        "by risk      –  by nas, not scored yet",
    ):
        assert line in text
    assert text.count("★") == 3


def test_what_was_written_of_an_attempt_that_is_superseded_is_shown_as_such_and_escaped() -> None:
    earlier = (
        SupersededView(id="1" * 64, executor=NAS, attempt=1, text="Fold the tent\x1b[31m\nand the chairs"),
        SupersededView(id="2" * 64, executor=MINI, attempt=2, text=""),
    )
    text = shown(goal_view(task("A picnic", "ready", 0, superseded=earlier)), width=160)
    assert "superseded: attempt 1 by nas, unfinished: " in text
    assert "Fold the tent" in text and "and the chairs" in text and "\x1b" not in text
    assert "superseded: attempt 2 by mini-pc, unfinished\n" in text


def test_a_split_below_the_threshold_a_draft_and_a_cancelled_task_are_marked() -> None:
    weak = proposal("1", KITCHEN, "by time", 0.4, accepted=True)
    root = task(
        "A picnic",
        "split",
        0,
        proposals=(weak,),
        below_threshold=True,
        children=(task("Maybe", "draft"), task("No more", "cancelled"), task("New", "open")),
    )
    text = shown(goal_view(root))
    assert "split by time, 1 of 3 parts done, below threshold" in text
    assert "do it whole" in text
    assert "· Maybe  draft" in text
    assert "⊘ No more  cancelled" in text
    assert "○ New  open" in text


def test_composing_is_told_from_executing() -> None:
    held = ClaimView(id="c" * 64, executor=KITCHEN, attempt=1, since_ms=START_MS)
    root = task("A picnic", "claimed", 0, claim=held, children=(task("Bread", "done"),))
    assert "put together by kitchen-pi" in shown(goal_view(root))


def test_a_goal_without_scorers_or_with_forced_ones_says_so() -> None:
    lonely = goal_view(task("A picnic", "open", 0), electorate=(), quorum=0, forced_amend=True)
    text = shown(lonely)
    assert "no scorers yet" in text
    assert "It waits for a peer that can judge splits" in text
    assert "replaced by force" in text
    assert "cancelled: we stay" in shown(goal_view(lonely.root, status="cancelled", cancel_reason="we stay"))


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("signs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(width: int, signs: Signs) -> None:
    text = shown(mid_run(), signs, width)
    assert max(map(cell_len, text.split("\n"))) <= width
    words = re.sub(r"[^\w]+", "", text)
    assert "ReservearyokanneartheriverwaitsforChoosetemplesandgardens" in words


def test_short_lines_are_not_filled_up_with_spaces() -> None:
    assert all(len(line) - len(line.rstrip()) <= 1 for line in shown(mid_run()).split("\n"))


def test_wide_characters_are_counted_as_a_terminal_does() -> None:
    text = shown(goal_view(task("京都" * 40 + "🎎" * 20, "open", 0)), width=40)
    assert max(map(cell_len, text.split("\n"))) <= 40


def test_ascii_terminals_get_ascii_drawing() -> None:
    assert shown(mid_run(), ASCII).isascii()
    assert "+-- + Flights and rail passes  done by mini-pc" in shown(mid_run(), ASCII)
    assert drawn(peer_list(peers(), ASCII), ASCII).isascii()
    assert drawn(status_page(STATUS, ASCII), ASCII).isascii()


def hostile() -> GoalView:
    """A goal whose every text tries to speak to the terminal or to rich."""
    bad = "[red]x[/red] [link=http://x]y[/link] :boom: \x1b[31m\x1b]0;own\x07\x9b2J\r\x00\u202e[/]"
    split = proposal("1", KITCHEN, bad, 0.5, bad, accepted=False)
    held = ClaimView(id="c" * 64, executor=KITCHEN, attempt=1, since_ms=0)
    children = (
        task(bad, "claimed", claim=held, stream=bad * 40),
        task(bad, "done", results=(result(KITCHEN, bad), result(KITCHEN, bad, counts=False))),
        task(bad, "failed", results=(result(KITCHEN, bad, status="failed"),)),
        task(bad, "waiting", waits=bad),
    )
    root = task(bad, "deliberating", 0, proposals=(split,), waits=bad, children=children)
    return goal_view(root, names={KITCHEN: bad}, status="cancelled", cancel_reason=bad)


def test_markup_and_control_characters_of_others_are_never_obeyed() -> None:
    text = shown(hostile())
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert "[red]x[/red]" in text
    assert ":boom:" in text


def test_on_a_colour_terminal_only_our_own_colours_are_sent() -> None:
    text = shown(hostile(), terminal=True)
    assert set(re.findall(r"\x1b\[[0-9;]*(.)", text)) == {"m"}
    assert "\x1b]" not in text


def test_without_a_terminal_there_is_no_colour() -> None:
    assert "\x1b" not in shown(mid_run())


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    codes = re.findall(r"\x1b\[([0-9;]*)m", shown(mid_run(), terminal=True))
    assert not {code for group in codes for code in group.split(";")} & {str(colour) for colour in range(30, 48)}


def test_clocks_that_disagree_show_no_negative_time() -> None:
    assert "0 s, open" in shown(mid_run(), after_s=-500)


def test_a_finished_goal_shows_how_long_it_took() -> None:
    assert "3 of 3 tasks done, 2 min 5 s, done" in shown(finished(), after_s=9_999)


def test_the_tail_of_a_stream_begins_at_a_word_and_fits() -> None:
    assert tail("short", 20, UNICODE) == "short"
    assert tail("one two three four five", 12, UNICODE) == "…four five"
    assert tail("x" * 500, 10, UNICODE) == "…"


def test_lists_show_one_line_for_each() -> None:
    line = GoalLine(id=GOAL_ID, text="\n[b]Japan[/b]\nmore", status="open", created_ms=START_MS, tasks=9, done=4)
    text = drawn(goal_list([line], UNICODE))
    assert "8f3a2c1d" in text
    assert "4/9" in text
    assert "[b]Japan[/b]" in text
    assert "more" not in text


def test_peers_show_who_is_alive_level_and_busy() -> None:
    company = (*peers(), peer("shed", connected=False), peer("attic", level=False, roles=()))
    rows = {row.split()[0]: row for row in drawn(peer_list(company, UNICODE)).split("\n") if row.strip()}
    assert re.search(r"level +all +qwen3:4b +1/2 +1 s ago +\+3 ms", rows["mini-pc"])
    assert re.search(r"silent .* 40 s ago", rows["nas"])
    assert "relayed" in rows["shed"]
    assert re.search(r"catching up +observer", rows["attic"])


def test_the_status_page_says_why_there_is_no_model() -> None:
    bare = msgspec.structs.replace(STATUS, model="", no_model="no Ollama answers at nas:11434: start it there")
    assert "none: no Ollama answers at nas:11434: start it there" in " ".join(drawn(status_page(bare, UNICODE)).split())


def test_the_status_page_says_why_this_model_and_these_roles() -> None:
    reasons = ("qwen3:4b: the largest of 3 that suit 15.4 GiB", "all roles: it writes 9 tokens a second")
    status = msgspec.structs.replace(STATUS, reasons=reasons, tokens_per_s=9)
    said = " ".join(drawn(status_page(status, UNICODE)).split())
    assert f"because {reasons[0]} {reasons[1]}" in said
    assert "qwen3:4b (ollama, small, 9 tokens a second)" in said


def test_the_status_page_names_what_was_refused() -> None:
    text = drawn(status_page(STATUS, UNICODE))
    assert "malformed event: 2" in text
    assert "qwen3:4b (ollama, small)" in text
    assert "1 h 1 min" in text
