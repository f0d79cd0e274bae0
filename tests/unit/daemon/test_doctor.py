"""The doctor finds what is wrong, says what helps, and is content with a machine that is well."""

import json
import socket
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from swarmd.cli.swarmd import app
from swarmd.daemon.doctor import Finding, clock, company, disk, examine, machine, model, multicast
from swarmd.hardware.machine import Machine
from swarmd.store.files import Paths
from swarmd.store.keys import new_key, write_key
from tests.unit.invented import STATUS

PI = Machine(
    architecture="aarch64", memory_bytes=8 << 30, allowed_bytes=8 << 30, cores=4, vector=True, name="Raspberry Pi 5"
)
NOW_MS = 1_800_000_000_000


@pytest.fixture
def places(tmp_path: Path) -> Paths:
    """A person's own daemon that is set up, and not running."""
    (tmp_path / "config.toml").write_text(
        f"""swarm_key = "{tmp_path}/swarm.key"
state_dir = "{tmp_path}/state"
[control]
socket = "{tmp_path}/control.sock"
[net]
listen = ["/ip4/127.0.0.1/tcp/0"]
[model]
backend = "scripted"
"""
    )
    write_key(tmp_path / "swarm.key", new_key())
    return Paths(
        config_file=tmp_path / "config.toml",
        swarm_key=tmp_path / "swarm.key",
        state_dir=tmp_path / "state",
        socket=tmp_path / "control.sock",
    )


def findings(places: Paths) -> dict[str, Finding]:
    return {finding.about: finding for finding in examine(places, {}, "attic")}


def test_a_machine_that_is_set_up_has_nothing_wrong_and_is_told_how_to_start(places: Paths) -> None:
    found = findings(places)
    assert {about for about, finding in found.items() if finding.state == "wrong"} <= {"network"}
    assert found["daemon"].state == "hint"
    assert "systemctl start swarmd" in found["daemon"].fix
    assert found["key"].text.startswith("fingerprint ")
    assert "scripted" in found["model"].text


def test_what_is_chosen_is_told_with_its_reasons_and_by_the_daemons_own_word_while_it_runs(places: Paths) -> None:
    places.config_file.write_text(f'roles = ["scorer"]\n{places.config_file.read_text()}slots = 3\n')
    because = [finding.text for finding in examine(places, {}, "attic") if finding.about == "because"]
    assert len(because) == 3
    assert because[1:] == ["scorer: as the configuration says", "3 at a time: as the configuration says"]
    told = model(msgspec.structs.replace(STATUS, reasons=("it is there",), context_tokens=4_096))
    assert [finding.text for finding in told] == [
        "qwen3:4b answers (ollama, small, 4,096 tokens of context)",
        "it is there",
    ]
    (missing,) = model(msgspec.structs.replace(STATUS, model="", no_model="run `ollama pull qwen3:4b`"))
    assert (missing.state, missing.text) == ("hint", "run `ollama pull qwen3:4b`")


def test_an_observer_needs_no_model(places: Paths) -> None:
    places.config_file.write_text(f"roles = []\n{places.config_file.read_text()}")
    assert findings(places)["model"].text == "none is needed: this peer only listens"


def test_every_finding_that_is_not_good_comes_with_its_cure(places: Paths) -> None:
    places.swarm_key.unlink()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        text = places.config_file.read_text()
        places.config_file.write_text(
            text.replace("tcp/0", f"tcp/{other.getsockname()[1]}").replace("scripted", "ollama")
            + 'host = "http://127.0.0.1:9"\n'
        )
        found = findings(places)
    assert [found[about].state for about in ("key", "port", "model")] == ["wrong"] * 3
    assert "swarmd key new" in found["key"].text + found["key"].fix
    assert "ss -ltnp" in found["port"].fix
    assert all(finding.fix for finding in found.values() if finding.state != "good")


def test_a_wrong_configuration_is_the_only_finding(places: Paths) -> None:
    places.config_file.write_text("[net]\nmdsn = false\n")
    (finding,) = examine(places, {}, "attic")
    assert (finding.about, finding.state) == ("configuration", "wrong")
    assert "config.toml:2" in finding.text


def test_clocks_disks_machines_and_networks_are_judged() -> None:
    assert clock(NOW_MS, STATUS).state == "good"
    assert clock(0, None).state == "wrong"
    assert (
        clock(NOW_MS, msgspec.structs.replace(STATUS, clock_offset_ms=-3_600_000)).text
        == "3,600 s off the other peers' time"
    )
    full = msgspec.structs.replace(STATUS, trouble="the disk takes nothing")
    assert disk(Path("/nowhere/state"), full).state == "wrong"
    assert disk(Path("/proc/self/nowhere"), None).state == "wrong"  # a file system without any room
    assert machine(PI).state == "good"
    assert machine(msgspec.structs.replace(PI, allowed_bytes=512 << 20)).state == "hint"
    assert machine(msgspec.structs.replace(PI, vector=False)).state == "good"  # a Pi 4: slower, and it runs
    assert machine(msgspec.structs.replace(PI, architecture="x86_64", vector=False)).state == "hint"

    def deaf(address: str) -> None:
        raise OSError(19, "No such device")

    assert multicast(True, (), deaf).state == "wrong"
    assert multicast(True, ("192.168.1.7",), deaf).state == "hint"
    assert multicast(False, ("192.168.1.7",), deaf).state == "good"
    assert multicast(True, ("192.168.1.7",), lambda _: None).state == "good"
    assert [finding.state for finding in company(msgspec.structs.replace(STATUS, peers_connected=0))] == ["hint"]
    assert [finding.state for finding in company(STATUS)] == ["good"]


def test_the_command_prints_each_finding_and_fails_if_something_is_wrong(places: Paths) -> None:
    good = CliRunner().invoke(app, ["doctor", "--config", str(places.config_file), "--json"])
    assert {"about", "state", "text", "fix"} == set(json.loads(good.stdout)[0])
    places.swarm_key.unlink()
    bad = CliRunner().invoke(app, ["doctor", "--config", str(places.config_file)])
    assert bad.exit_code == 1
    assert "no swarm key" in " ".join(bad.stdout.split())


def test_check_config_prints_what_differs_or_names_the_line(places: Paths) -> None:
    good = CliRunner().invoke(app, ["check-config", "--config", str(places.config_file)])
    assert good.exit_code == 0
    assert 'net.listen = ["/ip4/127.0.0.1/tcp/0"]\n' in good.stdout
    assert good.stdout.endswith("the configuration is fine\n")
    places.config_file.write_text("roles = 3\n")
    bad = CliRunner().invoke(app, ["check-config", "--config", str(places.config_file)])
    assert bad.exit_code == 2
    assert "config.toml:1: roles is 3" in bad.stderr
