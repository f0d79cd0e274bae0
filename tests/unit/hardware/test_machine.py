from pathlib import Path

import pytest

from swarmd.hardware.machine import Machine, probe
from tests.unit.hardware.recorded import recorded

X86 = "processor\t: 0\nmodel name\t: N100\nflags\t\t: fpu avx2 fma f16c bmi2\n\nprocessor\t: 1\nmodel name\t: N100\n"
PI = "processor\t: 0\nFeatures\t: fp asimd asimddp\n\nprocessor\t: 1\n\nprocessor\t: 2\n\nprocessor\t: 3\n"


def test_a_mini_pc_is_read(tmp_path: Path) -> None:
    root = recorded(
        tmp_path,
        {
            "proc__cpuinfo": X86,
            "proc__meminfo": "MemTotal:       16000000 kB\nMemFree: 1 kB\n",
            "sys__class__dmi__id__product--name": "NUC12\n",
        },
    )
    assert probe(root, "x86_64") == Machine(
        architecture="x86_64",
        memory_bytes=16_000_000 * 1024,
        allowed_bytes=16_000_000 * 1024,
        cores=2,
        vector=True,
        name="NUC12",
    )


def test_a_raspberry_pi_is_read(tmp_path: Path) -> None:
    root = recorded(tmp_path, {"proc__cpuinfo": PI, "proc__device-tree__model": "Raspberry Pi 5 Model B\0"})
    machine = probe(root, "aarch64")
    assert (machine.name, machine.cores, machine.vector, machine.memory_bytes) == (
        "Raspberry Pi 5 Model B",
        4,
        True,
        None,
    )


@pytest.mark.parametrize(
    "files",
    [
        {"sys__fs__cgroup__memory.max": "536870912\n", "sys__fs__cgroup__cpu.max": "50000 100000\n"},
        {
            "proc__self__cgroup": "0::/system.slice/swarmd.service\n",
            "sys__fs__cgroup__system.slice__swarmd.service__memory.max": "536870912\n",
            "sys__fs__cgroup__system.slice__swarmd.service__cpu.max": "max 100000\n",
            "sys__fs__cgroup__system.slice__cpu.max": "50000 100000\n",
            "sys__fs__cgroup__system.slice__memory.max": "max\n",
        },
        {
            "sys__fs__cgroup__memory__memory.limit--in--bytes": "536870912\n",
            "sys__fs__cgroup__cpu__cpu.cfs--quota--us": "50000\n",
            "sys__fs__cgroup__cpu__cpu.cfs--period--us": "100000\n",
        },
    ],
)
def test_limits_of_control_groups_count(tmp_path: Path, files: dict[str, str]) -> None:
    root = recorded(tmp_path, {"proc__cpuinfo": X86, "proc__meminfo": "MemTotal: 16000000 kB\n"} | files)
    machine = probe(root, "x86_64")
    assert machine.allowed_bytes == 512 << 20
    assert machine.cores == 0.5
    is_service = "proc__self__cgroup" in files  # what other services may use is not held by its limit
    assert machine.memory_bytes == (16_000_000 * 1024 if is_service else 512 << 20)


def test_cores_that_this_process_may_not_use_do_not_count(tmp_path: Path) -> None:
    root = recorded(tmp_path, {"proc__cpuinfo": PI, "proc__self__status": "Name:\tx\nCpus_allowed_list:\t0-1,3\n"})
    assert probe(root, "aarch64").cores == 3


def test_a_machine_that_says_nothing_is_unknown_not_an_error(tmp_path: Path) -> None:
    assert probe(tmp_path, "riscv64") == Machine(
        architecture="riscv64", memory_bytes=None, allowed_bytes=None, cores=1, vector=False, name=""
    )


def test_this_machine_is_read() -> None:
    machine = probe()
    assert machine.architecture
    assert machine.cores > 0
    assert machine.memory_bytes is None or machine.memory_bytes > 1 << 20


NVIDIA = {
    "proc__driver__nvidia__gpus__0000:01:00.0__information": "Model: \t\t NVIDIA GeForce RTX 3060\nIRQ:   \t\t 151\n",
    "sys__class__drm__card1__device__vendor": "0x10de\n",
}


def gpus(root: Path, files: dict[str, str], smi: str = "") -> list[tuple[str, str, int | None]]:
    found = probe(recorded(root, files), "x86_64", lambda: smi).gpus
    return [(gpu.vendor, gpu.name, gpu.memory_bytes and gpu.memory_bytes >> 20) for gpu in found]


def test_an_nvidia_card_is_told_by_its_driver_and_its_memory_by_its_tool(tmp_path: Path) -> None:
    said = "NVIDIA GeForce RTX 3060, 12288\nNVIDIA T400, [N/A]\nrubbish\n"
    assert gpus(tmp_path, NVIDIA, said) == [("nvidia", "NVIDIA GeForce RTX 3060", 12_288)]


def test_an_nvidia_card_whose_tool_is_silent_has_unknown_memory(tmp_path: Path) -> None:
    assert gpus(tmp_path, NVIDIA) == [("nvidia", "NVIDIA GeForce RTX 3060", None)]


def test_an_nvidia_card_without_its_driver_is_no_help_and_its_tool_is_not_asked(tmp_path: Path) -> None:
    def never() -> str:
        raise AssertionError

    root = recorded(tmp_path, {"sys__class__drm__card0__device__vendor": "0x10de\n"})
    (gpu,) = probe(root, "x86_64", never).gpus
    assert (gpu.vendor, gpu.memory_bytes) == ("nvidia", None)
    assert "without its driver" in gpu.name


@pytest.mark.parametrize(
    ("vendor", "file", "mebibytes", "counted"),
    [
        ("0x1002", "mem_info_vram_total", 16_368, 16_368),
        ("0x1002", "mem_info_vram_total", 512, None),  # carved out of main memory
        ("0x1002", "mem_info_vram_total", 2_048, None),
        ("0x8086", "tile0__physical--vram--size--bytes", 12_288, 12_288),
        ("0x8086", "lmem--total--bytes", 16_384, 16_384),
        ("0x8086", "unknown", 1, None),
    ],
)
def test_the_memory_of_a_card_counts_if_it_is_its_own(
    tmp_path: Path, vendor: str, file: str, mebibytes: int, counted: int | None
) -> None:
    card = "sys__class__drm__card0__device__"
    files = {f"{card}vendor": f"{vendor}\n", f"{card}{file}": f"{mebibytes << 20}\n"}
    files["sys__class__drm__card0-HDMI-A-1__device__vendor"] = vendor  # an outlet of the card, not a card
    ((_, _, size),) = gpus(tmp_path, files)
    assert size == counted
