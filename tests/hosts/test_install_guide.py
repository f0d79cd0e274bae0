"""docs/install.md, followed word by word on two fresh hosts, by a person who may use sudo."""

import pytest

from tests.hosts.daemon import ctl
from tests.hosts.desk import PLAYBOOKS
from tests.hosts.guide import Step, blocks
from tests.hosts.host import Host
from tests.hosts.lan import Lan
from tests.hosts.packages import package

GUIDE = PLAYBOOKS.parent / "docs/install.md"


def typed(host: Host, command: str, *, answer: str = "") -> str:
    """What *host* shows when ada, who has just logged in, types *command*, and then *answer*."""
    return host.run("su", "--login", "ada", "--command", command, feed=answer, seconds=600)


def follow(host: Host, block: list[Step], *, answer: str = "") -> str:
    """Type a block of the guide, line by line; what the last line shows. *answer*: for the first."""
    said = ""
    for number, step in enumerate(block):
        said = typed(host, step.command, answer="" if number else answer)
        assert step.is_as(said) or not step.seen, f"{step.command}\nshows\n{said}\nand not\n" + "\n".join(step.seen)
    return said


@pytest.mark.timeout(1_800)
def test_the_guide_leads_from_two_machines_to_a_plan_and_away_again(home: Lan) -> None:
    text = GUIDE.read_text()
    install, first, show, other, people, model, _from_source = blocks(text)
    one, two = (home.host(name, "bookworm", boot=False) for name in ("one", "two"))
    home.boot()
    for host in (one, two):
        host.run("useradd", "--create-home", "--shell", "/bin/bash", "ada")
        host.write("/etc/sudoers.d/ada", "ada ALL=(ALL) NOPASSWD: ALL\n", 0o440)
        host.put(package("bookworm"), f"/home/ada/{package('bookworm').name}")
        follow(host, install)

    assert "one" in follow(one, first)
    key = follow(one, show)
    follow(two, other, answer=key)
    fingerprint = other[1].command
    assert typed(one, fingerprint) == typed(two, fingerprint) != ""
    two.until(lambda: "one" in typed(two, other[-1].command))

    def by_the_way(command: str) -> str:
        assert f"`{command}`" in text
        return command

    follow(one, people)
    tiny = package("bookworm", "swarmd-model-smollm2")
    one.put(tiny, f"/home/ada/{tiny.name}")
    follow(one, model)
    one.until(lambda: ctl(one, "status")["backend"] == "embedded")
    typed(one, by_the_way('swarmctl goal "Japan trip" --watch'))
    assert "Japan trip" in typed(two, "sudo swarmctl goals")
    assert "ada (uid 1000) sets goal" in typed(one, by_the_way("journalctl -u swarmd"))

    one.write("/etc/swarmd/config.d/mine.toml", 'name = "attic"\n')
    typed(one, by_the_way("sudo swarmd check-config --system"))
    typed(one, by_the_way("sudo systemctl restart swarmd"))
    assert "attic" in typed(one, first[-1].command)
    typed(one, by_the_way("sudo swarmd doctor --system"))

    typed(one, by_the_way("sudo apt remove swarmd"), answer="y\n")
    assert typed(one, "sudo cat /etc/swarmd/swarm.key").strip() in key
    typed(one, by_the_way("sudo apt purge swarmd"), answer="y\n")
    for gone in ("/etc/swarmd", "/var/lib/swarmd", "/usr/lib/swarmd"):
        assert one.attempt("ls", gone).returncode != 0, gone
    one.run("id", "swarmd")
