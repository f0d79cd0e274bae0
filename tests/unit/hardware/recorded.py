"""Machines as their files describe them, cut down to what is read."""

from pathlib import Path

from swarmd.hardware import Machine, probe

_FLAGS_X86 = "fpu sse4_2 avx avx2 bmi2 f16c fma"
_FLAGS_PI_4 = "fp asimd evtstrm crc32 cpuid"
_FLAGS_PI_5 = "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp"
_CARD = "sys__class__drm__card0__device__"
_INTEL = {f"{_CARD}vendor": "0x8086\n"}


def recorded(root: Path, files: dict[str, str]) -> Path:
    """A recorded machine: "__" in a name stands for a slash, "--" for an underscore."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("--", "_")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def _pi(model: str, kilobytes: int, flags: str) -> dict[str, str]:
    core = f"BogoMIPS\t: 108.00\nFeatures\t: {flags}\nCPU implementer\t: 0x41\n\n"
    return {
        "proc__cpuinfo": "".join(f"processor\t: {n}\n{core}" for n in range(4)),
        "proc__meminfo": f"MemTotal:       {kilobytes:>8} kB\nMemFree:          100000 kB\n",
        "proc__device-tree__model": f"{model}\0",
    }


def _pc(name: str, cores: int, kilobytes: int, more: dict[str, str]) -> dict[str, str]:
    core = f"vendor_id\t: any\nmodel name\t: any\nflags\t\t: {_FLAGS_X86}\n\n"
    return {
        "proc__cpuinfo": "".join(f"processor\t: {n}\n{core}" for n in range(cores)),
        "proc__meminfo": f"MemTotal:       {kilobytes:>8} kB\nMemFree:          100000 kB\n",
        "sys__class__dmi__id__product--name": f"{name}\n",
    } | more


def _nvidia(name: str) -> dict[str, str]:
    return {
        "proc__driver__nvidia__gpus__0000:01:00.0__information": f"Model: \t\t {name}\n",
        f"{_CARD}vendor": "0x10de",
    }


def _amd(mebibytes: int) -> dict[str, str]:
    return {f"{_CARD}vendor": "0x1002\n", f"{_CARD}mem--info--vram--total": f"{mebibytes << 20}\n"}


_TREES: dict[str, tuple[str, dict[str, str], str]] = {
    "Pi Zero 2": ("aarch64", _pi("Raspberry Pi Zero 2 W Rev 1.0", 425_000, _FLAGS_PI_4), ""),
    "Pi 4, 2 GB": ("aarch64", _pi("Raspberry Pi 4 Model B Rev 1.4", 1_895_432, _FLAGS_PI_4), ""),
    "Pi 4, 8 GB": ("aarch64", _pi("Raspberry Pi 4 Model B Rev 1.4", 7_999_784, _FLAGS_PI_4), ""),
    "Pi 5, 8 GB": ("aarch64", _pi("Raspberry Pi 5 Model B Rev 1.0", 8_254_736, _FLAGS_PI_5), ""),
    "Pi 5, 16 GB": ("aarch64", _pi("Raspberry Pi 5 Model B Rev 1.1", 16_608_080, _FLAGS_PI_5), ""),
    "mini-PC, 16 GB": ("x86_64", _pc("NUC12", 4, 16_123_456, _INTEL), ""),
    "desktop, 32 GB": ("x86_64", _pc("Desktop", 12, 32_780_000, _INTEL), ""),
    "desktop, 8 GB GPU": (
        "x86_64",
        _pc("Desktop", 12, 16_300_000, _nvidia("NVIDIA GeForce RTX 4060")),
        "NVIDIA GeForce RTX 4060, 8188\n",
    ),
    "desktop, 12 GB GPU": (
        "x86_64",
        _pc("Desktop", 12, 32_780_000, _nvidia("NVIDIA GeForce RTX 3060")),
        "NVIDIA GeForce RTX 3060, 12288\n",
    ),
    "desktop, 24 GB GPU": ("x86_64", _pc("Desktop", 24, 65_800_000, _amd(24_560)), ""),
    "laptop of 2011": (
        "x86_64",
        {
            "proc__cpuinfo": "processor : 0\nmodel name : i5-2520M\nflags : fpu avx\n" * 4,
            "proc__meminfo": "MemTotal: 8000000 kB\n",
        },
        "",
    ),
}
MACHINES = tuple(_TREES)


def machine(root: Path, name: str) -> Machine:
    """One of `MACHINES`."""
    architecture, files, smi = _TREES[name]
    return probe(recorded(root, files), architecture, lambda: smi)
