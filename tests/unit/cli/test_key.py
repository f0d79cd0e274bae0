"""`swarmd key`: made, shown, changed and retired, and never printed by accident."""

from pathlib import Path

from typer.testing import CliRunner, Result

from swarmd.cli.swarmd import app
from swarmd.store.keys import key_text, read_swarm


def key(verb: str, path: Path) -> Result:
    result = CliRunner().invoke(app, ["key", verb, "--file", str(path)])
    assert result.exit_code == 0, result.output
    return result


def test_a_key_is_changed_in_two_steps_and_the_swarm_stays_the_same(tmp_path: Path) -> None:
    path = tmp_path / "swarm.key"
    key("new", path)
    before = read_swarm(path)
    first = key("fingerprint", path).stdout
    assert key("rotate", path).stdout != first
    during = read_swarm(path)
    assert (during.id, during.older) == (before.id, (before.key,))
    assert key("retire", path).stdout == key("fingerprint", path).stdout
    after = read_swarm(path)
    assert (after.id, after.keys, after.retired) == (before.id, (during.key,), (before.key,))
    assert key("show", path).stdout == path.read_text()


def test_only_show_prints_a_key(tmp_path: Path) -> None:
    path = tmp_path / "swarm.key"
    said = [key(verb, path).output for verb in ("new", "fingerprint", "rotate", "retire")]
    swarm = read_swarm(path)
    assert not any(key_text(secret) in "".join(said) for secret in (*swarm.keys, *swarm.retired))
