"""A host whose clock is wrong, in the middle of a plan."""

import pytest

from tests.hosts.checks import check
from tests.hosts.daemon import set_clock
from tests.hosts.swarm import Swarm

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("offset", ["+1h", "-10m", pytest.param("@1970-01-01 00:01:00", marks=pytest.mark.core)])
def test_a_wrong_clock_in_the_midst_of_a_goal_holds_nobody_up(three: Swarm, offset: str) -> None:
    kitchen, study, _ = three.hosts
    goal = three.give(kitchen)
    three.caught(goal, kitchen)
    set_clock(study, offset)
    three.end(goal)
    three.meet()
    three.end(three.give(study, "A picnic by the lake"))
    check(three)
    set_clock(study, None)
    three.meet()
    three.give(study, "Tidy the shed")
    check(three)
