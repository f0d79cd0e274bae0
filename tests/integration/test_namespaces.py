"""Daemons on machines of their own: addresses, interfaces and cables that come and go."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from swarmd.events.envelope import Opened
from swarmd.events.kinds import Cancel
from swarmd.replica.status import StatusView
from swarmd.store.journal import Journal
from tests.household import PEERS, SWARM, Household, at, part
from tests.integration.bridge import NEIGHBOUR_KEY, PATIENCE_S, Host, Lan, lan, needs_root

pytestmark = needs_root


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Lan]:
    with lan(tmp_path) as built:
        yield built


def meet(*hosts: Host, seconds: float = PATIENCE_S) -> float:
    """Wait until each is linked with each other one; how long it took."""
    names = {host.name for host in hosts}
    return hosts[0].until(lambda: all(host.linked() == names - {host.name} for host in hosts), seconds)


def now(host: Host) -> StatusView:
    status = host.status()
    assert status is not None, host.log()[-4000:]
    return status


def test_a_host_tells_others_its_lan_addresses_only_and_two_swarms_on_one_lan_never_mix(home: Lan) -> None:
    one, two, neighbour = home.host(), home.host(), home.host(key=NEIGHBOUR_KEY)
    for name, address in (("docker0", "172.17.0.1/16"), ("tun0", "10.8.0.2/24"), ("veth7", "172.18.0.1/16")):
        one.net.ip("link", "add", name, "type", "veth", "peer", "name", f"far{name}")
        one.net.ip("addr", "add", address, "dev", name)
        one.net.ip("link", "set", name, "up")
        one.net.ip("link", "set", f"far{name}", "up")
    for host in home.hosts:
        host.start()
    meet(one, two)
    assert [address.split("/p2p/")[0] for address in now(one).addresses] == ["/ip4/10.77.0.1/tcp/4001"]
    assert "172." not in two.log() and "10.8." not in two.log()
    goal = one.give("Tidy the shed")
    two.until(lambda: (view := two.goal(goal)) is not None and view.status == "done")
    status = now(neighbour)
    assert status.peers_connected == status.peers_alive == status.events == 0
    assert not status.refused.get("dials_failed")
    assert any("another swarm is on this network" in notice for notice in status.notices)


def test_without_multicast_one_static_line_is_enough_and_the_address_is_known_after_a_restart(home: Lan) -> None:
    one, two = home.host(), home.host()
    home.drop_multicast()
    one.start()
    two.start("/ip4/10.77.0.1/tcp/4001")
    assert meet(one, two) <= 30
    two.until(lambda: any("multicast" in notice for notice in now(two).notices))
    one.until(lambda: (one.folder / "state" / "neighbours.json").exists())
    for host in (one, two):
        host.kill()
    two.start()
    one.start()
    assert meet(one, two) <= 30


def test_a_host_whose_interface_comes_up_late_joins_without_a_restart(home: Lan) -> None:
    one, two = home.host(), home.host(up=False)
    one.start()
    two.start()
    two.until(lambda: any("no interface" in notice for notice in now(two).notices))
    two.link(up=True)
    assert meet(one, two, seconds=15) <= 15


def test_a_host_whose_address_changes_in_the_middle_of_a_plan_goes_on_and_leaves_no_ghost(home: Lan) -> None:
    one, two = home.host(), home.host()
    one.start(delay_ms=400)
    two.start(delay_ms=400)
    meet(one, two)
    goal = one.give("Tidy the shed")
    two.until(lambda: (view := two.goal(goal)) is not None and view.events > 6)
    two.address("10.77.0.99/24")
    two.until(lambda: "10.77.0.99" in "".join(now(two).addresses))
    meet(one, two)
    assert [address.split("/")[2] for address in now(two).addresses] == ["10.77.0.99"]
    one.until(lambda: (view := one.goal(goal)) is not None and view.status == "done")
    assert [peer.name for peer in one.peers()] == ["host2"]
    one.until(lambda: now(one).digest == now(two).digest)


def test_two_hosts_with_nothing_but_link_local_addresses_find_each_other(home: Lan) -> None:
    one, two = home.host("fe80::1/64"), home.host("fe80::2/64")
    one.start()
    two.start()
    meet(one, two)


def test_a_link_that_is_cut_in_silence_is_found_within_thirty_seconds_and_comes_back(home: Lan) -> None:
    one, two = home.host(), home.host()
    one.start()
    two.start()
    meet(one, two)
    two.cable(plugged=False)
    one.until(lambda: not now(one).peers_connected, 30)
    two.cable(plugged=True)
    meet(one, two)


def test_a_killed_daemon_is_back_in_both_directions_within_ten_seconds(home: Lan) -> None:
    one, two = home.host(), home.host()
    one.start()
    two.start()
    meet(one, two)
    two.kill()
    one.until(lambda: not one.linked())
    two.start()
    assert meet(one, two, seconds=10) <= 10


def test_a_late_joiner_gets_10_000_events_within_five_seconds_and_moves_little_more_than_they_weigh(
    home: Lan, tmp_path: Path
) -> None:
    said = a_long_goal(10_000)
    one, two = home.host(key=SWARM.key), home.host(key=SWARM.key)
    journal = Journal(one.folder / "state" / "journal.db")
    journal.append([opened.envelope for opened in said], sync=True)
    journal.close()
    one.start()
    two.start()
    before = two.received_bytes()
    two.until(lambda: "linked with" in two.log(), 15)
    busy_before = two.busy_s()
    two.until(lambda: f"level with the swarm: {len(said)}" in two.log(), 30)
    busy = two.busy_s() - busy_before  # with a core of its own, that is how long it took
    moved = (two.received_bytes() - before) / sum(opened.envelope.size for opened in said)
    assert now(one).digest == now(two).digest
    assert busy <= 5
    assert moved <= 1.15, f"{moved:.3f} times the bytes that it lacked"


def a_long_goal(events: int) -> list[Opened]:
    """The members and one goal with very many proposals, as a household might have after weeks."""
    household = Household()
    goal = household.goal(PEERS[0], PEERS)
    parts = [part(f"{title} of the trip, with all that belongs to it") for title in ("flights", "hotels", "museums")]
    for number in range(events - len(household.said) - 1):
        household.proposal(PEERS[number % len(PEERS)], goal, goal, 10 + number, part(f"plan {number}"), *parts)
    household.say(Cancel(author=PEERS[0], hlc=at(events + 10), goal=goal))
    return household.said
