"""A booted Debian: a disk of its own over a base, a network namespace on the bridge, systemd as its first process.

The disk outlives the machine, so that a kill is a power cut. All of a host's processes live in a PID namespace whose
first one dies with the test's process, and its mounts in a mount namespace that goes with them. That has a
/run/systemd/nspawn of its own: nspawn keeps a folder there by a machine's name, and another run may use that name.
systemd in there may load BPF programs, by which it keeps a service's addresses and ports within bounds.
"""

import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.hosts.cgroup import Cgroup
from tests.hosts.command import COMMAND_S_MAX, PATIENCE_S, attempt, run, until
from tests.namespaces import WITH_US, Namespace

LAN_INTERFACE = "host0"

_START = """\
for group in {groups}; do echo $$ >$group/cgroup.procs; done
mount -t overlay overlay -o lowerdir={below},upperdir={disk}/upper,workdir={disk}/work {disk}/root
mkdir -p /run/systemd/nspawn
mount -t tmpfs none /run/systemd/nspawn
touch {disk}/net
mount --bind /proc/{net}/ns/net {disk}/net
exec unshare --pid --fork --kill-child=KILL --mount-proc \
    systemd-nspawn --quiet --machine={name} --directory={disk}/root --boot --register=no --keep-unit \
    --network-namespace-path={disk}/net --capability=CAP_NET_ADMIN,CAP_BPF --system-call-filter=bpf \
    --resolv-conf=off --timezone=off --link-journal=no --console=pipe
"""
_CLEAN = (
    "env",
    "-i",
    "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/root",
    "LANG=C.UTF-8",
)


class Host:
    """One machine, off at first. *below*: what its disk begins with, layer upon layer, the topmost first; *disk*: an
    empty folder; *net*: plugged into the bridge by the LAN."""

    def __init__(
        self, name: str, suite: str, below: Sequence[Path], disk: Path, net: Namespace, cgroup: Cgroup
    ) -> None:
        self.name = name
        self.suite = suite
        self.net = net
        self.address = ""
        self._below = below
        self._disk = disk
        self._cgroup = cgroup
        self._machine: subprocess.Popen[bytes] | None = None
        for part in ("upper/etc", "work", "root"):
            (disk / part).mkdir(parents=True)
        (disk / "upper/etc/hostname").write_text(f"{name}\n")
        (disk / "upper/etc/hosts").write_text(f"127.0.0.1 localhost {name}\n::1 localhost\n")

    # --- power -----------------------------------------------------------------------------------------------------

    def boot(self, *, wait: bool = True) -> float:
        """Switch it on, and wait until systemd has started everything; the seconds that it took."""
        assert self._machine is None, f"{self.name} is on already"
        started = time.monotonic()
        start = _START.format(
            groups=shlex.join(map(str, self._cgroup.folders)), below=":".join(map(str, self._below)), disk=self._disk,
            net=self.net.pid, name=self.name,
        )  # fmt: skip
        with (self._disk / "console").open("ab") as console:
            self._machine = subprocess.Popen(
                [*WITH_US, "unshare", "--mount", "sh", "-euc", start],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
            )  # fmt: skip
        if wait:
            self.wait_booted()
        return time.monotonic() - started

    def wait_booted(self) -> None:
        """Wait until systemd has started everything, with or without success."""
        self.until(lambda: self.attempt("systemctl", "is-system-running").stdout.strip() in ("running", "degraded"))

    def kill(self) -> None:
        """Pull the plug: every process ends at once, nothing is told, the disk stays."""
        if self._machine is not None:
            self._cgroup.thaw()  # a frozen process dies only when it is thawed
            self._machine.kill()
            self._machine.wait()
            self._machine = None

    def power_off(self) -> None:
        """Shut down in order."""
        assert self._machine is not None
        self.attempt("systemctl", "poweroff")
        self._machine.wait(PATIENCE_S)
        self._machine = None

    def reboot(self) -> None:
        """Shut down in order and boot again."""
        self.power_off()
        self.boot()

    @property
    def on(self) -> bool:
        """Whether it runs."""
        return self._machine is not None and self._machine.poll() is None

    def freeze(self) -> None:
        """Stop it where it stands, as a laptop whose lid is closed; its kernel still answers TCP."""
        self._cgroup.freeze()

    def thaw(self) -> None:
        """Let it go on."""
        self._cgroup.thaw()

    def root(self) -> Path | None:
        """Its files as it sees them, from outside; None while it is off."""
        try:
            return Path(f"/proc/{self._leader()}/root") if self.on else None
        except LookupError:
            return None

    # --- inside ----------------------------------------------------------------------------------------------------

    def run(
        self, *command: str, user: str = "root", feed: str = "", check: bool = True, seconds: float = COMMAND_S_MAX
    ) -> str:
        """What *command* prints in this host. Raises CommandFailed, unless *check* is false."""
        return run(*self._inside(user), *command, feed=feed, check=check, seconds=seconds)

    def attempt(
        self, *command: str, user: str = "root", feed: str = "", seconds: float = COMMAND_S_MAX
    ) -> "subprocess.CompletedProcess[str]":
        """How *command* ends in this host, whichever way it does; status 255 while the host is off."""
        try:
            inside = self._inside(user)
        except LookupError:
            return subprocess.CompletedProcess(command, 255, "", f"{self.name} is off")
        return attempt(*inside, *command, feed=feed, seconds=seconds)

    def start(self, *command: str, user: str = "root") -> "subprocess.Popen[str]":
        """Begin *command* in this host; its output is to be read from the pipes."""
        return subprocess.Popen(
            [*WITH_US, *self._inside(user), *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """A file of root's with this *text* and *mode*; its folder is made."""
        script = 'mkdir -p "$(dirname "$1")" && cat >"$1" && chmod "$2" "$1"'
        self.run("sh", "-euc", script, "sh", path, f"{mode:o}", feed=text)

    def read(self, path: str) -> str:
        """The text in a file."""
        return self.run("cat", path)

    def put(self, source: Path, path: str) -> None:
        """Copy a file from outside, whatever is in it."""
        with source.open("rb") as file:
            subprocess.run([*self._inside(), "sh", "-euc", 'cat >"$1"', "sh", path], stdin=file, check=True)

    def log(self, unit: str = "swarmd") -> str:
        """What a unit has said since the first boot of this disk, message by message."""
        return self.run("journalctl", "--no-pager", "--output=cat", f"--unit={unit}", check=False)

    def until(self, condition: Callable[[], object], seconds: float = PATIENCE_S) -> float:
        """Wait until *condition* holds; the seconds that it took. Fails with the end of the console and of the log."""
        return until(condition, seconds, why=self._story)

    def wait_active(self, unit: str) -> float:
        """Wait until a unit is up; the seconds that it took."""
        return self.until(lambda: self.attempt("systemctl", "is-active", unit).returncode == 0)

    def layer(self, folder: Path) -> None:
        """Shut down, and move what was written to the disk to *folder*, for other hosts to begin with. This one is of
        no more use."""
        self.power_off()
        upper = self._disk / "upper"
        for own in ("etc/machine-id", "etc/hostname", "etc/hosts"):
            (upper / own).unlink(missing_ok=True)
        shutil.rmtree(upper / "var/log/journal", ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        upper.rename(folder)

    # --- the end ---------------------------------------------------------------------------------------------------

    def remove(self) -> None:
        """End it and leave no trace of it."""
        self.kill()
        self._cgroup.remove()
        self.net.end()
        shutil.rmtree(self._disk)

    def _inside(self, user: str = "root") -> list[str]:
        """Before a command: in this host, with a clean environment, as *user*. Raises LookupError while it is off."""
        inside = ["nsenter", "--target", str(self._leader()), "--all", "--", *_CLEAN]
        return inside if user == "root" else [*inside, "runuser", "--user", user, "--"]

    def _leader(self) -> int:
        """The process that is pid 1 in there."""
        assert self._machine is not None, f"{self.name} is off"
        for nspawn in _children(self._machine.pid):
            for child in _children(nspawn):
                if _is_first(child):
                    return child
        raise LookupError(self.name)

    def _story(self) -> str:
        console = (self._disk / "console").read_text("utf-8", "replace")
        log = self.log() if self.on else "(off)"
        return f"{self.name}:\n{console[-2000:]}\n{log[-4000:]}"


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _is_first(pid: int) -> bool:
    """Whether a process is the first one of a PID namespace two below ours."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
    ids = next(line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:"))
    return len(ids) >= 3 and ids[-1] == "1"
