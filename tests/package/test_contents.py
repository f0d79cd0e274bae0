"""What is in the packages, and what is not."""

import gzip
import re
import subprocess
from pathlib import Path

import pytest

from tests.package.deb import HERE, Deb

MIB_PACKED_MAX = 16
MB_INSTALLED_MAX = 60
ARTEFACTS = {".pyc", ".pyi", ".c", ".h", ".cpp", ".pyx", ".pxd", ".o", ".a", ".la", ".proto", ".debug"}
PROVIDED = {  # by libc6 and libgcc-s1, which control names
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
}
PROVIDED_TO_MODEL = PROVIDED | {"libgomp.so.1", "libstdc++.so.6"}
MACHINES = {"amd64": "Advanced Micro Devices X86-64", "arm64": "AArch64"}


def readelf(option: str, files: list[Path]) -> str:
    return subprocess.run(["readelf", "--wide", option, *files], check=True, capture_output=True, text=True).stdout


def needed(folder: Path) -> set[str]:
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", sorted(folder.rglob("*.so*")))))


def test_the_package_is_small(deb: Deb) -> None:
    assert deb.path.stat().st_size <= MIB_PACKED_MAX * 1_048_576
    assert int(deb.field("Installed-Size")) * 1_024 <= MB_INSTALLED_MAX * 1_000_000


def test_the_package_has_everything_in_debians_places(deb: Deb) -> None:
    files = {re.sub(r"^usr/lib/systemd", "lib/systemd", file) for file in deb.files()}  # Debian 13 has merged them
    assert files >= {
        "usr/bin/swarmd",
        "usr/bin/swarmctl",
        "etc/swarmd/config.toml",
        "lib/systemd/system/swarmd.service",
        "lib/systemd/system/swarmd.socket",
        "usr/lib/sysusers.d/swarmd.conf",
        "usr/lib/tmpfiles.d/swarmd.conf",
        "usr/lib/swarmd/bin/python",
        "usr/lib/swarmd/pyvenv.cfg",
        "usr/share/bash-completion/completions/swarmd",
        "usr/share/bash-completion/completions/swarmctl",
        "usr/share/zsh/vendor-completions/_swarmd",
        "usr/share/zsh/vendor-completions/_swarmctl",
        "usr/share/fish/vendor_completions.d/swarmd.fish",
        "usr/share/fish/vendor_completions.d/swarmctl.fish",
        "usr/share/man/man1/swarmctl.1.gz",
        "usr/share/man/man8/swarmd.8.gz",
        "usr/share/doc/swarmd/copyright",
        "usr/share/doc/swarmd/changelog.gz",
    }


def test_everything_else_is_in_the_packages_own_directory(deb: Deb) -> None:
    strays = [
        file
        for file in deb.files()
        if not re.match(
            r"usr/(lib/swarmd/|bin/swarm|lib/(sysusers|tmpfiles)\.d/swarmd\.conf|share/)|(usr/)?lib/systemd/|etc/swarmd/",
            file,
        )
    ]
    assert not strays


def test_no_compilers_or_testers_files_come_along(deb: Deb) -> None:
    assert not [file for file in deb.files() if Path(file).suffix in ARTEFACTS]
    assert not [
        file for file in deb.files() if {"tests", "__pycache__", "SelfTest", "examples"} & set(Path(file).parts)
    ]


def test_the_machine_code_is_of_the_packages_architecture_and_stripped(deb: Deb) -> None:
    files = sorted(deb.library.rglob("*.so*"))
    assert len(files) > 50
    machines = re.findall(r"Machine: +(.*)", readelf("--file-header", files))
    assert set(machines) == {MACHINES[deb.field("Architecture")]} and len(machines) == len(files)
    assert ".symtab" not in readelf("--sections", files)


def test_the_machine_code_fits_the_memory_pages_of_a_raspberry_pi_5(deb: Deb) -> None:
    if deb.field("Architecture") != "arm64":
        pytest.skip("of arm64 alone: its kernel has pages of 16 KiB there")
    alignments = re.findall(
        r"^ +LOAD .* (0x[0-9a-f]+)$", readelf("--program-headers", sorted(deb.library.rglob("*.so"))), re.M
    )
    assert alignments and min(int(alignment, 16) for alignment in alignments) >= 16_384


def test_the_machine_code_needs_no_library_beyond_those_that_the_package_depends_on(deb: Deb) -> None:
    assert needed(deb.library) <= PROVIDED


def test_the_model_is_only_recommended(deb: Deb) -> None:
    assert not [file for file in deb.files() if file.endswith(".gguf") or "xllamacpp" in file]
    assert deb.field("Recommends") == "swarmd-model-smollm2"


def test_the_model_is_a_package_of_its_own(model_deb: Deb) -> None:
    assert [file for file in model_deb.files() if file.endswith(".gguf")]


def test_the_models_machine_code_needs_no_library_beyond_those_that_its_package_depends_on(model_deb: Deb) -> None:
    assert needed(model_deb.library) <= PROVIDED_TO_MODEL
    assert {"libgomp1", "libstdc++6"} <= set(model_deb.field("Depends").split(", "))


def test_the_configuration_is_the_documented_one_and_a_conffile(deb: Deb) -> None:
    assert (deb.tree / "etc/swarmd/config.toml").read_bytes() == (HERE / "packaging/config.toml").read_bytes()
    assert (deb.control / "conffiles").read_text() == "/etc/swarmd/config.toml\n"


def test_the_package_runs_on_its_suites_own_python_alone(deb: Deb) -> None:
    python = deb.library.parent.name
    assert python in deb.field("Depends").split(", ")
    assert (deb.tree / "usr/lib/swarmd/bin/python").readlink() == Path(f"../../../bin/{python}")
    assert "include-system-site-packages = false" in (deb.tree / "usr/lib/swarmd/pyvenv.cfg").read_text()


def test_the_version_of_the_package_is_that_of_swarmd(deb: Deb) -> None:
    found = re.search(r'__version__ = "(.*)"', (HERE / "swarmd/__init__.py").read_text())
    assert found and deb.field("Version").partition("~")[0] == found[1]
    changelog = gzip.decompress((deb.tree / "usr/share/doc/swarmd/changelog.gz").read_bytes()).decode()
    assert changelog.startswith(f"swarmd ({deb.field('Version')})")


def test_the_completions_are_for_their_shells(deb: Deb) -> None:
    share = deb.tree / "usr/share"
    for name in ("swarmd", "swarmctl"):
        assert (
            f"complete -o default -F _{name}_completion {name}"
            in (share / f"bash-completion/completions/{name}").read_text()
        )
        assert (share / f"zsh/vendor-completions/_{name}").read_text().startswith(f"#compdef {name}\n")
        assert f"--command {name} " in (share / f"fish/vendor_completions.d/{name}.fish").read_text()
