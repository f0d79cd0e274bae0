"""A stamp follows the wall clock when it can and the latest stamp seen when it must."""

from swarmd.vocab import hlc


def test_the_wall_clock_leads_when_it_is_ahead() -> None:
    assert hlc.tick(hlc.at(1_000), 2_000) == hlc.at(2_000)


def test_the_last_stamp_leads_when_the_wall_clock_stands_or_falls_back() -> None:
    last = hlc.at(2_000)
    assert hlc.tick(last, 2_000) == last + 1
    assert hlc.tick(last, 0) == last + 1


def test_the_counter_carries_into_the_milliseconds() -> None:
    last = hlc.Hlc(hlc.at(2_001) - 1)
    assert hlc.wall_ms(last) == 2_000
    assert hlc.tick(last, 0) == hlc.at(2_001)


def test_a_machine_that_boots_in_1970_follows_what_it_hears() -> None:
    last = hlc.witness(hlc.tick(hlc.ZERO, 5), hlc.at(1_800_000_000_000))
    assert hlc.tick(last, 6) == hlc.at(1_800_000_000_000) + 1


def test_times_before_1970_are_the_beginning() -> None:
    assert hlc.at(-5) == hlc.ZERO
