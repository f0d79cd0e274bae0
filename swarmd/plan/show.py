"""From the fold to what people see. `names`, `streams` and `waits` are this peer's knowledge of the moment."""

from collections.abc import Callable, Mapping

from swarmd.events.kinds import Proposal
from swarmd.plan.ballot import Forced
from swarmd.plan.claims import claim_order, valid
from swarmd.plan.plan import GoalPlan
from swarmd.plan.report import walk
from swarmd.plan.task import Task, TaskBook, holder_of, result_of
from swarmd.plan.views import (
    BallotView,
    ClaimView,
    GoalLine,
    GoalView,
    ProposalView,
    ResultView,
    ScoreView,
    SubgoalView,
    SupersededView,
    TaskPage,
    TaskStatus,
    TaskView,
    VoteView,
)
from swarmd.vocab import hlc
from swarmd.vocab.hlc import Hlc
from swarmd.vocab.ids import EventId, PeerId


def goal_line(plan: GoalPlan) -> GoalLine:
    """A goal whose `Goal` event is known, in one line."""
    assert plan.goal is not None
    tasks = list(plan.walk())
    return GoalLine(
        id=plan.id,
        text=plan.goal.text,
        status=plan.status,
        created_ms=hlc.wall_ms(Hlc(plan.goal.hlc)),
        tasks=len(tasks),
        done=sum(task.finished for task in tasks),
    )


def goal_view(
    plan: GoalPlan,
    name: Callable[[PeerId], str],
    streams: Mapping[EventId, str],
    waits: Callable[[Task], str],
) -> GoalView:
    """The whole of a goal whose `Goal` event is known. *streams*: text being written, by claim."""
    assert plan.goal is not None and plan.root is not None
    line = goal_line(plan)
    electorate = plan.electorate
    root = _task_view(plan, plan.root, streams, waits)
    people = {plan.goal.author, *electorate.members}
    for book in plan.books.values():
        people |= {p.author for p in book.proposals.values()}
        people |= {scorer for marks in book.scores.values() for scorer in marks}
        people |= {peer for said in book.ballots.votes.values() for peer in said}
        people |= {event.author for event in (*book.claims.values(), *book.results.values())}
    return GoalView(
        id=plan.id,
        text=plan.goal.text,
        status=line.status,
        author=plan.goal.author,
        created_ms=line.created_ms,
        ended_ms=_ended_ms(plan),
        electorate=electorate.members,
        quorum=electorate.quorum,
        limits=plan.goal.limits,
        policy=plan.goal.policy,
        forced_amend=plan.forced,
        cancel_reason=plan.cancel.reason if plan.cancel else "",
        root=root,
        tasks=line.tasks,
        done=line.done,
        events=plan.events,
        digest=plan.digest(),
        names={peer: name(peer) for peer in sorted(people)},
    )


def task_page(plan: GoalPlan, task: Task, view: GoalView) -> TaskPage:
    """One task of *view*, which shows *plan*, with its ballots."""
    ballots, electorate = plan.book(task.id).ballots, plan.electorate
    spoken = sorted({*ballots.votes, *ballots.promises, *ballots.nominations}) if electorate.members else []
    valid = {number: ballots.valid_nominations(number, electorate) for number in spoken}
    return TaskPage(
        goal=plan.id,
        path=tuple(above.title for above in plan.ancestors(task)),
        task=next(found for found in walk(view.root) if found.id == task.id),
        ballots=tuple(
            BallotView(
                ballot=number,
                chair=electorate.chair(task.id, number),
                nominated=tuple(dict.fromkeys(nomination.proposal for _, nomination, _ in valid[number])),
                forced=any(isinstance(recovery, Forced) for *_, recovery in valid[number]),
                promised=tuple(sorted(ballots.promises.get(number, ()))),
            )
            for number in spoken
        ),
        electorate=view.electorate,
        quorum=view.quorum,
        policy=view.policy,
        names=view.names,
    )


def below_threshold(plan: GoalPlan, book: TaskBook, proposal: EventId) -> bool:
    """Whether a split is taken for want of a better one."""
    assert plan.goal is not None
    mean = book.mean(proposal, plan.electorate.members)
    return mean is not None and mean < plan.goal.policy.threshold


def _ended_ms(plan: GoalPlan) -> int | None:
    if plan.status == "open":
        return None
    if plan.cancel is not None:
        return hlc.wall_ms(Hlc(plan.cancel.hlc))
    stamps = [r.hlc for task in plan.walk() for r in plan.book(task.id).results.values()]
    return hlc.wall_ms(Hlc(max(stamps, default=0)))


def _task_view(plan: GoalPlan, task: Task, streams: Mapping[EventId, str], waits: Callable[[Task], str]) -> TaskView:
    book = plan.book(task.id)
    claim = holder_of(task, book)
    held = book.claims[claim] if claim else None
    counts = result_of(task, book)
    members = plan.electorate.members
    accepted = task.accepted.proposal if task.accepted else None
    return TaskView(
        id=task.id,
        title=task.title,
        detail=task.detail,
        depth=task.depth,
        leaf=task.leaf,
        status=_status(plan, task, book),
        proposals=tuple(
            _proposal_view(book, identifier, proposal, members, accepted)
            for identifier, proposal in sorted(book.proposals.items(), key=lambda item: (item[1].hlc, item[0]))
        ),
        votes=tuple(
            VoteView(scorer=peer, ballot=ballot, proposal=proposal, approve=approve, void=len(said) > 1)
            for ballot, votes in sorted(book.ballots.votes.items())
            for peer, said in sorted(votes.items())
            for proposal, approve in sorted(said)
        ),
        ballot=book.ballots.current(plan.electorate),
        below_threshold=accepted is not None and below_threshold(plan, book, accepted),
        claim=ClaimView(id=claim, executor=held.author, attempt=held.attempt, since_ms=hlc.wall_ms(Hlc(held.hlc)))
        if claim and held
        else None,
        superseded=_superseded(task, book, streams),
        results=tuple(
            ResultView(
                id=identifier,
                executor=result.author,
                attempt=result.attempt,
                status=result.status,
                text=result.text,
                model=result.model,
                tokens=result.usage.tokens,
                ms=result.usage.ms,
                counts=identifier == counts,
            )
            for identifier, result in sorted(book.results.items(), key=lambda item: (item[1].hlc, item[0]))
        ),
        children=tuple(_task_view(plan, plan.tasks[child], streams, waits) for child in task.children),
        stream=streams.get(claim, "") if claim and not task.finished else "",
        waits=waits(task),
    )


def _superseded(task: Task, book: TaskBook, streams: Mapping[EventId, str]) -> tuple[SupersededView, ...]:
    """Of each attempt before the present one, the claim that held the task, if it came to nothing; the first attempt
    first."""
    holders: dict[int, EventId] = {}
    for identifier, claim in sorted(valid(book.claims, task.born).items(), key=lambda item: claim_order(*item)):
        holders.setdefault(claim.attempt, identifier)
    ended = {(result.claim, result.author, result.attempt) for result in book.results.values()}
    earlier = [(holders[attempt], book.claims[holders[attempt]]) for attempt in sorted(holders)[:-1]]
    return tuple(
        SupersededView(id=identifier, executor=claim.author, attempt=claim.attempt, text=streams.get(identifier, ""))
        for identifier, claim in earlier
        if (identifier, claim.author, claim.attempt) not in ended
    )


def _proposal_view(
    book: TaskBook, identifier: EventId, proposal: Proposal, members: tuple[PeerId, ...], accepted: EventId | None
) -> ProposalView:
    scores = book.scores.get(identifier, {})
    return ProposalView(
        id=identifier,
        author=proposal.author,
        strategy=proposal.strategy,
        model=proposal.model,
        refines=proposal.refines,
        generation=book.generation(identifier),
        subgoals=tuple(SubgoalView(title=s.title, detail=s.detail, leaf=s.leaf) for s in proposal.subgoals),
        scores=tuple(
            ScoreView(
                scorer=peer,
                specific=score.specific,
                disjoint=score.disjoint,
                covering=score.covering,
                mark=score.mark,
                critique=score.critique,
                model=score.model,
                basis=score.basis,
            )
            for peer, (_, _, score) in sorted(scores.items())
        ),
        mean=book.mean(identifier, members),
        accepted=identifier == accepted,
    )


def _status(plan: GoalPlan, task: Task, book: TaskBook) -> TaskStatus:
    if task.state in ("done", "failed"):
        return "done" if task.state == "done" else "failed"
    if plan.cancel is not None:
        return "cancelled"
    if task.state == "open":
        return "deliberating" if book.proposals else "open"
    if task.state == "split":
        return "split"
    claim = holder_of(task, book)
    if claim is not None and not book.outcomes(claim):
        return "claimed"
    return "waiting" if plan.blocked(task) else "ready"
