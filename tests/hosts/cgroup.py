"""One host's control group in every hierarchy of this machine, be it cgroup v1, v2 or both."""

from pathlib import Path

from tests.hosts.command import until

# of v1: systemd's own, and what is measured. Not cpu: all hosts together would get the share of one process
_CONTROLLERS = {"name=systemd", "freezer", "memory", "pids"}


class Cgroup:
    """Made empty. The name must be unique on this machine."""

    def __init__(self, name: str) -> None:
        self.folders = [mount / name for mount in _hierarchies()]
        for folder in self.folders:
            folder.mkdir(parents=True)

    def freeze(self) -> None:
        """Stop every process in it, as a machine that sleeps."""
        self._freeze(True)

    def thaw(self) -> None:
        """Let them go on."""
        self._freeze(False)

    def _freeze(self, frozen: bool) -> None:
        for folder in self.folders:
            if (folder / "freezer.state").exists():
                (folder / "freezer.state").write_text("FROZEN" if frozen else "THAWED")
                return
        for folder in self.folders:
            if (folder / "cgroup.freeze").exists():
                (folder / "cgroup.freeze").write_text(str(int(frozen)))
                return
        raise AssertionError("this machine's kernel has no freezer")

    def remove(self) -> None:
        """Its processes have ended; the last of them may still be on their way."""
        for folder in self.folders:
            until(lambda folder=folder: remove(folder))  # type: ignore[misc]


def remove(folder: Path) -> bool:
    """Remove a control group with all that are in it. False if there is still a process."""
    if not folder.exists():
        return True
    inner = [path for path in folder.iterdir() if path.is_dir()]
    removed = [remove(path) for path in inner]
    if not all(removed):
        return False
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def leftovers(name: str) -> list[Path]:
    """Control groups of this name, in any hierarchy."""
    return [mount / name for mount in _hierarchies() if (mount / name).exists()]


def _hierarchies() -> list[Path]:
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place, (kind, _, options) = line.split()[4], line.partition(" - ")[2].split()[:3]
        if kind == "cgroup2" or (kind == "cgroup" and _CONTROLLERS & set(options.split(","))):
            found.append(Path(place))
    return found
