"""Why a task was split as it was, in words."""

import io

import msgspec
from rich.console import Console

from swarmd.cli.why import decision
from swarmd.cli.words import UNICODE
from tests.unit.invented import KITCHEN, MINI, NAS, mid_run, score, task_page


def test_a_mark_says_when_no_model_was_heard_and_why() -> None:
    goal = mid_run()
    page = task_page(goal, goal.root)
    split = page.task.proposals[0]
    marks = (
        score(KITCHEN, 0.7),
        msgspec.structs.replace(score(MINI, 0.8), basis="constant"),
        msgspec.structs.replace(score(NAS, 0.9), basis="text"),
    )
    task = msgspec.structs.replace(page.task, proposals=(msgspec.structs.replace(split, scores=marks),))
    said = io.StringIO()
    Console(file=said, width=200).print(decision(msgspec.structs.replace(page, task=task), UNICODE))
    lines = [line.strip() for line in said.getvalue().splitlines() if " marks " in line]
    assert lines[0].startswith("kitchen-pi marks 0.70") and lines[0].endswith(")")
    assert lines[1].endswith("by checks of the text alone, since its model marks everything alike")
    assert lines[2].endswith("by checks of the text alone")
