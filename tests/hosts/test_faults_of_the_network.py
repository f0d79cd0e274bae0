"""Cables, switches, addresses and routers that fail in the middle of a plan."""

import time

import pytest

from tests.hosts.checks import check
from tests.hosts.host import LAN_INTERFACE
from tests.hosts.journal import first
from tests.hosts.lan import PREFIX
from tests.hosts.swarm import AT_WORK, LEASE_S, NAMES, TASKS, Swarm, task_of
from tests.hosts.test_faults_of_hosts import AGAIN, LEVEL, SILENT, after, repeated
from tests.hosts.times import Times

pytestmark = pytest.mark.timeout(900)

HEALED_S_MAX = 15.0  # on a loaded machine


def test_a_host_whose_cable_is_pulled_in_the_midst_of_a_task_loses_it_and_catches_up(three: Swarm) -> None:
    kitchen = three.hosts[0]
    goal = three.give(kitchen)
    work = three.caught(goal, kitchen, but=[kitchen])
    three.home.plug(work.host, into_switch=False)
    three.end(goal, [host for host in three.hosts if host is not work.host])
    three.home.plug(work.host, into_switch=True)
    assert check(three, {kitchen: SILENT, work.host: SILENT}) <= TASKS, "each side does a task once"


@pytest.mark.core
@repeated
def test_a_host_that_is_cut_off_in_silence_says_its_part_when_it_is_back(three: Swarm, times: Times, turn: int) -> None:
    kitchen = three.hosts[0]
    goal = three.give(kitchen)
    work = three.caught(goal, kitchen, but=[kitchen])
    rest = [host for host in three.hosts if host is not work.host]
    cut = time.time()
    three.home.partition(rest, [work.host])
    alone = three.give(work.host, "A picnic by the lake")
    three.end(goal, rest)
    three.until(lambda: first(kitchen, SILENT, cut))
    view = three.view(work.host, alone)
    assert view is not None and view.status == "open", "one of three scorers decides nothing"
    three.home.heal()
    healed = time.time()
    three.until(lambda: three.view(kitchen, alone), HEALED_S_MAX)
    known_s = time.time() - healed
    assert check(three, {kitchen: SILENT, work.host: SILENT}) <= 2 * TASKS, "each side does a task once"
    fault = "silent partition 2 + 1"
    times.note(fault, "the majority misses the third", min(after(cut, host, SILENT) for host in rest))
    takeovers = [entry.at - cut for host in rest if (entry := first(host, AGAIN, cut, task=work.task))]
    times.note(fault, f"another takes its task (lease {LEASE_S:g} s)", min(takeovers))
    times.note(fault, "each side knows the other's words after the heal", known_s)


def test_two_halves_that_do_the_same_leaf_keep_both_results_and_count_one(swarm: Swarm, times: Times) -> None:
    hosts = [swarm.add(name) for name in NAMES[:4]]
    swarm.home.boot()
    swarm.meet()
    kitchen = hosts[0]
    goal = swarm.give(kitchen)
    work = swarm.caught(goal, kitchen, but=[kitchen])
    theirs = next(host for host in hosts if host not in (kitchen, work.host))
    ours = [host for host in hosts if host not in (work.host, theirs)]
    swarm.home.partition(ours, [work.host, theirs])

    def results(host: object) -> int:
        view = next((swarm.view(each, goal) for each in hosts if each is host), None)
        return len(task_of(view, work.task).results) if view is not None else 0

    swarm.until(lambda: results(work.host) == 1 and results(ours[0]) == 1)
    swarm.end(goal)
    swarm.home.heal()
    healed_s = swarm.until(swarm.level, HEALED_S_MAX)
    assert check(swarm, {kitchen: SILENT, work.host: SILENT}) <= TASKS, "each half does a task once"
    assert {results(host) for host in hosts} == {2}
    times.note("silent partition 2 + 2", "level again after the heal", healed_s)


def test_a_goal_ends_though_a_fifth_of_all_frames_is_lost(three: Swarm, times: Times) -> None:
    three.home.lose(20)
    times.note("20 % of frames lost", "the goal has ended", three.end(three.give(three.hosts[0])))
    three.end(three.give(three.hosts[1], "A picnic by the lake"))
    three.until(three.level)
    check(three)


def test_without_multicast_one_static_peer_is_enough(swarm: Swarm, times: Times) -> None:
    static = f'[net]\npeers = ["/ip4/{PREFIX}2/tcp/4001"]\n'
    hosts = [swarm.add(NAMES[0])]
    hosts += [swarm.add(name, AT_WORK + static) for name in NAMES[1:3]]
    assert hosts[0].address == f"{PREFIX}2"
    swarm.home.drop_multicast()
    swarm.home.boot()
    times.note("multicast dropped", "all joined after the last has booted", swarm.meet(seconds=30))
    swarm.end(swarm.give(hosts[1]))
    check(swarm)


def test_a_host_whose_address_changes_in_the_midst_of_a_task_is_found_again_and_leaves_no_ghost(
    three: Swarm, times: Times
) -> None:
    kitchen = three.hosts[0]
    goal = three.give(kitchen)
    work = three.caught(goal, kitchen, but=[kitchen])
    moved = time.time()
    three.home.address(work.host, f"{PREFIX}99")
    three.until(lambda: first(work.host, f"now at .*{PREFIX}99", moved), 60)
    three.until(
        lambda: all((s := three.status(host)) is not None and s.peers_connected == 2 for host in three.hosts), 60
    )
    linked_s = time.time() - moved
    assert linked_s <= 60
    check(three, {work.host: f"{PREFIX}99"})
    view = three.view(kitchen, goal)
    assert view is not None
    assert len(task_of(view, work.task).results) == 1, "its claim is kept, or retaken once"
    assert {peer.name for peer in three.peers(kitchen)} == {host.name for host in three.hosts[1:]}
    assert len(three.peers(kitchen)) == 2
    times.note("address changed", "linked with all again", linked_s)


def test_a_host_whose_interface_comes_up_a_minute_late_joins_without_a_restart(swarm: Swarm, times: Times) -> None:
    kitchen, study, attic = (swarm.add(name) for name in NAMES[:3])
    attic.net.ip("link", "set", LAN_INTERFACE, "down")
    swarm.home.boot()
    up = time.monotonic()
    swarm.meet([kitchen, study])
    goal = swarm.give(kitchen)
    swarm.until(lambda: first(attic, "no LAN interface is up"))
    swarm.pass_by(60 - (time.monotonic() - up))
    process = attic.run("systemctl", "show", "--property=MainPID", "swarmd")
    attic.net.ip("link", "set", LAN_INTERFACE, "up")
    times.note("interface up late", "joined after link-up", swarm.meet(seconds=15))
    assert attic.run("systemctl", "show", "--property=MainPID", "swarmd") == process
    swarm.end(goal)
    check(swarm, {attic: LEVEL})
