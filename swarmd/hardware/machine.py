"""What this machine is, read from Linux's own files. What cannot be read is unknown (None), never an error."""

import platform
import re
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from swarmd.hardware.gpu import Gpu, nvidia_smi, read_gpus

_X86_LLAMA_FLAGS = {"avx2", "fma", "f16c", "bmi2"}  # what llama.cpp's prebuilt wheel was compiled for


class Machine(Struct, frozen=True, kw_only=True):
    """*memory_bytes*: of the machine, or of the container around us. *allowed_bytes*: what this service itself may use
    of it. *cores*: usable ones, quotas included. *vector*: has the instructions that make a model on the CPU bearable
    (AVX2 and FMA, or on ARM the dot product). *name*: board or product, empty if unknown."""

    architecture: str
    memory_bytes: int | None
    allowed_bytes: int | None
    cores: float
    vector: bool
    name: str
    gpus: tuple[Gpu, ...] = ()

    @property
    def is_pi(self) -> bool:
        """Whether it is a Raspberry Pi: four small cores behind a narrow memory bus."""
        return self.name.startswith("Raspberry Pi")

    @property
    def runs_embedded(self) -> bool:
        """Whether llama.cpp's prebuilt wheel runs here: on ARM anywhere, on x86 from 2013 on."""
        return self.architecture in ("aarch64", "arm64") or (self.architecture in ("x86_64", "AMD64") and self.vector)


def probe(
    root: Path = Path("/"), architecture: str | None = None, ask_nvidia: Callable[[], str] | None = None
) -> Machine:
    """Read the machine whose file system is at *root*; a recorded tree will do. *ask_nvidia*: what nvidia-smi says
    there; by default it is run if *root* is this machine. Blocks for a second or two where there is such a GPU."""
    architecture = architecture or platform.machine()
    cpuinfo = _read(root / "proc/cpuinfo")
    machine, allowed = _memory(root)
    return Machine(
        architecture=architecture,
        memory_bytes=machine,
        allowed_bytes=allowed,
        cores=_cores(root, cpuinfo),
        vector=_has_vector(cpuinfo, architecture),
        name=_name(root, cpuinfo),
        gpus=read_gpus(root, ask_nvidia or (nvidia_smi if root == Path("/") else lambda: "")),
    )


def _memory(root: Path) -> tuple[int | None, int | None]:
    """Of the machine or container, and what this process may use of it. The limit at the top of the hierarchy is the
    container's; those below it are of this service alone, and what other services do is not held by them."""
    total = re.search(r"^MemTotal:\s*(\d+) kB", _read(root / "proc/meminfo"), re.MULTILINE)
    sizes = [int(total[1]) * 1024] if total else []
    top, *below = [_bytes(limit) for limit in _group_files(root, "memory.max", "memory", "memory.limit_in_bytes")]
    *below, legacy = below
    sizes += [limit for limit in (top, legacy) if limit is not None]
    machine = min(sizes, default=None)
    return machine, min([*sizes, *(limit for limit in below if limit is not None)], default=None)


def _bytes(limit: str) -> int | None:
    return int(limit) if limit.strip().isdigit() else None


def _cores(root: Path, cpuinfo: str) -> float:
    listed = float(len(re.findall(r"^processor\s*:", cpuinfo, re.MULTILINE)) or 1)
    allowed = re.search(r"^Cpus_allowed_list:\s*(\S+)", _read(root / "proc/self/status"), re.MULTILINE)
    if allowed:
        listed = min(listed, float(_range_length(allowed[1])))
    for quota in _group_files(root, "cpu.max", "cpu", "cpu.cfs_quota_us"):
        fields = quota.split()
        if fields and fields[0].isdigit():
            period = fields[1] if len(fields) > 1 else _read(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us").strip()
            if period.isdigit() and int(period):
                listed = min(listed, int(fields[0]) / int(period))
    return listed


def _group_files(root: Path, unified: str, controller: str, legacy: str) -> list[str]:
    """The contents of a limit file at the top of the control groups, in those below it down to this process's own
    (cgroup v2), and at the top of v1."""
    top = root / "sys/fs/cgroup"
    own = re.search(r"^0::/(.*)$", _read(root / "proc/self/cgroup"), re.MULTILINE)
    folders = [top]
    for name in own[1].split("/") if own else ():
        if name and name != "..":
            folders.append(folders[-1] / name)
    return [_read(folder / unified) for folder in folders] + [_read(top / controller / legacy)]


def _range_length(ranges: str) -> int:
    """The number of cores in a list such as "0-3,6"."""
    total = 0
    for each in ranges.split(","):
        first, _, last = each.partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            total += int(last or first) - int(first) + 1
    return total or 1


def _has_vector(cpuinfo: str, architecture: str) -> bool:
    line = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", cpuinfo, re.MULTILINE)
    flags = set(line[1].split()) if line else set()
    return "asimddp" in flags if architecture in ("aarch64", "arm64") else flags >= _X86_LLAMA_FLAGS


def _name(root: Path, cpuinfo: str) -> str:
    for path in ("proc/device-tree/model", "sys/class/dmi/id/product_name"):
        if found := _read(root / path).strip("\0 \n"):
            return found
    model = re.search(r"^model name\s*:\s*(.*)$", cpuinfo, re.MULTILINE)
    return model[1].strip() if model else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
