"""`python -m tests.eval --backend embedded --goals 24`: every goal through the swarm and through one prompt of the same
model, side by side, as a Markdown table. With --plans the plans are kept, to be judged by hand, and a run that was
broken off goes on where it was."""

import argparse
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import msgspec
import trio

from swarmd.llm import choose
from swarmd.llm.embedded import EmbeddedLlm
from swarmd.plan.report import report
from swarmd.ports import Llm
from swarmd.roles.work import Backend
from swarmd.vocab.faults import LocalMistake
from tests.eval import measure
from tests.eval.goals import GOALS, Wish
from tests.eval.pipeline import Meter, Spent, plan
from tests.eval.single import one_shot


@dataclass(frozen=True, slots=True)
class Outcome:
    """One goal both ways, and what the swarm's way cost."""

    single: measure.Row
    swarm: measure.Row
    jobs: dict[str, Spent]
    faults: list[str]


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.eval", description=__doc__)
    parser.add_argument("--backend", default="embedded", help="embedded, ollama, openai or scripted")
    parser.add_argument("--goals", type=int, default=len(GOALS), help="how many of the 24, from the first one")
    parser.add_argument("--only", default="", help="names of goals, separated by commas")
    parser.add_argument("--host", default="127.0.0.1:11434", help="of the model server")
    parser.add_argument("--model", default=None, help="on the model server")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--depth", type=int, default=2, help="levels below the goal; each costs about three times more")
    parser.add_argument("--plans", type=Path, default=None, help="a folder for the reports of all plans")
    trio.run(evaluate, parser.parse_args())


async def evaluate(arguments: argparse.Namespace) -> None:
    """One goal after the other, each told when it is through."""
    llm = choose(arguments.backend, host=arguments.host, model=arguments.model, threads=1)
    judge = await _judge(llm)
    backend = await llm.probe()
    only = set(filter(None, arguments.only.split(",")))
    wishes = [wish for wish in GOALS if not only or wish.name in only][: arguments.goals]
    print(f"{backend.model} ({backend.tier}), depth {arguments.depth}, seed {arguments.seed}; one shot → swarm\n")
    print("| goal | " + " | ".join(column.replace("_", " ") for column in measure.COLUMNS) + " |")
    print("| --- |" + " --- |" * len(measure.COLUMNS), flush=True)
    outcomes: list[Outcome] = []
    try:
        for wish in wishes:
            kept = arguments.plans / f"{wish.name}.json" if arguments.plans else None
            if kept is not None and kept.exists():
                outcomes.append(msgspec.json.decode(kept.read_bytes(), type=Outcome))
            else:
                outcomes.append(await _outcome(wish, llm, backend, judge, arguments.seed, arguments.depth, kept))
            print(_line(wish.name, outcomes[-1].single, outcomes[-1].swarm), flush=True)
    finally:
        await llm.close()
        if judge is not None and judge is not llm:
            await judge.close()
    jobs: dict[str, Spent] = {}
    for outcome in outcomes:
        _add(jobs, outcome.jobs)
    faults = Counter(fault for outcome in outcomes for fault in outcome.faults)
    single, swarm = (measure.overall([getattr(outcome, way) for outcome in outcomes]) for way in ("single", "swarm"))
    print(_line("**all**", single, swarm))
    print("\n| job | calls | answered at the first try | seconds each | tokens each |\n| --- | --- | --- | --- | --- |")
    for kind, cost in sorted(jobs.items()):
        each = f"{cost.seconds / cost.calls:.1f} | {cost.tokens / cost.calls:.0f}"
        print(f"| {kind} | {cost.calls} | {100 * cost.first / cost.calls:.0f} % | {each} |")
    for fault, count in faults.most_common(8):
        print(f"\n{count} × {fault}", end="")


async def _outcome(
    wish: Wish, llm: Llm, backend: Backend, judge: EmbeddedLlm | None, seed: int, depth: int, kept: Path | None
) -> Outcome:
    single = await one_shot(wish, llm, seed)
    meter = Meter(llm)
    began = time.perf_counter()
    view = await plan(wish, backend, meter, seed, depth)
    spent = time.perf_counter() - began
    outcome = Outcome(
        single=await measure.of_single(wish, single, judge),
        swarm=await measure.of_swarm(wish, view, meter, judge, spent),
        jobs=meter.spent,
        faults=meter.faults,
    )
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        listed = "\n".join(f"- {part}\n  - {text}" for part, text in zip(single.parts, single.texts, strict=True))
        kept.with_suffix(".md").write_text(f"{report(view)}\n## One shot\n\n{listed}\n")
        kept.write_bytes(msgspec.json.encode(outcome))
    return outcome


async def _judge(llm: object) -> EmbeddedLlm | None:
    if isinstance(llm, EmbeddedLlm):
        return llm
    try:
        judge = EmbeddedLlm(threads=1)
        await judge.probe()
    except LocalMistake:
        return None
    return judge


def _add(jobs: dict[str, Spent], spent: dict[str, Spent]) -> None:
    for kind, cost in spent.items():
        known = jobs.setdefault(kind, Spent())
        known.calls += cost.calls
        known.first += cost.first
        known.tokens += cost.tokens
        known.seconds += cost.seconds


def _line(name: str, single: measure.Row, swarm: measure.Row) -> str:
    cells = [
        f"{_cell(column, getattr(single, column))} → {_cell(column, getattr(swarm, column))}"
        for column in measure.COLUMNS
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _cell(column: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if column in ("parts", "seconds") else f"{100 * value:.0f} %"


if __name__ == "__main__":
    main()
