"""Real daemons that have missed something: gossip, a goal's whole life, a day of their own, a change of the key."""

import shutil
import subprocess
import sys
from pathlib import Path

from swarmd.events.envelope import Opened, Swarm, open_envelope
from swarmd.events.kinds import Promise, Vote
from swarmd.plan.plan import fold
from swarmd.store.journal import Journal
from swarmd.store.keys import read_swarm
from tests.household import SWARM
from tests.integration.row import Daemon, level, meet, row
from tests.integration.test_namespaces import a_long_goal

SYNC_S = 10.0  # what gossip loses is there after that


def journal_of(daemon: Daemon, swarm: Swarm) -> list[Opened]:
    """What a daemon that has ended kept, in the order in which it came."""
    journal = Journal(daemon.journal)
    try:
        return [open_envelope(envelope, swarm) for envelope in journal.load()]
    finally:
        journal.close()


def test_what_gossip_loses_sync_brings_within_ten_seconds(folder: Path) -> None:
    with row(folder, SWARM, "attic") as [attic]:
        barn = Daemon(folder / "barn", SWARM, "tests.integration.deaf")
        try:
            attic.start(presence_s=4.0)  # as configured by default
            barn.start(attic, presence_s=4.0)
            meet([attic, barn])
            for number in range(3):
                goal = attic.give(f"Tidy shed number {number}", depth=0)
                assert barn.until(lambda goal=goal: barn.goal(goal) is not None, SYNC_S) <= SYNC_S  # type: ignore[misc]
        finally:
            barn.kill()


def test_a_late_joiner_learns_500_events_and_a_dead_peers_goal_within_ten_seconds_from_any_one_peer(
    folder: Path,
) -> None:
    with row(folder, SWARM, "attic", "barn", "cellar", "late1", "late2") as daemons:
        attic, barn, cellar, *late = daemons
        first = [attic, barn, cellar]
        journal = Journal(attic.journal)
        journal.append([opened.envelope for opened in a_long_goal(500)], sync=True)
        journal.close()
        start_all(first)
        goal = attic.give("Tidy the shed")
        attic.until(lambda: all(daemon.finished(goal) for daemon in first))
        level(first)
        wanted = attic.now().digest
        attic.kill()
        for joiner, only in zip(late, (barn, cellar), strict=True):
            joiner.start(only)
            assert joiner.until(lambda joiner=joiner: joiner.now().digest == wanted, SYNC_S) <= SYNC_S  # type: ignore[misc]
            assert joiner.finished(goal)
            joiner.kill()


def test_a_daemon_with_an_older_backup_of_its_store_catches_up_before_it_speaks_and_breaks_no_promise(
    folder: Path,
) -> None:
    with row(folder, SWARM, "attic", "barn", "cellar") as daemons:
        attic, barn, cellar = daemons
        attic.start(delay_ms=2_500)
        barn.start(attic, delay_ms=2_500)
        cellar.start(attic, barn, delay_ms=2_500)
        meet(daemons)
        me = cellar.now().id
        goal = attic.give("Plan a two-week trip to Japan", depth=2)
        cellar.until(lambda: spoken(cellar, goal) >= 3)
        cellar.kill()
        shutil.copytree(cellar.folder / "state", folder / "backup")
        cellar.start(attic, barn, delay_ms=2_500)
        before = spoken(cellar, goal)
        cellar.until(lambda: spoken(cellar, goal) >= before + 3)
        cellar.kill()
        said = journal_of(cellar, SWARM)
        shutil.rmtree(cellar.folder / "state")
        shutil.copytree(folder / "backup", cellar.folder / "state")
        old = len(journal_of(cellar, SWARM))
        assert old < len(said)
        cellar.start(attic, barn, delay_ms=2_500)
        attic.until(lambda: all(daemon.finished(goal) for daemon in daemons))
        level(daemons)
        for daemon in daemons:
            daemon.kill()
        kept = journal_of(cellar, SWARM)
        others = {opened.id for opened in journal_of(attic, SWARM)}
        assert {opened.id for opened in kept} == others
        known = {opened.id for opened in said} & others  # its last word may have died with it
        fresh = [place for place, opened in enumerate(kept) if opened.event.author == me and opened.id not in known]
        assert fresh, "it had nothing left to say: the backup was made too late"
        assert known <= {opened.id for opened in kept[: fresh[0]]}, "it spoke before it had caught up"
        assert_no_promise_is_broken(kept)


def test_a_swarm_changes_its_key_daemon_by_daemon_and_loses_nothing(folder: Path) -> None:
    with row(folder, SWARM, "attic", "barn", "sold") as daemons:
        *household, sold = daemons
        attic, barn = household
        start_all(household)
        goals = [attic.give("Tidy the shed")]
        attic.until(lambda: all(daemon.finished(goals[0]) for daemon in household))
        for step in ("rotate", "retire"):
            change_key(attic, step)
            for daemon in household:
                daemon.hold(read_swarm(attic.folder / "swarm.key"))
                daemon.kill()
                daemon.start(*(other for other in household if other is not daemon))
                meet(household)
                goals.append(daemon.give(f"Tidy shed number {len(goals)}"))
            barn.until(lambda: all(daemon.finished(goal) for daemon in household for goal in goals))
        level(household)
        sold.start(attic)
        sold.until(lambda: any("swarm's key" in notice for notice in sold.now().notices), 15)
        assert not sold.now().peers_connected
        swarm = read_swarm(barn.folder / "swarm.key")
        assert (swarm.id, swarm.retired) == (SWARM.id, SWARM.keys) and swarm.key != SWARM.key
        assert all(daemon.finished(goal) for daemon in household for goal in goals)


def start_all(daemons: list[Daemon]) -> None:
    """Start each with the ones before it as static peers, and wait until all are linked."""
    for number, daemon in enumerate(daemons):
        daemon.start(*daemons[:number])
    meet(daemons)


def change_key(daemon: Daemon, step: str) -> None:
    """`swarmd key rotate` or `retire`, as a person runs it."""
    subprocess.run(
        [sys.executable, "-m", "swarmd", "key", step, "--file", str(daemon.folder / "swarm.key")],
        check=True, capture_output=True,
    )  # fmt: skip


def spoken(daemon: Daemon, goal: str) -> int:
    """How much of its own a daemon has said in a goal."""
    if daemon.goal(goal) is None:
        return 0
    me = daemon.now().id
    page = daemon.ask(lambda client: client.events(goal=goal, peer=me))
    return sum(event.kind in ("score", "vote", "claim", "result") for event in page.events)


def assert_no_promise_is_broken(events: list[Opened]) -> None:
    """Nobody votes twice in a ballot, nor, after a promise, in a ballot below it."""
    plan = fold(events, SWARM)
    books = [book for goal in plan.goals.values() for book in goal.books.values()]
    assert not any(book.ballots.equivocators() for book in books)
    promises = [opened.event for opened in events if isinstance(opened.event, Promise)]
    for opened in events:
        vote = opened.event
        if isinstance(vote, Vote):
            later = [p for p in promises if (p.author, p.task) == (vote.author, vote.task) and p.ballot > vote.ballot]
            assert all(vote.hlc < promise.hlc for promise in later)
