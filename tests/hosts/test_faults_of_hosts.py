"""Daemons and hosts that die, freeze, come late, come back or are made anew in the middle of a plan."""

import base64
import os
import random
import time
from pathlib import Path

import pytest

from tests.hosts.checks import check
from tests.hosts.host import Host
from tests.hosts.journal import first
from tests.hosts.packages import install, package
from tests.hosts.swarm import AT_WORK, LEASE_S, NAMES, WORK_MS, Swarm, Work, task_of, tasks
from tests.hosts.times import REPEATS, Times

pytestmark = pytest.mark.timeout(900)
repeated = pytest.mark.parametrize("turn", range(REPEATS))

SILENT, LOST, LEVEL = "has fallen silent", "lost the link to", "level with the swarm"
AGAIN = r"claims .+ \(attempt 2\)"


def after(moment: float, host: Host, pattern: str, *, task: str = "") -> float:
    """How many seconds after *moment* the journal of *host* tells *pattern*."""
    entry = first(host, pattern, moment, task=task)
    assert entry is not None, f"{host.name} does not tell “{pattern}”:\n{host.log()[-3000:]}"
    return entry.at - moment


def shows_superseded(swarm: Swarm, host: Host, goal: str, work: Work) -> bool:
    """Whether *host* shows that *work* is superseded, with the text that was seen of it."""
    view = swarm.view(host, goal)
    assert view is not None
    return any(work.text in earlier.text for earlier in task_of(view, work.task).superseded if earlier.attempt == 1)


def retaken_once(swarm: Swarm, goal: str, work: Work) -> None:
    """Assert that the second attempt at *work* counts, and is the only one that came to a result."""
    view = swarm.view(swarm.hosts[0], goal)
    assert view is not None
    assert [(result.attempt, result.counts) for result in task_of(view, work.task).results] == [(2, True)]


@pytest.mark.core
def test_a_goal_given_on_one_host_is_planned_and_carried_out_by_all_and_seen_on_all(three: Swarm, times: Times) -> None:
    kitchen = three.hosts[0]
    started = time.time()
    goal = three.give(kitchen)
    three.end(goal)
    assert check(three) == 0, "with no fault nothing is done twice"
    view = three.view(kitchen, goal)
    assert view is not None
    assert len({result.executor for task in tasks(view) for result in task.results}) == 3
    ended = [after(started, host, "has ended: done") for host in three.hosts]
    times.note("none", "the last host shows the end after the first", max(ended) - min(ended))


@pytest.mark.core
@repeated
def test_a_daemon_that_is_killed_at_work_is_started_again_and_goes_on(three: Swarm, times: Times, turn: int) -> None:
    kitchen = three.hosts[0]
    goal = three.give(kitchen)
    work = three.caught(goal, kitchen, but=[kitchen])
    killed = time.time()
    work.host.run("systemctl", "kill", "--signal=KILL", "swarmd")
    three.end(goal)
    check(three, {kitchen: LOST, work.host: LEVEL})
    fault = "daemon killed"
    times.note(fault, "a neighbour misses the link", after(killed, kitchen, LOST))
    times.note(fault, "level again (systemd waits 2 s of it)", after(killed, work.host, LEVEL))
    times.note(fault, "its task is finished", after(killed, kitchen, "finishes", task=work.task))


@pytest.mark.core
@repeated
def test_a_host_that_dies_while_it_streams_loses_its_task_once_and_catches_up(
    three: Swarm, times: Times, turn: int
) -> None:
    kitchen = three.hosts[0]
    goal = three.give(kitchen)
    work = three.caught(goal, kitchen, but=[kitchen])
    rest = [host for host in three.hosts if host is not work.host]
    died = time.time()
    three.cut_power(work.host)
    three.until(lambda: all(shows_superseded(three, host, goal, work) for host in rest))
    three.end(goal, rest)
    takeover = min(after(died, host, AGAIN, task=work.task) for host in rest)
    assert takeover <= LEASE_S + 10
    started = time.time()
    work.host.boot()
    assert check(three, {kitchen: SILENT, work.host: LEVEL}) == 0
    retaken_once(three, goal, work)
    fault = "host killed while it streams"
    times.note(fault, "its neighbours miss it", min(after(died, host, SILENT) for host in rest))
    times.note(fault, f"another takes its task (lease {LEASE_S:g} s)", takeover)
    times.note(fault, "level again after power-on", after(started, work.host, LEVEL))


def test_a_host_that_dies_right_after_claiming_loses_its_task_once(three: Swarm) -> None:
    kitchen = three.hosts[0]
    goal = three.give(kitchen)
    work = three.caught(goal, kitchen, but=[kitchen], writing=False)
    died = time.time()
    three.cut_power(work.host)
    rest = [host for host in three.hosts if host is not work.host]
    three.end(goal, rest)
    work.host.boot()
    assert check(three, {kitchen: SILENT}) == 0
    retaken_once(three, goal, work)
    assert min(after(died, host, AGAIN, task=work.task) for host in rest) <= LEASE_S + 10


@pytest.mark.core
def test_all_hosts_are_killed_at_once_and_started_in_any_order(three: Swarm, times: Times) -> None:
    kitchen = three.hosts[0]
    goal = three.give(kitchen)
    three.caught(goal, kitchen)
    three.cut_power(*three.hosts)
    order = random.Random(8).sample(three.hosts, 3)
    started = time.time()
    for host in order:
        host.boot()
    assert check(three, dict.fromkeys(three.hosts, LEVEL)) == 0
    times.note("all hosts killed", "the goal has ended", max(after(started, host, "has ended") for host in order))


def test_of_five_hosts_two_die_while_they_deliberate_and_one_more_while_it_writes(swarm: Swarm, times: Times) -> None:
    kitchen, study, attic, *gone = [swarm.add(name) for name in NAMES]
    swarm.home.boot()
    swarm.meet()
    goal = swarm.give(kitchen)
    swarm.cut_power(*gone)
    died = time.time()
    work = swarm.caught(goal, kitchen, but=[kitchen, *gone])
    swarm.cut_power(work.host)
    rest = [host for host in (kitchen, study, attic) if host is not work.host]
    swarm.end(goal, rest)
    view = swarm.view(kitchen, goal)
    assert view is not None and (len(view.electorate), view.quorum) == (5, 3)
    times.note("three of five hosts killed", "the goal has ended", max(after(died, host, "has ended") for host in rest))
    swarm.home.boot()
    assert check(swarm, dict.fromkeys([*gone, work.host], LEVEL)) == 0


@repeated
def test_a_host_that_joins_after_the_end_and_without_who_set_the_goal_has_it_all(
    three: Swarm, times: Times, turn: int
) -> None:
    kitchen, study, attic = three.hosts
    three.end(three.give(kitchen))
    three.cut_power(kitchen)
    cellar = three.add("cellar")
    cellar.boot()
    three.until(lambda: three.level([study, attic, cellar]))
    begun = first(cellar, "swarmd .*: cellar")
    assert begun is not None
    times.note("late joiner", "it has the plan", after(begun.at, cellar, LEVEL))
    three.until(lambda: three.level([study, attic, cellar]), 10)
    kitchen.boot()
    check(three, {cellar: LEVEL})


def test_a_host_that_is_frozen_for_a_minute_loses_its_task_and_publishes_nothing_of_it(three: Swarm) -> None:
    kitchen = three.hosts[0]
    goal = three.give(kitchen)
    work = three.caught(goal, kitchen, but=[kitchen])
    work.host.freeze()
    froze = time.monotonic()
    rest = [host for host in three.hosts if host is not work.host]
    three.end(goal, rest)
    three.pass_by(60 - (time.monotonic() - froze))
    work.host.thaw()
    assert check(three, {kitchen: SILENT}) == 0
    retaken_once(three, goal, work)


@pytest.mark.parametrize("identity", ["old", "new"])
def test_a_host_that_is_installed_anew_in_the_middle_of_a_goal_catches_up(
    three: Swarm, tmp_path: Path, identity: str
) -> None:
    kitchen, _, attic = three.hosts
    old = three.status(attic)
    kept = attic.run("base64", "--wrap=0", "/var/lib/swarmd/identity.key")
    owner = int(attic.run("id", "--user", "swarmd")), int(attic.run("id", "--group", "swarmd"))
    goal = three.give(kitchen)
    three.caught(goal, kitchen)
    three.cut_power(attic)
    state = tmp_path / "restored/var/lib/swarmd"
    if identity == "old":
        state.mkdir(0o700, parents=True)
        (state / "identity.key").write_bytes(base64.b64decode(kept))
        for path in (state, state / "identity.key"):
            path.chmod(0o700 if path is state else 0o600)
            os.chown(path, *owner)
    attic = three.replace(attic, *([tmp_path / "restored"] if identity == "old" else []))
    attic.boot()
    check(three, {attic: LEVEL})
    new = three.status(attic)
    assert old is not None and new is not None
    assert (new.id == old.id) == (identity == "old")
    assert sorted(peer.name for peer in three.peers(kitchen) if peer.alive) == ["attic", "study"]


def test_a_host_whose_disk_is_full_watches_and_takes_part_again_when_there_is_room(three: Swarm) -> None:
    kitchen, _, attic = three.hosts
    attic.run("systemctl", "stop", "swarmd.socket", "swarmd")
    attic.run("cp", "-a", "/var/lib/swarmd", "/var/lib/kept")
    attic.run("mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "none", "/var/lib/swarmd")
    attic.run("sh", "-c", "chown swarmd: /var/lib/swarmd; cp -a /var/lib/kept/. /var/lib/swarmd")
    attic.run("systemctl", "start", "swarmd")
    three.meet()
    goal = three.give(kitchen)
    three.caught(goal, kitchen)
    attic.run("dd", "if=/dev/zero", "of=/var/lib/swarmd/ballast", check=False)
    three.end(goal)
    three.until(lambda: (status := three.status(attic)) is not None and "disk takes nothing" in status.trouble)
    refused = attic.attempt("swarmctl", "goal", "A picnic")
    assert refused.returncode != 0 and "make room" in refused.stderr
    attic.run("rm", "/var/lib/swarmd/ballast")
    three.until(lambda: (status := three.status(attic)) is not None and not status.trouble)
    three.give(attic, "A picnic")
    check(three, {attic: "only observes for now: the disk takes nothing"})


def test_with_one_scorer_of_three_nothing_is_accepted_nor_with_none_until_there_is_a_quorum_again(
    swarm: Swarm,
) -> None:
    scorers = [swarm.add(name) for name in NAMES[:3]]
    watcher = swarm.add("cellar", f'roles = ["decomposer", "executor"]\n{AT_WORK}')
    swarm.home.boot()
    swarm.meet()
    goal = swarm.give(watcher)
    swarm.until(lambda: swarm.view(scorers[0], goal))
    swarm.cut_power(*scorers[1:])

    def waits() -> str:
        view = swarm.view(watcher, goal)
        return view.root.waits if view is not None else ""

    swarm.until(lambda: waits() == "1 of 3 scorers are here, 2 must agree")
    swarm.pass_by(3 * WORK_MS / 1_000)
    assert waits() == "1 of 3 scorers are here, 2 must agree"
    swarm.cut_power(scorers[0])
    swarm.until(lambda: waits() == "0 of 3 scorers are here, 2 must agree")
    for host in scorers[:2]:
        host.boot()
    swarm.end(goal, [watcher, *scorers[:2]])
    scorers[2].boot()
    assert check(swarm, {watcher: SILENT}) == 0


@pytest.mark.timeout(1_800)
def test_the_embedded_model_ends_a_goal_though_a_host_dies(swarm: Swarm) -> None:
    settings = '[model]\nbackend = "embedded"\n[timing]\npresence_s = 1.0\ndeliberation_s = 20.0\n'
    hosts = [swarm.add(name, settings, suite="bookworm") for name in NAMES[:3]]
    swarm.home.boot()
    for host in hosts:
        install(host, package(host.suite, "swarmd-model-smollm2"))
        host.run("systemctl", "restart", "swarmd")
    swarm.until(lambda: all((s := swarm.status(host)) is not None and s.backend == "embedded" for host in hosts))
    swarm.meet()
    goal = swarm.give(hosts[0])
    work = swarm.caught(goal, hosts[0], but=hosts[:1])
    swarm.cut_power(work.host)
    swarm.until(lambda: swarm.done(goal, [host for host in hosts if host is not work.host]), 600)
    work.host.boot()
    check(swarm, {work.host: LEVEL})
