"""What need not be remembered for ever: goals that ended long ago, and the oldest ended ones beyond a bound of size.

A pure function of the event set, so that peers with equal sets forget alike and stay level. Time is what the events
say, those of two authors at least, since one wrong clock must not make anybody forget.
"""

from swarmd.gossip.eventset import EventSet
from swarmd.plan.plan import GoalPlan, Plan
from swarmd.vocab import hlc, limits
from swarmd.vocab.hlc import Hlc
from swarmd.vocab.ids import GoalId


def lapsed(plan: Plan, events: EventSet) -> list[GoalId]:
    """Ended goals to forget, oldest first."""
    newest: dict[str, int] = {}
    for opened in events:
        newest[opened.event.author] = max(opened.event.hlc, newest.get(opened.event.author, 0))
    now_ms = hlc.wall_ms(Hlc(sorted(newest.values())[-2:][0])) if newest else 0
    ended = sorted(
        (goal for goal in plan.goals.values() if goal.ended), key=lambda goal: (_last(events, goal), goal.id)
    )
    kept_bytes = 0
    old: list[GoalId] = []
    for goal in reversed(ended):
        kept_bytes += events.size(goal.id)
        age_ms = now_ms - hlc.wall_ms(Hlc(_last(events, goal)))
        if age_ms > limits.ENDED_MS_MAX or kept_bytes > limits.ENDED_BYTES_MAX:
            old.append(goal.id)
    return old[::-1]


def _last(events: EventSet, goal: GoalPlan) -> int:
    """The stamp of the last event of *goal*."""
    return events.groups[goal.id].keys[-1][0] if goal.id in events.groups else 0
