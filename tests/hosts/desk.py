"""The machine from which a home is deployed: playbooks, an inventory, SSH to hosts as they come from their image."""

import functools
import json
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.hosts.command import CommandFailed, run
from tests.hosts.daemon import SCRIPTED
from tests.hosts.host import Host
from tests.hosts.lan import Lan

PLAYBOOKS = Path(__file__).parents[2] / "ansible"
USER = "pi"  # who logs in; sudo asks for no password, as on Raspberry Pi OS
PINNED, DEBIANS = "2.19", "2.14"  # ansible-core: of packaging/requirements/fleet.in, and Debian 12's own

_PLAY_S_MAX = 1_200.0  # five hosts one after the other on a loaded machine


Vars = Mapping[str, Mapping[str, Any]]
"""Ansible's variables, by host."""
NO_VARS: Vars = MappingProxyType({})


class Desk:
    """*folder*: a new one, for its inventory, its SSH key and the swarm's; *ansible*: which version of it is here."""

    def __init__(self, home: Lan, folder: Path, ansible: str = PINNED) -> None:
        self.ansible = ansible
        self.hosts: list[Host] = []
        self.folder = folder
        self.inventory = folder / "inventory.yml"
        self.key = folder / "swarm.key"
        self._home = home
        self._ssh = folder / "ssh"
        # of this desk alone, since every home has the same addresses; not in *folder*: a socket's path has 108 bytes
        self._connections = tempfile.TemporaryDirectory(prefix="swarmd-ssh-")
        folder.mkdir(parents=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self._ssh))

    def know(self, *hosts: Host, gpu: Vars = NO_VARS, each: Vars = NO_VARS, **settings: Any) -> None:
        """Let *hosts* be the inventory, with these variables for all of them, for *each* by name, and for those in the
        group *gpu*; and let their image know our SSH key."""
        self.hosts = list(hosts)
        for host in hosts:
            if host.attempt("id", USER).returncode != 0:
                host.run("useradd", "--create-home", "--shell", "/bin/bash", "--groups", "sudo,systemd-journal", USER)
                host.write(f"/etc/sudoers.d/{USER}", f"{USER} ALL=(ALL) NOPASSWD: ALL\n", 0o440)
                host.write(f"/home/{USER}/.ssh/authorized_keys", self._ssh.with_suffix(".pub").read_text())
        everyone = {host.name: {"ansible_host": host.address, **each.get(host.name, {})} for host in hosts}
        shared = {
            "ansible_user": USER,
            "swarmd_tiny_model": False,
            "swarmd_wait_s": 300,  # three hosts on a loaded machine are slower than a Pi
            "swarmd_settings": tomllib.loads(SCRIPTED.format(delay_ms=50)),
            **settings,
        }
        inventory = {"swarm": {"hosts": everyone, "vars": shared}, "gpu": {"hosts": dict(gpu)}}
        self.inventory.write_text(json.dumps(inventory))  # JSON is YAML

    def play(self, playbook: str, *options: str) -> str:
        """What `ansible-playbook` says. Raises CommandFailed."""
        return self.run("ansible-playbook", "-i", str(self.inventory), playbook, *options)

    def fails(self, playbook: str, *options: str) -> str:
        """What `ansible-playbook` says when it fails, on one line: it breaks and quotes its lines as it likes."""
        with pytest.raises(CommandFailed) as failed:
            self.play(playbook, *options)
        return " ".join(str(failed.value).replace("''", "'").split())

    @property
    def ssh_options(self) -> str:
        """By which this desk, and no file of the machine that runs the tests, knows its hosts."""
        return f"-i {self._ssh} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"

    def run(self, *command: str) -> str:
        """What *command* prints in the folder with the playbooks."""
        environment = [
            f"ANSIBLE_HOME={self.folder / 'a'}",
            f"ANSIBLE_SSH_ARGS={self.ssh_options} -o ControlMaster=auto -o ControlPersist=10s",
            f"ANSIBLE_SSH_CONTROL_PATH_DIR={self._connections.name}",
            "ANSIBLE_NOCOLOR=1",
            f"PATH={ansible(self.ansible)}:{os.environ['PATH']}",
        ]
        return self._home.run("env", "-C", str(PLAYBOOKS), *environment, *command, seconds=_PLAY_S_MAX)


@functools.cache
def ansible(version: str) -> Path:
    """The folder with the commands of this version of ansible-core. Skips the test if there is none."""
    for place in (Path(sys.executable).parent, *map(Path, os.get_exec_path()), Path("/usr/bin")):
        playbook = place / "ansible-playbook"
        if playbook.exists() and f"[core {version}." in run(str(playbook), "--version"):
            return place
    pytest.skip(f"there is no Ansible {version}: make .venv/fleet for {PINNED}, Debian 12's own is {DEBIANS}")


def changes(said: str) -> dict[str, int]:
    """Hosts, and how much a playbook changed on each, by its recap."""
    return {host: int(count) for host, count in re.findall(r"(?m)^(\S+)\s+: ok=\d+\s+changed=(\d+)", said)}
