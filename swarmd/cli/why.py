"""How one task was decided, drawn for people: every split with its marks and critiques, every ballot, and the reason.

Pure: a page in, something rich can print out. Nothing is cut.
"""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from swarmd.cli.words import STYLE, Signs, mark, named, ranked, safe, votes
from swarmd.plan.report import winner
from swarmd.plan.views import BallotView, ProposalView, ScoreView, TaskPage, VoteView
from swarmd.vocab.ids import short

_BASIS = {
    "text": " by checks of the text alone",
    "constant": " by checks of the text alone, since its model marks everything alike",
}


def decision(page: TaskPage, signs: Signs) -> RenderableType:
    """The whole page: the task, its splits, its ballots, and in a sentence or two why it stands as it does."""
    task = page.task
    splits = ranked(task.proposals)
    lines: list[RenderableType] = []
    if page.path:
        above = f" {'>' if signs.ascii else '›'} ".join(map(safe, page.path))
        lines.append(Text(above, "dim"))
    lines.append(
        Text.assemble(
            (signs.status[task.status] + " ", STYLE[task.status]),
            (safe(task.title), "bold"),
            (f"  {task.status}", STYLE[task.status] or "dim"),
            (f"  {short(task.id)}", "dim"),
        )
    )
    lines += [_in(Text(safe(task.detail), "dim"), 2)] if task.detail else []
    lines += [Text(""), *(Text(sentence) for sentence in reason(page))]
    for split in splits:
        lines += [Text(""), *_split(page, split, signs)]
    if page.ballots:
        lines += [Text(""), Text("Ballots", "bold")]
        lines += [_in(line, 2) for ballot in page.ballots for line in _ballot(page, ballot)]
    return Group(*lines)


def reason(page: TaskPage) -> Iterator[str]:
    """Why the task stands as it does, in plain sentences."""
    task, accepted = page.task, winner(page.task)
    if accepted is None:
        if not task.proposals:
            yield (
                "There was nothing to decide: it can be done in one go."
                if task.leaf
                else "Nobody has proposed a split."
            )
        else:
            yield f"Nothing is accepted yet: {page.quorum} of {len(page.electorate)} scorers must approve one split."
        if task.waits:
            waits = safe(task.waits)
            yield f"It {waits}." if waits.startswith("waits") else f"It waits: {waits}."
        return
    ballot, approving = _accepting(page, accepted)
    needed = f"{page.quorum} of {len(page.electorate)} were needed"
    yield f"“{_called(accepted)}” won: {_people(page, approving)} approved it in ballot {ballot}; {needed}."
    threshold = page.policy.threshold
    if task.below_threshold:
        yield (
            f"Its mark of {accepted.mean or 0:.2f} is below the threshold of {threshold:.2f}: "
            "polishing was exhausted, and it was the best there was."
        )
    elif accepted.mean is not None:
        better = next((split for split in task.proposals if (split.mean or 0) > accepted.mean + 0.005), None)
        of_all = f" of {len(task.proposals)} splits" if len(task.proposals) > 1 else ""
        yield f"Its mean mark is {accepted.mean:.2f}; from {threshold:.2f} on a split is good enough."
        if better is None:
            yield f"That is the best mark{of_all}."
        else:
            late = "what came, or was marked, after the vote does not undo it"
            yield f"“{_called(better)}” has {better.mean or 0:.2f}, but {late}."
    if any(each.forced and accepted.id in each.nominated for each in page.ballots):
        yield "An earlier ballot may have accepted it already, so later chairs had to put it to the vote again."


def _accepting(page: TaskPage, accepted: ProposalView) -> tuple[int, list[str]]:
    """The first ballot in which a quorum approved, and who did."""
    for ballot in sorted({vote.ballot for vote in page.task.votes}):
        approving = [vote.scorer for vote in page.task.votes if _approves(vote, ballot, accepted, page.electorate)]
        if len(approving) >= page.quorum:
            return ballot, approving
    return 0, []


def _approves(vote: VoteView, ballot: int, split: ProposalView, electorate: Sequence[str]) -> bool:
    counts = vote.approve and not vote.void and vote.scorer in electorate
    return counts and vote.ballot == ballot and vote.proposal == split.id


def _split(page: TaskPage, split: ProposalView, signs: Signs) -> Iterator[RenderableType]:
    facts = [votes(page.task, split), f"by {_peer(page, split.author)}", safe(split.model), _lineage(page, split)]
    yield Text.assemble(
        (f"{signs.winner if split.accepted else ' '} ", "yellow"),
        (_called(split), "bold" if split.accepted else ""),
        f"  {mark(split, signs)}",
        (f"  {', '.join(fact for fact in facts if fact)}  {short(split.id)}", "dim"),
    )
    for number, part in enumerate(split.subgoals, 1):
        yield _in(Text(f"{number} {safe(part.title)}"), 4)
    if not split.subgoals:
        yield _in(Text("do it whole, without parts"), 4)
    for score in split.scores:
        yield _in(_score(page, score), 4)


def _score(page: TaskPage, score: ScoreView) -> Text:
    marks = f"specific {score.specific:.2f}, disjoint {score.disjoint:.2f}, covering {score.covering:.2f}"
    critique = f": {safe(score.critique)}" if score.critique else ""
    basis = _BASIS.get(score.basis, "")
    return Text(f"{_peer(page, score.scorer)} marks {score.mark:.2f} ({marks}){basis}{critique}", "dim")


def _lineage(page: TaskPage, split: ProposalView) -> str:
    parent = next((other for other in page.task.proposals if other.id == split.refines), None)
    if split.refines is None:
        return ""
    return f"polished from {short(split.refines)}" + (f" of {_peer(page, parent.author)}" if parent else "")


def _ballot(page: TaskPage, ballot: BallotView) -> Iterator[Text]:
    put = " and ".join(f"“{_split_called(page, split)}”" for split in ballot.nominated)
    chair = f"{_peer(page, ballot.chair)} has the chair"
    deed = (
        f" and {'must put' if ballot.forced else 'puts'} {put} to the vote" if put else "; nothing was put to the vote"
    )
    yield Text(f"{ballot.ballot}  {chair}{deed}")
    if ballot.promised:
        yield Text(f"   moved on to it: {_people(page, ballot.promised)}", "dim")
    for vote in page.task.votes:
        if vote.ballot == ballot.ballot:
            what = f"{'for' if vote.approve else 'against'} “{_split_called(page, vote.proposal)}”"
            void = " (void: voted twice)" if vote.void else ""
            yield Text(f"   {_peer(page, vote.scorer)} {what}{void}", "red" if vote.void else "dim")


def _split_called(page: TaskPage, proposal: str) -> str:
    found = next((split for split in page.task.proposals if split.id == proposal), None)
    return f"{_called(found)} {short(proposal)}" if found else short(proposal)


def _called(split: ProposalView) -> str:
    return safe(split.strategy) or short(split.id)


def _peer(page: TaskPage, peer: str) -> str:
    return named(page.names, peer)


def _people(page: TaskPage, peers: Sequence[str]) -> str:
    names = [_peer(page, peer) for peer in peers]
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1] if names else "nobody") if part)


def _in(text: Text, cells: int) -> RenderableType:
    return Padding(text, (0, 0, 0, cells), expand=False)
