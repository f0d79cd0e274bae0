"""Graphics processors and the memory that is theirs alone, from the kernel's files and NVIDIA's own tool."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct

_SMI_S_MAX = 10.0  # the first question after a while wakes the card up
_SMI = ("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits")
_CARVED_OUT_BYTES_MAX = 2 << 30  # of main memory for a processor's own graphics; a card of its own has more
_VENDORS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}  # PCI ids
_OWN_MEMORY = (  # files of a card that tell the size of its own memory in bytes
    "mem_info_vram_total",  # amdgpu
    "tile0/physical_vram_size_bytes",  # xe
    "lmem_total_bytes",  # i915 as Intel ships it
)


class Gpu(Struct, frozen=True, kw_only=True):
    """*memory_bytes*: its own; None if it has none or does not tell."""

    vendor: Literal["nvidia", "amd", "intel"]
    name: str
    memory_bytes: int | None = None


def read_gpus(root: Path, ask_nvidia: Callable[[], str]) -> tuple[Gpu, ...]:
    """Those of the machine at *root*, the one with most memory first. *ask_nvidia*: see `nvidia_smi`."""
    models = [_model(file) for file in sorted(root.glob("proc/driver/nvidia/gpus/*/information"))]
    found = _told(ask_nvidia()) if models else []
    found = found or [Gpu(vendor="nvidia", name=model) for model in models]
    for card in sorted(root.glob("sys/class/drm/card*")):
        vendor = _VENDORS.get(_read(card / "device/vendor").strip())
        if not card.name[4:].isdigit() or vendor is None or (vendor == "nvidia" and models):
            continue
        if vendor == "nvidia":
            found.append(Gpu(vendor="nvidia", name="NVIDIA without its driver"))
        elif vendor == "amd":
            found.append(Gpu(vendor="amd", name="AMD Radeon", memory_bytes=_own_memory(card)))
        else:
            found.append(Gpu(vendor="intel", name="Intel graphics", memory_bytes=_own_memory(card)))
    return tuple(sorted(found, key=lambda gpu: -(gpu.memory_bytes or 0)))


def nvidia_smi() -> str:
    """Lines of name and MiB of memory, as NVIDIA's tool prints them; empty if there is no such tool, or it may not
    look. The kernel's files do not tell the memory of these cards."""
    try:
        said = subprocess.run(_SMI, capture_output=True, text=True, timeout=_SMI_S_MAX, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return said.stdout


def _told(text: str) -> list[Gpu]:
    found = []
    for line in text.splitlines():
        name, _, mebibytes = line.rpartition(",")
        if name.strip() and mebibytes.strip().isdigit():
            size = int(mebibytes) << 20
            found.append(Gpu(vendor="nvidia", name=name.strip(), memory_bytes=size))
    return found


def _model(information: Path) -> str:
    model = re.search(r"^Model:\s*(.+)$", _read(information), re.MULTILINE)
    return model[1].strip() if model else "NVIDIA"


def _own_memory(card: Path) -> int | None:
    for name in _OWN_MEMORY:
        size = _read(card / "device" / name).strip()
        if size.isdigit():
            return int(size) if int(size) > _CARVED_OUT_BYTES_MAX else None
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
