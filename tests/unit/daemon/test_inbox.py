"""Who waits for whom."""

import trio

from swarmd.daemon.inbox import AUTHOR_BYTES_MAX, AUTHOR_WAITING_MAX, GOSSIP_WAITING_MAX, Inbox
from swarmd.events.envelope import Envelope, Identity
from swarmd.replica.inputs import Connected, Heard, Input, Ticked
from swarmd.vocab.ids import PeerId

PEERS = [Identity(bytes([number]) * 32).peer for number in range(12)]
FLOODER, *OTHERS = PEERS


def word(peer: PeerId, size: int = 100) -> Heard:
    return Heard((Envelope(bytes(size), b""),), peer)


def taken(inbox: Inbox) -> list[Input]:
    """Everything that waits, in the order in which it is handed out."""

    async def drain() -> list[Input]:
        inbox.arm(trio.current_time())
        out: list[Input] = []
        while not isinstance(happened := await inbox.next(), Ticked):
            out.append(happened)
        return out

    return trio.run(drain)


def test_a_peer_that_floods_waits_for_itself_and_others_go_before_it() -> None:
    inbox = Inbox()
    for _ in range(GOSSIP_WAITING_MAX):
        inbox.deliver(word(FLOODER))
    inbox.deliver(Connected(FLOODER))
    for peer in OTHERS[:3]:
        inbox.deliver(word(peer))
    order = taken(inbox)
    assert order[:5] == [Connected(FLOODER), word(FLOODER), *(word(peer) for peer in OTHERS[:3])]
    assert inbox.dropped == GOSSIP_WAITING_MAX - AUTHOR_WAITING_MAX


def test_all_else_has_every_second_turn_and_is_never_dropped() -> None:
    inbox = Inbox()
    for _ in range(3):
        inbox.deliver(word(FLOODER))
    for _ in range(2 * GOSSIP_WAITING_MAX):
        inbox.deliver(Connected(FLOODER))
    order = taken(inbox)
    assert [type(each) for each in order[:6]] == [Connected, Heard] * 3
    assert len(order) == 3 + 2 * GOSSIP_WAITING_MAX
    assert not inbox.dropped


def test_what_waits_is_bounded_in_bytes_and_room_comes_back() -> None:
    inbox = Inbox()
    for _ in range(2):
        for peer in PEERS:
            for _ in range(40):
                inbox.deliver(word(peer, AUTHOR_BYTES_MAX // 20))
        assert len(taken(inbox)) <= 8 * 20
    assert inbox.dropped


def test_of_one_peer_everything_comes_in_order() -> None:
    inbox = Inbox()
    said = [word(FLOODER, size) for size in range(1, 100)]
    for each in said:
        inbox.deliver(each)
    assert taken(inbox) == said
