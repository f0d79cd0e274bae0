"""docs/home.md, followed word by word: what it says is typed, and what it says is seen."""

import re
import shutil
import time
from pathlib import Path

import pytest

from tests.hosts.command import PATIENCE_S, run
from tests.hosts.desk import DEBIANS, PLAYBOOKS, USER, Desk, ansible
from tests.hosts.guide import BLOCK, Step, steps
from tests.hosts.host import Host
from tests.hosts.lan import Lan
from tests.hosts.packages import package

REPOSITORY = PLAYBOOKS.parent
GUIDE = REPOSITORY / "docs" / "home.md"

_LOOKS = ("swarmctl peers", "swarmctl goals", "swarmctl show")


def test_what_the_guide_says_is_told_from_what_it_leaves_open() -> None:
    step = Step("", "swarmctl peers", ["Name … State", "…", "attic … level"])
    assert step.is_as("Name    Other  State\n---\n\nattic   level\n")
    assert not step.is_as("Name   State\nattic   silent\n")
    found = steps("```console\n$ cd ansible\npi@attic:~ $ swarmctl goals\nnone\n```\n```sh\n$ not this\n```\n")
    assert found == [Step("", "cd ansible", []), Step("attic", "swarmctl goals", ["none"])]


def typed(step: Step, command: str, host: Host) -> str:
    """What *command* shows on *host*. Who looks, looks again: the last words of a plan may be on their way."""
    line = ("su", "--login", USER, "--command", f"{command} 2>&1")  # people see both
    said = host.run(*line, seconds=900)
    until = time.monotonic() + PATIENCE_S
    while command.startswith(_LOOKS) and not step.is_as(said) and time.monotonic() < until:
        time.sleep(1)
        said = host.run(*line)
    return said


@pytest.mark.timeout(2_400)  # with the tiny model, whose package alone is 105 MB a host
def test_the_guide_leads_from_three_machines_to_a_plan(home: Lan, this_run: Path) -> None:
    text = GUIDE.read_text()
    inventory = next(block for language, block in BLOCK.findall(text) if language == "yaml" and "swarm:" in block)
    addresses = re.findall(r"ansible_host: (\S+)", inventory)
    names = re.findall(r"(?m)^    (\w+):$", inventory)
    ansible(DEBIANS)  # which the guide has people install
    package("bookworm", "swarmd-model-smollm2")
    hosts = {name: home.host(name, "bookworm", boot=False) for name in names}
    home.boot()
    desk = Desk(home, this_run / "guide", DEBIANS)
    desk.know(*hosts.values())
    repository = desk.folder / "swarmd"
    shutil.copytree(PLAYBOOKS, repository / "ansible", ignore=shutil.ignore_patterns("inventory.yml", "swarm.key"))
    (repository / "build").mkdir()
    (repository / "build/deb").symlink_to(REPOSITORY / "build/deb")

    def ours(said: str) -> str:
        for address, host in zip(addresses, hosts.values(), strict=True):
            said = said.replace(address, host.address)
        return said

    at = repository
    for step in steps(text):
        command = ours(step.command)
        if command.startswith("cd "):
            at /= command.removeprefix("cd ")
            said = ""
        elif step.host:
            said = typed(step, command, hosts[step.host])
        else:
            script = command
            if command.startswith("ssh "):  # who logs in goes on in there
                script = f"ssh {desk.ssh_options} {command.removeprefix('ssh ')} true"
            said = desk.run("sh", "-euc", f"cd {at}; {script}")
            if "inventory.yml" in command:
                (at / "inventory.yml").write_text(ours(inventory))
        assert step.is_as(said), f"{step.command}\nshows\n{said}\nand not\n" + "\n".join(step.seen)


def test_every_command_of_the_guide_is_one_that_there_is() -> None:
    mentioned = set(re.findall(r"ansible-playbook (\w[\w-]*\.yml)", GUIDE.read_text()))
    assert mentioned == {file.name for file in PLAYBOOKS.glob("*.yml")} - {"inventory.example.yml", "inventory.yml"}
    assert run("git", "-C", str(REPOSITORY), "check-ignore", "ansible/swarm.key", "ansible/inventory.yml")
