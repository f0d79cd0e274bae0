"""Files are found where people expect them, and read in the order that the example promises."""

from pathlib import Path

import pytest

from swarmd.store.files import Paths, paths, read_config
from swarmd.vocab.faults import LocalMistake


@pytest.fixture
def places(tmp_path: Path) -> Paths:
    (tmp_path / "config.d").mkdir()
    return Paths(
        config_file=tmp_path / "config.toml",
        swarm_key=tmp_path / "swarm.key",
        state_dir=tmp_path / "state",
        socket=tmp_path / "control.sock",
    )


def test_the_service_uses_the_places_of_the_file_hierarchy_standard() -> None:
    assert paths(system=True) == Paths(
        config_file=Path("/etc/swarmd/config.toml"),
        swarm_key=Path("/etc/swarmd/swarm.key"),
        state_dir=Path("/var/lib/swarmd"),
        socket=Path("/run/swarmd/control.sock"),
    )


def test_a_person_s_own_daemon_follows_the_xdg_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    own = paths(system=False)
    assert own.config_file == tmp_path / "XDG_CONFIG_HOME/swarmd/config.toml"
    assert own.swarm_key == tmp_path / "XDG_CONFIG_HOME/swarmd/swarm.key"
    assert own.state_dir == tmp_path / "XDG_STATE_HOME/swarmd"
    assert own.socket == tmp_path / "XDG_RUNTIME_DIR/swarmd/control.sock"


def test_without_any_file_the_machine_fills_in_what_is_empty(places: Paths) -> None:
    config = read_config(places, {}, "garage.example.org")
    assert config.name == "garage"
    assert config.state_dir == str(places.state_dir)
    assert config.swarm_key == str(places.swarm_key)
    assert config.control.socket == str(places.socket)
    assert config.control.mode == 0o660


def test_extra_files_override_by_name_and_the_environment_overrides_all(places: Paths) -> None:
    places.config_file.write_text('name = "one"\n[timing]\nsettle_ms = 1\nballot_s = 1\npresence_s = 1')
    (places.config_file.parent / "config.d/20.toml").write_text("[timing]\nsettle_ms = 3\nballot_s = 3")
    (places.config_file.parent / "config.d/10.toml").write_text("[timing]\nsettle_ms = 2\nballot_s = 2")
    (places.config_file.parent / "config.d/30.toml.bak").write_text("nonsense")
    config = read_config(places, {"SWARMD_TIMING_SETTLE_MS": "4"}, "host")
    assert (config.timing.settle_ms, config.timing.ballot_s, config.timing.presence_s) == (4, 3, 1)
    assert config.name == "one"


def test_a_file_that_was_asked_for_must_exist(places: Paths) -> None:
    with pytest.raises(LocalMistake, match=r"other\.toml"):
        read_config(places, {}, "host", config_file=places.config_file.with_name("other.toml"))


def test_a_file_that_is_not_text_is_named(places: Paths) -> None:
    places.config_file.write_bytes(b'name = "\xff"')
    with pytest.raises(LocalMistake, match=f"{places.config_file} is not UTF-8"):
        read_config(places, {}, "host")
