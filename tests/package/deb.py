"""A built package, and a bare root of its suite to try it in."""

import fcntl
import platform
import subprocess
from pathlib import Path

from msgspec import Struct

HERE = Path(__file__).parents[2]
BUILT = HERE / "build/deb"
ROOTS = HERE / "build/roots"


class Deb(Struct, frozen=True, kw_only=True):
    """One .deb. *tree*: what it installs, unpacked; *control*: its maintainer scripts and lists, unpacked."""

    path: Path
    tree: Path
    control: Path

    def field(self, name: str) -> str:
        """A field of its control file."""
        return _output("dpkg-deb", "--field", str(self.path), name).strip()

    @property
    def library(self) -> Path:
        """Where its Python modules are."""
        (library,) = self.tree.glob("usr/lib/swarmd/lib/python3.*/site-packages")
        return library

    def files(self) -> list[str]:
        """Every file that it installs, as a path below the root."""
        return sorted(str(path.relative_to(self.tree)) for path in self.tree.rglob("*") if not path.is_dir())


def unpack(path: Path, folder: Path) -> Deb:
    """*path* unpacked below *folder*."""
    deb = Deb(path=path, tree=folder / "tree", control=folder / "control")
    _output("dpkg-deb", "--extract", str(path), str(deb.tree))
    _output("dpkg-deb", "--control", str(path), str(deb.control))
    return deb


def release() -> dict[str, str]:
    """What /etc/os-release says of the running suite."""
    return platform.freedesktop_os_release()


def of_this_machine(package: str) -> Path | None:
    """The built *package* that fits the running suite and machine, if there is one."""
    architecture = _output("dpkg", "--print-architecture").strip()
    return next(iter(sorted(BUILT.glob(f"{package}_*~deb{release().get('VERSION_ID')}u*_{architecture}.deb"))), None)


def bare_root(*packages: str) -> Path:
    """A root of the running suite that holds *packages* and what they depend on, made once."""
    suite = release()["VERSION_CODENAME"]
    root = ROOTS / "-".join([suite, *packages])
    ROOTS.mkdir(parents=True, exist_ok=True)
    with (ROOTS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            _output("sh", str(HERE / "packaging/root.sh"), suite, str(root), *packages)
    return root


class Room:
    """A copy of a root, in which commands run as root; it sees this machine's network, and its own processes only."""

    def __init__(self, root: Path, folder: Path) -> None:
        """*folder*: takes what the commands change."""
        self._root = root
        self._folder = folder
        for name in ("changes", "work", "root"):
            (folder / name).mkdir(parents=True)

    def put(self, file: Path, at: str) -> None:
        """Copy *file* to the path *at*."""
        target = self._folder / "changes" / at.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())

    def run(self, script: str, *, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
        """Run *script* with sh. The mounts that it needs, and whatever it started, end with it."""
        changes, work, root = (self._folder / name for name in ("changes", "work", "root"))
        mounts = f"""
            mount -t overlay overlay -o lowerdir={self._root},upperdir={changes},workdir={work} {root}
            mount -t proc proc {root}/proc
            mount --rbind /dev {root}/dev
            exec chroot {root} sh -c "$1"
        """
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", mounts, "sh", script]
        environ = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
        environ |= {"DEBIAN_FRONTEND": "noninteractive", "TERM": "dumb"}
        return subprocess.run(
            command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s
        )

    def must(self, script: str, *, timeout_s: float = 300) -> str:
        """What *script* prints. Fails, with all that it said, if it ends with another status than 0."""
        done = self.run(script, timeout_s=timeout_s)
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
