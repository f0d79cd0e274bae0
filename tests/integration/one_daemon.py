"""One real daemon in a folder of its own, and `swarmctl` to ask it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from swarmd.store.keys import new_key, write_key

PATIENCE_S = 60

CONFIG = """\
name = "attic"
swarm_key = "{folder}/swarm.key"
state_dir = "{folder}/state"

[control]
socket = "{folder}/control.sock"

[net]
listen = ["/ip4/127.0.0.1/tcp/0"]
interfaces = ["127.0.0.1"]
mdns = false

[model]
backend = "scripted"
delay_ms = 50

[timing]
presence_s = 0.3
deliberation_s = 2.0
ballot_s = 1.0
settle_ms = 100
"""


class Daemon:
    """`swarmd run` with everything it owns in one folder."""

    def __init__(self, folder: Path, config: str = CONFIG, key: bytes | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        write_key(folder / "swarm.key", key or new_key())
        (folder / "config.toml").write_text(config.format(folder=folder))
        self.process: subprocess.Popen[str] | None = None

    def start(self, *within: str) -> "subprocess.Popen[str]":
        """*within*: a command that runs another one, such as unshare(1)."""
        self.process = subprocess.Popen(
            [*within, sys.executable, "-m", "swarmd", "run", "--config", str(self.folder / "config.toml")],
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        return self.process

    def until_ready(self) -> None:
        self.until_said("ready; control socket")

    def until_said(self, *each: str) -> list[str]:
        """The first lines of the log from here on that have these words in them, which may come in any order."""
        assert self.process is not None and self.process.stderr is not None
        found: dict[str, str] = {}
        for line in self.process.stderr:
            found |= {words: line for words in each if words in line and words not in found}
            if len(found) == len(each):
                return [found[words] for words in each]
        raise AssertionError(f"the daemon ended and never said: {set(each) - set(found)}")

    def ctl(self, *words: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "SWARMD_CONTROL_SOCKET": str(self.folder / "control.sock"), "LC_ALL": "C.UTF-8"}
        return subprocess.run(
            [sys.executable, "-c", "from swarmd.cli.swarmctl import main; main()", *words],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environment,
            timeout=PATIENCE_S,
            check=False,
        )

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stderr is not None
            self.process.stderr.close()


def until(true: Callable[[], bool]) -> None:
    """Wait for what another process brings about."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)
