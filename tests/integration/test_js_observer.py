"""Foreign eyes: a program on js-libp2p, without a line of ours, reads the plan off the gossip of real daemons."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swarmd.store.keys import new_key
from tests.integration.one_daemon import CONFIG, Daemon, until

SOURCE = Path(__file__).parent / "js-observer"
BUILT = Path(__file__).parents[2] / "build" / "js-observer"
LOCK = "package-lock.json"

pytestmark = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="foreign eyes need Node.js 20 or newer, with npm"
)


@pytest.fixture(scope="module")
def program() -> Path:
    """The program with the libraries that its lock names, which are installed once."""
    if not (BUILT / LOCK).exists() or (BUILT / LOCK).read_bytes() != (SOURCE / LOCK).read_bytes():
        shutil.rmtree(BUILT, ignore_errors=True)
        BUILT.mkdir(parents=True)
        shutil.copy(SOURCE / "package.json", BUILT)
        shutil.copy(SOURCE / LOCK, BUILT / "wanted.json")
        (BUILT / "wanted.json").rename(BUILT / LOCK)
        ended = subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"],
            cwd=BUILT, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        if ended.returncode:
            (BUILT / LOCK).unlink()
        assert ended.returncode == 0, ended.stderr
    for file in SOURCE.glob("*.js"):
        shutil.copy(file, BUILT)
    return BUILT / "observer.js"


@pytest.fixture
def swarm(folder: Path) -> Iterator[list[Daemon]]:
    """Three daemons in a row, without the wall on TCP."""
    key = new_key()
    daemons: list[Daemon] = []
    try:
        for name in ("attic", "barn", "cellar"):
            peers = json.dumps(address_of(daemons[-1]) if daemons else [])
            config = CONFIG.replace("attic", name).replace(
                "mdns = false", f"mdns = false\npsk = false\npeers = {peers}"
            )
            daemons.append(Daemon(folder / name, config, key))
            daemons[-1].start()
            daemons[-1].until_ready()
        yield daemons
    finally:
        for daemon in daemons:
            daemon.end()


def ask(daemon: Daemon, *words: str) -> Any:
    answered = daemon.ctl(*words, "--json")
    assert answered.returncode == 0, answered.stderr
    return json.loads(answered.stdout)


def address_of(daemon: Daemon) -> list[str]:
    addresses: list[str] = ask(daemon, "status")["addresses"]
    return addresses


def tree(task: dict[str, Any]) -> dict[str, Any]:
    """What the program prints of a task."""
    kept = {name: task[name] for name in ("id", "title", "status")}
    return {**kept, "children": [tree(child) for child in task["children"]]}


def test_a_js_libp2p_program_rebuilds_the_tree_from_gossip_alone(swarm: list[Daemon], program: Path) -> None:
    attic, _, cellar = swarm
    until(lambda: ask(attic, "status")["peers_alive"] == 2 == ask(cellar, "status")["peers_alive"])
    key_file = str(cellar.folder / "swarm.key")
    observer = subprocess.Popen(
        ["node", str(program), key_file, *address_of(cellar)], stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    try:
        assert observer.stdout is not None
        joined: set[str] = set()
        while len(joined) < 2:  # both topics
            joined.add(json.loads(observer.stdout.readline())["joined"])
        goal = ask(attic, "goal", "Tidy the shed", "--depth", "2", "--wait")["goal"]
        wanted = ask(attic, "status")["fingerprint"]
        known: dict[str, Any] = {}
        while known.get("fingerprint") != wanted:
            known = json.loads(observer.stdout.readline())
    finally:
        observer.kill()
        observer.wait()
    shown = ask(cellar, "show", goal)
    assert shown["tasks"] > 3
    assert known["goals"] == [tree(shown["root"])]
    refused = ask(cellar, "status")["refused"]
    assert not {"messages_refused", "message_faults", "stream_faults"} & refused.keys()
