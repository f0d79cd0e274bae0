"""The report is a document of its own structure, whatever models wrote into it."""

import random
import re
import time
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt

from swarmd.plan.report import report
from tests.unit.invented import KITCHEN, MINI, NAS, finished, goal_view, mid_run, result, task

# what markdown is made of; a mixture of these has found every hole so far
_PIECES = [
    *("# ", "## x", "===", "---", "-", "- ", "* ", "1. ", "> ", "```", "~~~", "````", "``` py", "`", "***", "_", "\\"),
    *("\n", "\n\n", " ", "    ", "\t", "a", "word", "<b>", "<!--", "<", "![", "]", "(x)", "[x]: y", "|", "| - |"),
    "a|b\n-|-\n",
]


def headings(markdown: str) -> list[str]:
    """Every heading of a document, at whatever depth of lists and quotes, as a CommonMark parser sees it."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    return [
        f"{'#' * int(opened.tag[1])} {inline.content}"
        for opened, inline in pairwise(tokens)
        if opened.type == "heading_open"
    ]


def html(markdown: str) -> list[str]:
    """Every piece of HTML of a document, and every picture."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    below = [child for token in tokens for child in token.children or ()]
    return [token.content for token in (*tokens, *below) if token.type in ("html_block", "html_inline", "image")]


def with_text(text: str) -> str:
    """The report of a goal with one part that says *text*, and one after it."""
    parts = (
        task("First", "done", results=(result(MINI, text),)),
        task("Second", "done", results=(result(NAS, "All well."),)),
    )
    root = task("A goal", "done", 0, children=parts, results=(result(NAS, "Whole."),))
    return report(goal_view(root, status="done", ended_ms=None))


def test_the_report_goes_down_the_tree_with_texts_and_who_wrote_them() -> None:
    text = report(mid_run())
    assert headings(text) == [
        "# Two weeks in Japan for four",
        "## 1 Flights and rail passes",
        "### 1.1 Compare flights",
        "### 1.2 Choose rail passes",
        "## 2 Kyoto: temples, gardens and a night in a ryokan",
        "### 2.1 Choose temples and gardens",
        "### 2.2 Reserve a ryokan near the river",
        "### 2.3 Find a cooking class",
        "### 2.4 Rent kimonos",
        "## 3 Tokyo: five days in the city",
        "## What could not be done",
        "## How this was made",
    ]
    assert "The 14-day pass pays for itself.\n\n*— nas, qwen3:4b*" in text
    assert "*Not finished yet: 4 of 10 tasks are done.*" in text
    assert "A late text." not in text


def test_what_failed_is_named_with_its_reason() -> None:
    assert "- **Rent kimonos**: no model answered within 300 s" in report(mid_run())


def test_how_it_was_made_tells_the_votes_and_the_work_of_each_peer() -> None:
    text = report(mid_run())
    assert "| Two weeks in Japan for four | by place | 0.81 | 2 of 3, ballot 0 | 2 | mini-pc |" in text
    assert re.search(r"\| mini-pc \| qwen3:4b \| 4 \| 0 \| 4 \| 2 \| 240 \|", text)


def test_the_composed_text_of_the_goal_comes_first() -> None:
    text = report(finished())
    assert text.startswith(
        "# A picnic\n\n*3 tasks, worked out in 2 min 5 s.*\n\nAll of it.\n\n*— nas, qwen3:4b*\n\n## 1"
    )


def test_a_tiny_models_work_says_so_and_how_to_get_better() -> None:
    assert "ollama pull qwen3:4b" in report(finished("SmolLM2-135M (tiny)"))
    assert "ollama pull qwen3:4b" in report(finished("embedded:smollm2"))
    assert "ollama pull" not in report(finished("qwen3:4b"))
    assert "ollama pull" not in report(goal_view(task("Nothing yet", "open", 0)))


@pytest.mark.parametrize(
    "hostile",
    [
        "# One\n## Two\n###### Six\n#\n### Closed ###",
        "   ## Indented\n\t# Tab",
        "Title\n=====\n\nTitle\n-----\n\nTitle\n-",
        "+ > - ## In a list in a quote in a list",
        "~~~a|b\n-|-\n# not a table",
        "> # Quoted\n> Title\n> ===",
        "- # In a list\n1. ## In a list\n- - # Deep",
        "```\n# code\nnever closed",
        "~~~ python\n```\n# code",
        "- item\n   ```\n# after",
        "````\n```\n# still code",
        "``` not ` a fence\n# heading",
        "<h1>Big</h1>\n<!-- everything after\n<script>",
        "<?php\n<![CDATA[",
        "text\n    # code after text\n\n    # indented code",
        "a <b>bold</b> word, <http://x>, <a\nhref=x>",
        "- a\n\n  ~~~\n  # in a list\n# out of it",
        "1. a\n   ```\n# x\n```\n# y",
        "* * *\n# after a ruler\n- - -\n___\nword\n- - -",
        "[x]: http://x\n===",
        "> ```\n> # quoted code\n# after",
        "![a][b] ![c](d) !\n[e](f)\n\n[b]: http://x",
        "| a | b |\n| --- | --- |\n| 1 |",
    ],
)
def test_no_text_reaches_outside_its_section(hostile: str) -> None:
    text = with_text(hostile)
    assert headings(text) == ["# A goal", "## 1 First", "## 2 Second", "## How this was made"]
    assert html(text) == []


def test_any_mixture_of_markdown_stays_within_its_section() -> None:
    rng = random.Random(1)
    for _ in range(300):
        hostile = "".join(rng.choice(_PIECES) for _ in range(rng.randrange(1, 14)))
        text = with_text(hostile)
        assert headings(text) == ["# A goal", "## 1 First", "## 2 Second", "## How this was made"], repr(hostile)
        assert html(text) == [], repr(hostile)


@pytest.mark.parametrize(
    "piece", ["# " + " " * 60_000 + "x", "#" * 60_000, "`" * 60_000 + "x`", "> " * 30_000 + "#", "= " * 30_000]
)
def test_a_long_line_takes_no_longer_than_its_length(piece: str) -> None:
    before = time.process_time()
    with_text(piece)
    assert time.process_time() - before < 1.0


def test_code_stays_as_it_is() -> None:
    assert "```python\n# a comment\nif a < b: pass\n```" in with_text("```python\n# a comment\nif a < b: pass\n```")


def test_pictures_from_elsewhere_are_not_loaded() -> None:
    assert "![" not in with_text("![seen](http://elsewhere.example/pixel.png)")


def test_titles_and_names_are_words_and_not_markup() -> None:
    root = task(
        "A | [goal](http://x) *now* <b>", "failed", 0, results=(result(KITCHEN, "`why` | not", status="failed"),)
    )
    text = report(goal_view(root, status="failed", names={KITCHEN: "pi|*x*"}, cancel_reason=""))
    assert text.startswith("# A \\| \\[goal\\](http://x) \\*now\\* \\<b\\>\n")
    assert "- **A \\| \\[goal\\](http://x) \\*now\\* \\<b\\>**: \\`why\\` \\| not" in text
    assert "| pi\\|\\*x\\* |" in text


def test_a_long_goal_has_its_first_line_as_title_and_the_rest_as_text() -> None:
    goal = goal_view(task("Move house", "open", 0), text="Move house\n\n- by June\n# with the cat")
    assert report(goal).startswith("# Move house\n\n- by June\n**with the cat**\n\n")


def test_a_cancelled_goal_says_why() -> None:
    goal = goal_view(task("Move house", "cancelled", 0), status="cancelled", cancel_reason="we stay", ended_ms=None)
    assert "Cancelled after 0 s, with 1 of 1 tasks finished: we stay." in report(goal)
