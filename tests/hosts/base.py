"""The disk that every host of a suite begins with: a small Debian, kept under build/ and made anew when what goes into
it changes. Hosts have no network beyond their bridge, so all that the package depends on is in it."""

import fcntl
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.hosts.command import run

BUILD = Path(__file__).parents[2] / "build" / "hosts"

SUITES = ("bookworm", "trixie")

# a plain server's, for Ansible, what swarmd.deb depends on or can use, and a clock that lies for the tests of clocks
PACKAGES = (
    "ca-certificates", "dbus", "init-system-helpers", "iproute2", "iputils-ping", "libfaketime", "libgomp1", "nftables",
    "openssh-server", "procps", "python3", "python3-apt", "sudo", "systemd-sysv",
)  # fmt: skip
_NO_TIMERS = ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer")


def base(suite: str) -> Path:
    """The root of a Debian *suite* that nobody writes to. Takes some 20 s the first time."""
    sources = _sources(suite)
    recipe = "\0".join([suite, *PACKAGES, sources, Path(__file__).read_text()])
    root = BUILD / "base" / f"{suite}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    root.parent.mkdir(parents=True, exist_ok=True)
    with (root.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            _make(suite, sources, root)
    return root


def _make(suite: str, sources: str, root: Path) -> None:
    draft = root.with_name("draft")
    shutil.rmtree(draft, ignore_errors=True)
    (root.parent / "sources").write_text(sources)
    acquire = [line for line in run("apt-config", "dump").splitlines() if line.startswith("Acquire::")]
    (root.parent / "apt.conf").write_text("".join(f"{line}\n" for line in acquire if "::Languages" not in line))
    run(
        "mmdebstrap", "--quiet", "--mode=root", "--variant=apt", f"--include={','.join(PACKAGES)}",
        f"--aptopt={root.parent / 'apt.conf'}", suite, str(draft), str(root.parent / "sources"),
        seconds=900,
    )  # fmt: skip
    (draft / "etc/machine-id").write_text("")  # each host gets its own at its first boot
    (draft / "var/lib/dbus/machine-id").unlink(missing_ok=True)
    for timer in _NO_TIMERS:
        os.symlink("/dev/null", draft / "etc/systemd/system" / timer)
    for outdated in root.parent.glob(f"{suite}-*"):
        shutil.rmtree(outdated)
    draft.rename(root)


def _sources(suite: str) -> str:
    """Where *suite* comes from: this machine's own mirrors, or Debian's where this machine is no Debian."""
    own = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.MULTILINE)
    stanzas = [re.sub(rf"\b{own[1]}\b", suite, stanza) for stanza in _debian(own[1])] if own else []
    plain = f"Types: deb\nURIs: http://deb.debian.org/debian\nSuites: {suite}\nComponents: main"
    return "\n\n".join(stanzas or [plain])


def _debian(codename: str) -> Iterator[str]:
    """The deb822 stanzas (sources.list(5)) of this machine that speak of the suite *codename*."""
    for line in _texts("*.list", Path("/etc/apt/sources.list")).splitlines():
        if match := re.match(r"deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)\s+main\b", line):
            options, uri, name = match.groups()
            if name.startswith(codename):
                keys = re.search(r"signed-by=(\S+)", options or "")
                signed = f"\nSigned-By: {keys[1]}" if keys else ""
                yield f"Types: deb\nURIs: {uri}\nSuites: {name}\nComponents: main{signed}"
    for stanza in re.split(r"\n\s*\n", _texts("*.sources")):
        if re.search(rf"^Suites:.*(?<=[ :]){codename}\b", stanza, re.MULTILINE):
            yield "\n".join(line for line in stanza.splitlines() if line and not line.startswith("#"))


def _texts(pattern: str, *more: Path) -> str:
    files = [*more, *sorted(Path("/etc/apt/sources.list.d").glob(pattern))]
    return "\n\n".join(file.read_text() for file in files if file.exists())
