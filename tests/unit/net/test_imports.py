"""What libp2p wants of a machine when it is imported, and a machine may not have."""

import subprocess
import sys
from pathlib import Path

NAMELESS = """\
import dns.resolver

def refuse(resolver, file):
    raise dns.resolver.NoResolverConfiguration(f"cannot open {file}")

dns.resolver.BaseResolver.read_resolv_conf = refuse
import swarmd.net
"""


def test_a_machine_without_a_name_server_can_be_a_peer() -> None:
    run = [sys.executable, "-c", NAMELESS]
    done = subprocess.run(run, capture_output=True, encoding="utf-8", cwd=Path(__file__).parents[3], timeout=60)
    assert done.returncode == 0, done.stderr
