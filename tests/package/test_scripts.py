"""The scripts that dpkg runs as root."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.package.deb import HERE, Deb

OURS = sorted(
    [*HERE.glob("packaging/debian/swarmd*.p*[mt]"), *HERE.glob("packaging/**/*.sh"), *HERE.glob("tests/**/*.sh")]
)


@pytest.mark.parametrize("script", OURS, ids=lambda path: path.name)
def test_shellcheck_has_nothing_to_say(script: Path) -> None:
    shellcheck = Path(sys.executable).with_name("shellcheck")
    done = subprocess.run([shellcheck, "--severity=warning", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_scripts_as_built_are_valid_and_their_marks_filled_in(deb: Deb) -> None:
    scripts = [deb.control / name for name in ("preinst", "postinst", "prerm", "postrm")]
    for script in scripts:
        subprocess.run(["sh", "-n", script], check=True)
        assert "#DEBHELPER#" not in script.read_text()
    postinst = scripts[1].read_text()
    order = [
        postinst.index(step) for step in ("compileall", "systemd-sysusers", "systemd-tmpfiles", "deb-systemd-invoke")
    ]
    assert order == sorted(order), "the service is started last, when its user and its bytecode are there"
