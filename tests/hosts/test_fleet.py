"""The playbooks, over SSH, on hosts as they come from their image."""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarmd.store.keys import read_swarm
from tests.hosts import ollama
from tests.hosts.command import attempt
from tests.hosts.daemon import HOME_KEY, QUICK, ctl, give, state
from tests.hosts.desk import DEBIANS, PINNED, PLAYBOOKS, Desk, ansible, changes
from tests.hosts.host import Host
from tests.hosts.lan import OUR_ADDRESS, Lan, lan
from tests.hosts.packages import package, release
from tests.hosts.session import group

pytestmark = pytest.mark.timeout(1_800)

_SUITES = {"kitchen": "bookworm", "study": "bookworm", "attic": "trixie"}
_FILTER = """\
flush ruleset
table inet filter {
    chain input {
        type filter hook input priority filter; policy drop;
        ct state established,related accept
        iif lo accept
        tcp dport 22 accept
        icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
    }
}
"""


class Fleet:
    """Three hosts of both suites, deployed once. *looked*: what `--check` said before; *said*: that first run."""

    def __init__(self, home: Lan, desk: Desk) -> None:
        self.home = home
        self.desk = desk
        before = self.files()
        self.looked = desk.play("deploy.yml", "--check", "--diff")
        self.touched = [host for host, files in self.files().items() if files != before[host]]
        self.made_key_by_looking = desk.key.exists()
        self.said = desk.play("deploy.yml", "--diff")

    @property
    def hosts(self) -> list[Host]:
        """All of them."""
        return self.home.hosts

    def files(self) -> dict[str, str]:
        """What each host has beyond its image."""
        find = "find /etc /var/lib /var/cache /usr /root -xdev -newer /etc/hostname -type f -printf '%p %s\\n' | sort"
        return {host.name: host.run("sh", "-c", find) for host in self.hosts}

    def digests(self) -> set[str]:
        """Those that the hosts show of the whole plan."""
        return {ctl(host, "status")["digest"] for host in self.hosts}

    def ids(self) -> list[str]:
        """Who the hosts are."""
        return [ctl(host, "status")["id"] for host in self.hosts]

    def plans(self, text: str) -> str:
        """Set a goal on the first host, and wait until all see it done and are level; its id."""
        goal = give(self.hosts[0], text)
        for host in self.hosts:
            host.until(lambda host=host: state(host, goal) == "done")  # type: ignore[misc]
        self.hosts[0].until(lambda: len(self.digests()) == 1)
        return goal


def two_fresh_hosts(home: Lan, folder: Path, other: str) -> tuple[Desk, Host, Host]:
    """A desk, the kitchen, and another host."""
    ansible(PINNED)
    package("bookworm")
    hosts = home.host("kitchen", boot=False), home.host(other, boot=False)
    home.boot()
    return Desk(home, folder), *hosts


def ufw(host: Host) -> str:
    """The rules that were added to ufw, as commands."""
    return host.run("ufw", "show", "added")


@pytest.fixture(scope="module")
def fleet(this_run: Path) -> Iterator[Fleet]:
    """A swarm that deploy.yml made of hosts with nothing on them. Two of them have firewalls that let nobody in."""
    ansible(PINNED)
    for suite in _SUITES.values():
        package(suite)
    with lan(f"{group(this_run)}/fleet", this_run / "fleet/disks") as home:
        for name, suite in _SUITES.items():
            home.host(name, suite, boot=False)
        home.boot()
        _, study, attic = home.hosts
        study.run("ufw", "allow", "22/tcp")
        study.run("ufw", "--force", "enable")
        attic.write("/etc/nftables.conf", _FILTER)
        attic.run("systemctl", "enable", "--now", "nftables")
        desk = Desk(home, this_run / "fleet/desk")
        desk.know(*home.hosts)
        yield Fleet(home, desk)


@pytest.mark.core
def test_a_look_at_fresh_hosts_shows_what_would_be_done_and_does_nothing(fleet: Fleet) -> None:
    assert min(changes(fleet.looked)[name] for name in _SUITES) > 0
    settings = ("apt install swarmd_", "a new key", "scripted", "adduser pi swarmd", "systemctl enable")
    for foretold in (*settings, "ufw allow from 192.168.0.0/16", "+insert rule inet filter input"):
        assert foretold in " ".join(fleet.looked.split()), foretold
    assert not fleet.touched
    assert not fleet.made_key_by_looking


@pytest.mark.core
def test_one_command_makes_a_swarm_and_ends_by_telling_who_there_is_and_what_to_type(fleet: Fleet) -> None:
    for host in fleet.hosts:
        assert re.search(rf"- {host.name} +decomposer, scorer, executor; scripted", fleet.said), fleet.said
        assert {peer["name"] for peer in ctl(host, "peers") if peer["alive"]} == set(_SUITES) - {host.name}
    assert "3 peers of version" in fleet.said
    command = re.search(r'swarmctl (goal ".+") --watch', fleet.said)
    assert command
    for host in fleet.hosts:
        host.run("su", "--login", "pi", "--command", "swarmctl goals")  # no sudo, once somebody logs in anew


@pytest.mark.core
def test_a_goal_given_on_one_host_is_planned_and_seen_on_all(fleet: Fleet) -> None:
    goal = fleet.plans("Clean out the garage")
    trees = {json.dumps(ctl(host, "show", goal)["root"], sort_keys=True) for host in fleet.hosts}
    assert len(trees) == 1


@pytest.mark.core
@pytest.mark.parametrize("version", [PINNED, DEBIANS])
def test_a_second_run_changes_nothing(fleet: Fleet, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ansible(version)
    monkeypatch.setattr(fleet.desk, "ansible", version)
    assert f"[core {version}." in fleet.desk.run("ansible-playbook", "--version")
    said = fleet.desk.play("deploy.yml", "--diff")
    assert changes(said) == dict.fromkeys(_SUITES, 0), said


def test_the_key_is_roots_alone_and_never_shown(fleet: Fleet) -> None:
    key = fleet.desk.key.read_text().strip()
    assert key.startswith("swarmd-key-1:")
    assert fleet.desk.key.stat().st_mode & 0o777 == 0o600
    digits = key.removeprefix("swarmd-key-1:").split("-")
    said = fleet.said + fleet.desk.play("deploy.yml", "--diff", "-vvv", "--limit", "kitchen")
    assert not [group for group in digits if group in said]
    for host in fleet.hosts:
        assert host.run("stat", "--format", "%a %U", "/etc/swarmd/swarm.key") == "600 root\n"
        assert host.read("/etc/swarmd/swarm.key").strip() == key
        assert key not in host.run("journalctl", "--no-pager")


def test_only_what_differs_from_the_defaults_is_written(fleet: Fleet) -> None:
    written = fleet.hosts[0].read("/etc/swarmd/config.d/fleet.toml")
    assert 'backend = "scripted"' in written
    assert not re.search("(?m)^(name|roles|peers|host) =", written), written
    fleet.desk.play("deploy.yml", "-e", '{"swarmd_roles": []}', "--limit", "attic")
    assert ctl(fleet.hosts[2], "status")["roles"] == ["observer"]
    assert changes(fleet.desk.play("update.yml")) == dict.fromkeys(_SUITES, 0)  # which waits for no word of it
    wrong = '{"swarmd_settings": {"nett": {"mdns": true}}}'
    assert "there is no 'nett'; did you mean 'net'?" in fleet.desk.fails("deploy.yml", "-e", wrong, "--limit", "attic")
    fleet.desk.play("deploy.yml")
    assert ctl(fleet.hosts[2], "status")["roles"] != ["observer"]


def test_a_firewall_lets_peers_in_and_nobody_else(fleet: Fleet) -> None:
    _, study, attic = fleet.hosts
    allowed = re.findall(r"(?m)^ufw allow from (\S+) to any port (4001|5353) proto \w+ comment 'swarmd'$", ufw(study))
    assert len(allowed) == 12  # from six networks each
    assert "Anywhere" not in re.sub(".*22/tcp.*", "", study.run("ufw", "status"))
    rules = attic.run("nft", "list", "ruleset")
    assert len(re.findall('(4001|5353) accept comment "swarmd"', rules)) == 4
    attic.run("nft", "--file", "/etc/nftables.conf")  # as at the next boot
    assert attic.run("nft", "list", "ruleset") == rules


def test_the_key_changes_while_the_swarm_goes_on(fleet: Fleet) -> None:
    before = read_swarm(fleet.desk.key)
    ids = fleet.ids()
    goal = give(fleet.hosts[1], "A birthday party for a ten-year-old")
    fleet.desk.play("rotate-key.yml")
    after = read_swarm(fleet.desk.key)
    assert (after.id, after.older, after.retired) == (before.id, (), (before.key, *before.retired))
    assert after.key != before.key
    for host in fleet.hosts:
        host.until(lambda host=host: state(host, goal) == "done")  # type: ignore[misc]
        assert host.read("/etc/swarmd/swarm.key") == fleet.desk.key.read_text()
    assert fleet.ids() == ids
    fleet.plans("A picnic by the lake")


def test_an_update_goes_from_host_to_host_while_a_goal_runs(fleet: Fleet, this_run: Path) -> None:
    folder = this_run / "newer"
    folder.mkdir()
    for suite in set(_SUITES.values()):
        deb = package(suite)
        _, version, tail = deb.name.split("_")
        newer = version.replace("~", "+1~")
        made = release(deb, newer, folder)
        made.rename(folder / f"swarmd_{newer}_{tail}")
    ids = fleet.ids()
    goal = give(fleet.hosts[0], "Paint the kitchen")
    fleet.desk.know(*fleet.hosts, swarmd_deb_dir=str(folder))  # from now on: nothing goes back to an older version
    said = fleet.desk.play("update.yml")
    assert all(count > 0 for count in changes(said).values()), said
    for host in fleet.hosts:
        assert "+1~" in host.run("dpkg-query", "--show", "swarmd")
        host.until(lambda host=host: state(host, goal) == "done")  # type: ignore[misc]
    assert fleet.ids() == ids
    assert len(fleet.digests()) == 1
    again = fleet.desk.play("update.yml")
    assert changes(again) == dict.fromkeys(_SUITES, 0), again


def test_a_host_that_was_removed_comes_back_as_who_it_was_and_a_purge_leaves_nothing(fleet: Fleet) -> None:
    _, study, attic = fleet.hosts
    gone = ("--limit", "study,attic")
    identities = fleet.ids()
    fleet.desk.play("remove.yml", *gone)
    for host in (study, attic):
        assert host.attempt("swarmctl", "status").returncode != 0
    assert "swarmd" not in attic.run("nft", "list", "ruleset") + attic.read("/etc/nftables.conf")
    assert "swarmd" not in ufw(study) and "22/tcp" in ufw(study)
    fleet.desk.play("deploy.yml")
    assert fleet.ids() == identities
    assert "swarmd" in ufw(study) and "swarmd" in attic.run("nft", "list", "ruleset")
    fleet.desk.play("remove.yml", *gone, "-e", "swarmd_purge=true")
    assert changes(fleet.desk.play("remove.yml", *gone, "-e", "swarmd_purge=true")) == {"study": 0, "attic": 0}
    for place in ("/etc/swarmd", "/var/lib/swarmd", "/usr/lib/swarmd", "/run/swarmd", "/etc/nftables-swarmd.conf"):
        assert attic.attempt("ls", place).returncode != 0, place
    fleet.desk.play("deploy.yml")
    assert not set(fleet.ids()[1:]) & set(identities)


def test_a_lost_key_is_not_made_anew(fleet: Fleet) -> None:
    kept = fleet.desk.key.rename(fleet.desk.key.with_name("kept.key"))
    try:
        assert "all plans would be lost" in fleet.desk.fails("deploy.yml")
        assert not fleet.desk.key.exists()
    finally:
        kept.rename(fleet.desk.key)


def test_every_playbook_runs_on_a_single_host_by_the_ansible_of_debian_12(home: Lan, this_run: Path) -> None:
    ansible(DEBIANS)
    package("bookworm")
    host = home.host("kitchen", "bookworm")
    desk = Desk(home, this_run / "single", DEBIANS)
    desk.know(host)
    assert f"[core {DEBIANS}." in desk.run("ansible-playbook", "--version")
    said = desk.play("deploy.yml", "--check", "--diff")
    assert changes(said)["kitchen"] > 0
    assert 'backend = "scripted"' in said
    assert host.attempt("dpkg-query", "--show", "swarmd").returncode != 0
    desk.play("deploy.yml")
    assert changes(desk.play("deploy.yml")) == {"kitchen": 0}
    assert changes(desk.play("deploy.yml", "--check", "--diff")) == {"kitchen": 0}
    key = desk.key.read_text()
    desk.play("rotate-key.yml")
    assert desk.key.read_text() != key
    assert changes(desk.play("update.yml")) == {"kitchen": 0}
    desk.play("remove.yml", "-e", "swarmd_purge=true")
    assert host.attempt("dpkg-query", "--show", "swarmd").returncode != 0


def test_a_gpu_box_gets_ollama_and_its_models_and_others_may_ask_one_that_runs(home: Lan, this_run: Path) -> None:
    desk, kitchen, attic = two_fresh_hosts(home, this_run / "gpu", "attic")
    site = f"http://{OUR_ADDRESS}:{ollama.PORT}"
    desk.know(
        kitchen,
        attic,
        each={"kitchen": {"swarmd_ollama_url": site}},
        gpu={"attic": {"ollama_install": True, "ollama_models": ["qwen3:0.6b"]}},
        ollama_installer_url=f"{site}{ollama.INSTALLER}",
        swarmd_settings=tomllib.loads(QUICK),
    )
    with home.serve(sys.executable, "-m", "tests.hosts.ollama"):
        assert "qwen3:0.6b is missing at http://127.0.0.1:11434" in desk.play("deploy.yml", "--check")
        assert attic.attempt("systemctl", "is-active", "ollama.socket").stdout.strip() != "active"
        said = desk.play("deploy.yml")
        assert "Progress of qwen3:0.6b" in said and "success" in said
        for host in (kitchen, attic):
            host.until(lambda host=host: ctl(host, "status")["model"] == "qwen3:0.6b")  # type: ignore[misc]
        assert changes(desk.play("deploy.yml")) == {"kitchen": 0, "attic": 0}
        kitchen.run("swarmctl", "goal", "A picnic", "--depth", "1", "--wait")


@pytest.fixture(scope="module")
def bare(this_run: Path) -> Iterator[Desk]:
    """A desk that knows one host, the kitchen, with nothing on it; for tests that change nothing."""
    ansible(PINNED)
    with lan(f"{group(this_run)}/bare", this_run / "bare/disks") as home:
        desk = Desk(home, this_run / "bare/desk")
        desk.know(home.host("kitchen"))
        yield desk


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        ("swarmd_deb_dir=/nowhere", "There is no package for kitchen .Debian 12, amd64. in /nowhere"),
        ("{swarmd_users: [nobody-at-home]}", "kitchen has no user nobody-at-home"),
        ("swarmd_deb=/etc/hostname", "There is no package for kitchen"),
        ("swarmd_wait_s=soon", "swarmd_wait_s"),
    ],
)
def test_what_cannot_work_is_told_before_anything_is_changed(bare: Desk, trouble: str, told: str) -> None:
    assert re.search(told, bare.fails("deploy.yml", "-e", trouble))
    assert bare.hosts[0].attempt("dpkg-query", "--show", "swarmd").returncode != 0
    assert not bare.key.exists()


def test_the_troubles_of_a_home_are_told_with_what_helps(home: Lan, this_run: Path) -> None:
    desk, kitchen, study = two_fresh_hosts(home, this_run / "troubles", "study")
    desk.know(kitchen, study, swarmd_wait_s=60)

    kitchen.run("systemd-run", "--unit=taken", "python3", "-m", "http.server", "4001")
    kitchen.until(lambda: "4001" in kitchen.run("ss", "-ltn"))
    assert "Another program on kitchen has port 4001" in desk.fails("deploy.yml", "--limit", "kitchen")
    kitchen.run("systemctl", "stop", "taken")

    home.drop_multicast()
    said = desk.fails("deploy.yml")
    assert re.search("(kitchen|study) does not see (study|kitchen)", said)
    assert "this network drops multicast; name a peer" in said
    desk.know(kitchen, study, swarmd_peers=[f"/ip4/{kitchen.address}/tcp/4001"])
    assert "2 peers of version" in desk.play("deploy.yml")

    study.run("systemctl", "stop", "swarmd")
    study.run("sh", "-c", "rm /var/lib/swarmd/*")
    study.write("/var/lib/swarmd/identity.base64", kitchen.run("base64", "/var/lib/swarmd/identity.key"))
    study.run("sh", "-c", "cd /var/lib/swarmd; base64 -d identity.base64 >identity.key; rm identity.base64")
    study.run("sh", "-c", "chown swarmd: /var/lib/swarmd/*; chmod 600 /var/lib/swarmd/*")
    study.run("systemctl", "start", "swarmd")
    cure = re.search(
        "kitchen and study are the same peer.+?On all but one of them: (.+?start swarmd)", desk.fails("deploy.yml")
    )
    assert cure
    study.run("su", "--login", "pi", "--command", cure[1])
    assert "2 peers of version" in desk.play("deploy.yml")

    study.write("/etc/swarmd/swarm.key", f"{HOME_KEY}\n", 0o600)
    assert "study belongs to another swarm" in desk.fails("deploy.yml")
    desk.play("deploy.yml", "-e", "swarmd_replace_key=true")

    study.kill()
    before = desk.key.read_text()
    assert "UNREACHABLE" in desk.fails("rotate-key.yml")
    assert desk.key.read_text() == before


def test_the_playbooks_are_clean() -> None:
    place = ansible(PINNED)
    if not (place / "ansible-lint").exists():
        pytest.skip("there is no ansible-lint: make .venv/fleet")
    done = attempt("env", "-C", str(PLAYBOOKS), f"PATH={place}:/usr/bin:/bin", "ansible-lint", "-q")
    assert done.returncode == 0, done.stdout + done.stderr
