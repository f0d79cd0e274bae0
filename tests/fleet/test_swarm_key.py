"""The script that makes and changes a swarm's key writes what swarmd reads."""

import subprocess
import sys
from pathlib import Path

import pytest

from swarmd.store.keys import read_swarm, retire_keys, rotate_key, swarm_text

SCRIPT = Path(__file__).parents[2] / "ansible/roles/swarmd/files/swarm_key.py"


def change(what: str, file: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-I", SCRIPT, what, file], capture_output=True, encoding="utf-8")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "swarm.key"
    done = change("new", made)
    assert (done.stdout, done.stderr, done.returncode) == ("made\n", "", 0)
    return made


def test_a_new_key_is_one_that_swarmd_reads_and_only_its_owner_can(file: Path, tmp_path: Path) -> None:
    swarm = read_swarm(file)
    assert (swarm.older, swarm.retired) == ((), ())
    assert file.read_text() == f"{swarm_text(swarm)}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    change("new", tmp_path / "other.key")
    assert read_swarm(tmp_path / "other.key").key != swarm.key


def test_a_key_that_is_there_is_never_made_anew(file: Path) -> None:
    before = file.read_text()
    assert change("new", file).returncode != 0
    assert file.read_text() == before
    assert [path.name for path in file.parent.iterdir()] == ["swarm.key"]


def test_changing_the_key_twice_reads_as_when_swarmd_does_it(file: Path, tmp_path: Path) -> None:
    first = read_swarm(file)
    assert change("rotate", file).stdout == "rotated\n"
    second = read_swarm(file)
    assert (second.id, second.older, second.retired) == (first.id, (first.key,), ())
    assert change("rotate", file).stdout == ""  # the change is under way
    assert read_swarm(file) == second
    assert change("retire", file).stdout == "retired\n"
    assert change("retire", file).stdout == ""
    retired = read_swarm(file)
    assert (retired.id, retired.key, retired.older, retired.retired) == (first.id, second.key, (), (first.key,))
    theirs = tmp_path / "theirs.key"
    theirs.write_text(file.read_text())
    theirs.chmod(0o600)
    change("rotate", file)
    rotate_key(theirs)
    assert read_swarm(file).older == read_swarm(theirs).older
    change("retire", file)
    retire_keys(theirs)
    assert read_swarm(file).retired == read_swarm(theirs).retired == (second.key, first.key)
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "\n", "$ANSIBLE_VAULT;1.1;AES256\n3339\n", "also swarmd-key-1:aaaa\n"])
def test_a_file_without_a_key_in_the_open_is_left_alone(file: Path, text: str) -> None:
    file.write_text(text)
    done = change("rotate", file)
    assert done.returncode != 0
    assert "ansible-vault decrypt" in done.stderr
    assert file.read_text() == text
