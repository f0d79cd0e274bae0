from pathlib import Path

import pytest

from swarmd.hardware.machine import Machine, probe
from swarmd.hardware.suit import ALL_ROLES, choose_roles

X86 = "processor\t: 0\nmodel name\t: N100\nflags\t\t: fpu avx2 fma f16c bmi2\n\nprocessor\t: 1\nmodel name\t: N100\n"
PI = "processor\t: 0\nFeatures\t: fp asimd asimddp\n\nprocessor\t: 1\n\nprocessor\t: 2\n\nprocessor\t: 3\n"


def recorded(root: Path, files: dict[str, str]) -> Path:
    """A recorded machine: "__" in a name stands for a slash, "--" for an underscore."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("--", "_")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


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
        architecture="x86_64", memory_bytes=16_000_000 * 1024, cores=2, vector=True, name="NUC12"
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
    assert machine.memory_bytes == 512 << 20
    assert machine.cores == 0.5


def test_cores_that_this_process_may_not_use_do_not_count(tmp_path: Path) -> None:
    root = recorded(tmp_path, {"proc__cpuinfo": PI, "proc__self__status": "Name:\tx\nCpus_allowed_list:\t0-1,3\n"})
    assert probe(root, "aarch64").cores == 3


def test_a_machine_that_says_nothing_is_unknown_not_an_error(tmp_path: Path) -> None:
    assert probe(tmp_path, "riscv64") == Machine(
        architecture="riscv64", memory_bytes=None, cores=1, vector=False, name=""
    )


def test_this_machine_is_read() -> None:
    machine = probe()
    assert machine.architecture
    assert machine.cores > 0
    assert machine.memory_bytes is None or machine.memory_bytes > 1 << 20


@pytest.mark.parametrize(("memory", "roles"), [(8 << 30, ALL_ROLES), (512 << 20, ("scorer",)), (None, ALL_ROLES)])
def test_roles_suit_the_machine(memory: int | None, roles: tuple[str, ...]) -> None:
    suited = choose_roles(Machine(architecture="x86_64", memory_bytes=memory, cores=4, vector=True, name=""))
    assert suited.roles == roles
    assert suited.reason
