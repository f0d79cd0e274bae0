"""The manual pages say what the help says."""

import shutil
import subprocess
from pathlib import Path

import typer

from swarmd.cli import swarmctl, swarmd
from swarmd.cli.man import main


def test_every_verb_and_option_is_in_the_manual_and_roff_has_no_complaint(tmp_path: Path) -> None:
    main(tmp_path)
    for app, file in ((swarmctl.app, "swarmctl.1"), (swarmd.app, "swarmd.8")):
        text = (tmp_path / file).read_text()
        command = typer.main.get_command(app)
        for verb, below in command.commands.items():  # type: ignore[attr-defined]
            assert f"{file.partition('.')[0]} {verb}".replace("-", "\\-") in text
            for parameter in below.params:
                for option in parameter.opts:
                    assert not option.startswith("--") or option.replace("-", "\\-") in text
        if shutil.which("groff"):
            made = subprocess.run(
                ["groff", "-man", "-Kutf8", "-Tutf8", "-ww", str(tmp_path / file)],
                capture_output=True,
                text=True,
                check=True,
            )
            assert made.stderr == ""
            assert "Example" in made.stdout


def test_manuals_are_the_same_every_time(tmp_path: Path) -> None:
    main(tmp_path / "a")
    main(tmp_path / "b")
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()
