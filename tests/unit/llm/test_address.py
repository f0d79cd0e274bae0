"""Whose address a model server has."""

import pytest

from swarmd.llm.address import is_local, remedy

HERE = ["", "localhost", "http://localhost:11434", "127.0.0.1", "http://[::1]:8080", "127.8.8.8:80"]
AT_HOME = ["192.168.1.7", "http://10.0.0.7:11434", "[fd12:3456::7]:11434", "http://[fe80::7%eth0]:11434", "100.100.1.1"]
BY_NAME = ["gpu-box.local", "http://models.example:11434"]
ABROAD = ["9.9.9.9", "http://11.22.33.44:11434", "http://[2606:4700::1111]:11434"]


@pytest.mark.parametrize("host", HERE + AT_HOME + BY_NAME + ABROAD)
def test_only_loopback_is_this_machine(host: str) -> None:
    assert is_local(host) == (host in HERE)


@pytest.mark.parametrize("host", HERE + AT_HOME + BY_NAME + ABROAD)
def test_only_addresses_that_no_home_has_need_a_line_for_the_sandbox(host: str) -> None:
    assert ("IPAddressAllow=" in remedy(host)) == (host in ABROAD)
