"""What must hold after every fault, whatever it was: the swarm's word to the people of a home."""

import re

from tests.hosts.host import Host
from tests.hosts.journal import journal
from tests.hosts.swarm import Swarm, tasks


def check(swarm: Swarm, told: dict[Host, str] | None = None) -> int:
    """Wait until all hosts of *swarm*, which are on and reach each other, have come to rest, and assert that

    1. every goal that was acknowledged has ended, done, on every host;
    2. all hosts have the same events and show the same digest;
    3. of every task's results one counts, the same one everywhere;
    4. the journal tells it: each host's that every goal has ended, somebody's who set it, nobody's of a bug; and of
       *told*, a pattern for a host's journal, each is found.

    How many results do not count: work that was done twice.
    """
    assert swarm.goals, "a test without a goal checks nothing"
    swarm.until(lambda: all(swarm.done(goal) for goal in swarm.goals))
    swarm.until(swarm.level)
    spare = sum(_one_result_counts(swarm, goal) for goal in swarm.goals)
    _told(swarm, told or {})
    return spare


def _one_result_counts(swarm: Swarm, goal: str) -> int:
    shown = []
    for host in swarm.hosts:
        view = swarm.view(host, goal)
        assert view is not None, f"{host.name} does not answer"
        for task in tasks(view):
            counting = [result for result in task.results if result.counts]
            worked_on = task.leaf or bool(task.children)
            assert not worked_on or len(counting) == 1, f"{host.name}: {len(counting)} results count of “{task.title}”"
        shown.append({task.id: [(result.id, result.counts) for result in task.results] for task in tasks(view)})
    assert all(other == shown[0] for other in shown), f"hosts show different results of {goal}"
    return sum(not counts for results in shown[0].values() for _, counts in results)


def _told(swarm: Swarm, told: dict[Host, str]) -> None:
    journals = {host: journal(host) for host in swarm.hosts}
    for host, entries in journals.items():
        ended = {entry.goal for entry in entries if entry.kind == "ended" and "has ended: done" in entry.text}
        assert ended >= set(swarm.goals), f"{host.name} does not tell that a goal ended:\n{_last(swarm, host)}"
        assert not any("Traceback" in entry.text for entry in entries), _last(swarm, host)
    given = {entry.goal for entries in journals.values() for entry in entries if entry.kind == "goal"}
    assert given >= set(swarm.goals), f"nobody tells who set a goal: {set(swarm.goals) - given}"
    for host, pattern in told.items():
        found = any(re.search(pattern, entry.text) for entry in journals[host])
        assert found, f"{host.name} does not tell “{pattern}”:\n{_last(swarm, host)}"


def _last(swarm: Swarm, host: Host) -> str:
    return host.log()[-6000:]
