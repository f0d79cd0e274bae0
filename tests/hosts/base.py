"""The disk that every host of a suite begins with: a small Debian, kept under build/ and made anew when what goes into
it changes. Hosts have no network beyond their bridge, so all that the package depends on is in it."""

import fcntl
import hashlib
import os
import shutil
from pathlib import Path

from tests.hosts.command import run

BUILD = Path(__file__).parents[2] / "build" / "hosts"

_MAKER = Path(__file__).parents[2] / "packaging" / "root.sh"
SUITES = ("bookworm", "trixie")

# a plain server's, for Ansible, what swarmd.deb depends on or can use, and a clock that lies for the tests of clocks
PACKAGES = (
    "ca-certificates", "dbus", "init-system-helpers", "iproute2", "iputils-ping", "libfaketime", "libgomp1", "nftables",
    "openssh-server", "procps", "python3", "python3-apt", "sudo", "systemd-sysv", "ufw",
)  # fmt: skip
_NO_TIMERS = ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer")


def base(suite: str) -> Path:
    """The root of a Debian *suite* that nobody writes to. Takes some 20 s the first time."""
    recipe = "\0".join([suite, *PACKAGES, _MAKER.read_text(), Path(__file__).read_text()])
    root = BUILD / "base" / f"{suite}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    root.parent.mkdir(parents=True, exist_ok=True)
    with (root.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            _make(suite, root)
    return root


def _make(suite: str, root: Path) -> None:
    for outdated in root.parent.glob(f"{suite}-*"):
        shutil.rmtree(outdated)
    draft = root.with_name("draft")
    run("sh", str(_MAKER), suite, str(draft), *PACKAGES, seconds=900)
    (draft / "etc/machine-id").write_text("")  # each host gets its own at its first boot
    (draft / "var/lib/dbus/machine-id").unlink(missing_ok=True)
    (draft / "etc/resolv.conf").unlink(missing_ok=True)  # there is nobody to ask, and a daemon must live with that
    for timer in _NO_TIMERS:
        os.symlink("/dev/null", draft / "etc/systemd/system" / timer)
    draft.rename(root)
