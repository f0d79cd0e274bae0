"""The package installed in a bare root of its suite: Python and systemd, and no Python packages."""

import subprocess
from pathlib import Path

import pytest

from tests.package.deb import BUILT, Deb, Room, of_this_machine

pytestmark = pytest.mark.timeout(900)  # the first one makes the root

INSTALL = "dpkg --install /srv/swarmd.deb"
LEFT = "find /etc /run /usr /var/lib -path /var/lib/systemd -prune -o -name '*swarmd*' -print"
BYTECODE = "find /usr/lib/swarmd -name '*.pyc' 2>/dev/null | wc -l"
PYTHON = "/usr/lib/swarmd/bin/python -I"
IMPORT_ALL = r"""
import importlib, pkgutil, sys
import swarmd

names = {module.name for module in pkgutil.walk_packages(swarmd.__path__, "swarmd.")} - {"swarmd.__main__"}
for name in sorted(names):
    importlib.import_module(name)
homes = (sys.prefix + "/lib/", sys.base_prefix + "/lib/python%d.%d/" % sys.version_info[:2])
strangers = {n: f for n, m in sys.modules.items() if (f := getattr(m, "__file__", None)) and not f.startswith(homes)}
assert not strangers, strangers
assert not [entry for entry in sys.path if "dist-packages" in entry], sys.path
print(len(names))
"""


def repacked(package: Path, version: str, folder: Path) -> Path:
    """*package* with nothing changed but its version."""
    subprocess.run(["dpkg-deb", "--raw-extract", package, folder / "tree"], check=True)
    control = folder / "tree/DEBIAN/control"
    lines = control.read_text().splitlines(keepends=True)
    control.write_text("".join(f"Version: {version}\n" if line.startswith("Version:") else line for line in lines))
    target = folder / "other.deb"
    subprocess.run(["dpkg-deb", "-Znone", "--build", folder / "tree", target], check=True, capture_output=True)
    return target


def test_every_module_of_swarmd_imports_from_the_package_alone(installed: Room) -> None:
    assert "python3-" not in installed.must("dpkg-query --show --showformat '${Package}\n'")
    assert int(installed.must(f"{PYTHON} -c '{IMPORT_ALL}'")) > 80


COMPLETE = {
    "bash": "COMP_WORDS='swarmctl repo' COMP_CWORD=1",
    "zsh": "_TYPER_COMPLETE_ARGS='swarmctl repo'",
    "fish": "_TYPER_COMPLETE_ARGS='swarmctl repo' _TYPER_COMPLETE_FISH_ACTION=get-args",
}


@pytest.mark.parametrize("shell", sorted(COMPLETE))
def test_a_shell_completes_verbs(installed: Room, shell: str) -> None:
    asked = f"{COMPLETE[shell]} _SWARMCTL_COMPLETE=complete_{shell} swarmctl"
    assert "report" in installed.must(asked)


def test_a_mistake_and_a_crash_are_told_as_from_source(installed: Room) -> None:
    mistaken = installed.run("swarmctl shwo")
    assert mistaken.returncode == 2 and "No such command" in mistaken.stderr
    crash = "from swarmd.cli import swarmd; swarmd.app.command('crash')(lambda: 1 / 0); swarmd.main()"
    crashed = installed.run(f'{PYTHON} -c "{crash}" crash')
    assert crashed.returncode == 1 and "ZeroDivisionError" in crashed.stderr
    assert "excepthook" not in crashed.stderr


def test_the_demo_runs_from_the_package(installed: Room) -> None:
    said = installed.must("cd /tmp && swarmd demo --model scripted")
    assert "All equal." in said
    assert "The observer published 0 messages." in said


def test_a_first_install_without_a_key_says_in_one_line_what_to_do(room: Room) -> None:
    done = room.run(INSTALL)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("swarmd:")]
    assert "swarmd key new --system" in line and "/etc/swarmd/swarm.key" in line and "systemctl start swarmd" in line
    assert "swarmd:" not in room.must(INSTALL), "the second time it is known"
    assert "swarmd.service" in room.must("ls /etc/systemd/system/multi-user.target.wants")


def test_with_a_key_there_is_nothing_to_say(room: Room) -> None:
    room.must(f"{INSTALL} && swarmd key new --system && dpkg --remove swarmd")
    assert "swarmd:" not in room.must(INSTALL)
    assert room.must("stat --format %a /etc/swarmd/swarm.key") == "600\n"


def test_bytecode_is_made_at_install_and_gone_with_the_package(room: Room) -> None:
    room.must(INSTALL)
    assert int(room.must(BYTECODE)) > 1_000
    room.must("dpkg --remove swarmd")
    assert int(room.must(BYTECODE)) == 0
    assert room.run("ls /usr/lib/swarmd").returncode != 0


def test_key_and_identity_survive_an_upgrade_and_a_removal(room: Room, native: Deb, tmp_path: Path) -> None:
    room.put(repacked(native.path, "99.0", tmp_path), "/srv/newer.deb")
    room.must(f"{INSTALL} && swarmd key new --system && mkdir -p /var/lib/swarmd && echo me >/var/lib/swarmd/identity")
    room.must("echo 'name = \"attic\"' >>/etc/swarmd/config.toml")
    kept = "cat /etc/swarmd/swarm.key /var/lib/swarmd/identity /etc/swarmd/config.toml"
    before = room.must(kept)
    room.must("dpkg --install /srv/newer.deb")
    assert room.must(kept) == before
    room.must("dpkg --remove swarmd")
    assert room.must(kept) == before
    room.must(INSTALL)
    assert room.must(kept) == before


def test_a_downgrade_is_refused_and_leaves_the_newer_one_in_place(room: Room, native: Deb, tmp_path: Path) -> None:
    room.put(repacked(native.path, "99.0", tmp_path), "/srv/newer.deb")
    room.must("dpkg --install /srv/newer.deb")
    done = room.run(INSTALL)
    assert done.returncode != 0
    assert "99.0 is installed and newer" in done.stderr
    assert room.must("dpkg-query --show --showformat '${Version} ${db:Status-Status}' swarmd") == "99.0 installed"
    room.must("swarmd --version")
    assert int(room.must(BYTECODE)) > 1_000, "it is called off after the bytecode has gone"


def test_purge_leaves_nothing_behind_and_homes_alone(room: Room) -> None:
    room.must("mkdir -p /home/ada/.config/swarmd && echo mine >/home/ada/.config/swarmd/config.toml")
    before = room.must(LEFT)
    room.must(f"{INSTALL} && swarmd key new --system && mkdir -p /var/lib/swarmd /etc/swarmd/config.d")
    room.must("touch /var/lib/swarmd/journal.sqlite /etc/swarmd/config.d/mine.toml")
    room.must("dpkg --purge swarmd")
    assert room.must(LEFT) == before
    assert room.must("cat /home/ada/.config/swarmd/config.toml") == "mine\n"


def test_apt_installs_it_where_no_archive_has_the_model_that_it_recommends(room: Room) -> None:
    room.must("apt-get install --yes /srv/swarmd.deb")
    assert room.must("dpkg-query --show --showformat '${db:Status-Status}' swarmd") == "installed"


def test_the_tiny_model_drafts_a_plan_once_its_package_is_there(room: Room) -> None:
    model = of_this_machine("swarmd-model-smollm2")
    assert model is not None, f"make deb builds it beside the other in {BUILT}"
    if "avx2" not in room.must("cat /proc/cpuinfo") and "x86" in room.must("uname -m"):
        pytest.skip("the model's engine needs AVX2 on x86")
    room.put(model, "/srv/model.deb")
    room.must(INSTALL)
    find = f"{PYTHON} -c 'from swarmd.llm.embedded import find_model; print(find_model())'"
    assert "install the Debian package swarmd-model-smollm2" in room.run(find).stderr
    room.must("dpkg --install /srv/model.deb")
    assert room.must(find).endswith(".gguf\n")
    drafted = room.must("cd /tmp && swarmd demo --nodes 4 --model embedded 'A birthday party'", timeout_s=600)
    assert "SmolLM2-135M-Instruct" in drafted and "All equal." in drafted
    room.must("dpkg --remove swarmd-model-smollm2")
    assert room.run("find /usr/lib/swarmd | grep -e xllamacpp -e smollm2").stdout == ""
