"""Who is alive is judged on our own monotonic clock; what time it is, by the median of those who can know."""

from swarmd.gossip.frames import Presence
from swarmd.gossip.roster import Roster
from swarmd.vocab import limits
from swarmd.vocab.ids import PeerId
from tests.household import PEERS, WALL_MS

PERIOD = 1_000


def presence(*roles: str, wall_ms: int = WALL_MS, leaving: bool = False) -> Presence:
    return Presence(
        name="shed", roles=roles, wall_ms=wall_ms, hlc=0, fingerprint=bytes(16), run=bytes(16), leaving=leaving
    )


def heard(*walls_ms: int) -> Roster:
    roster = Roster(PERIOD)
    for peer, wall_ms in zip(PEERS, walls_ms, strict=False):
        roster.hear(peer, presence(wall_ms=wall_ms), 0)
    return roster


def test_a_peer_is_alive_until_three_presences_in_a_row_are_lost() -> None:
    roster = heard(WALL_MS)
    assert PEERS[0] in roster.alive(3 * PERIOD)
    assert PEERS[0] not in roster.alive(4 * PERIOD)


def test_a_peer_that_said_goodbye_is_gone_at_once() -> None:
    roster = heard(WALL_MS)
    before = roster.hear(PEERS[0], presence(leaving=True), 10)
    assert before is not None
    assert not before.leaving
    assert not roster.alive(10)


def test_the_roster_is_bounded_and_drops_the_oldest_word_first() -> None:
    roster = Roster(PERIOD)
    for number in range(limits.PEERS_MAX + 5):
        roster.hear(PeerId(f"peer{number}"), presence(), number)
    assert len(roster.seen) == limits.PEERS_MAX
    assert "peer4" not in roster.seen
    assert "peer5" in roster.seen


def test_a_right_clock_among_right_clocks_stays_where_it_is() -> None:
    assert heard(WALL_MS, WALL_MS).offset_ms(WALL_MS, 0) == 0


def test_one_bad_clock_does_not_drag_the_others() -> None:
    assert heard(WALL_MS, WALL_MS + 10**9).offset_ms(WALL_MS, 0) == 0


def test_of_two_machines_that_disagree_neither_chases_the_other_into_the_future() -> None:
    assert heard(WALL_MS + 10**9).offset_ms(WALL_MS, 0) == 0


def test_a_machine_of_1970_follows_the_swarm_and_has_no_say_in_it() -> None:
    assert heard(WALL_MS, WALL_MS + 4).offset_ms(0, 0) == WALL_MS
    assert heard(0, 0, 0).offset_ms(WALL_MS, 0) == 0
    assert heard(0, 0).offset_ms(0, 0) == 0, "nobody knows"
