"""Which model, roles and slots suit which machine: recorded machines, and what is sensible on each."""

from pathlib import Path

import msgspec
import pytest

from swarmd.hardware import Machine, describe, has_room_for_embedded, room_of, suit
from swarmd.hardware.suit import ALL_ROLES, pick
from swarmd.ports import Candidate
from swarmd.roles.work import Backend
from swarmd.vocab.faults import LocalMistake
from tests.unit.hardware.recorded import MACHINES, machine

GB = 1_000_000_000
SHELF = (  # name, billions, of which each token needs, size of the file
    ("smollm2:135m", 0.135, 0.135, 0.27),
    ("gemma3:1b", 1.0, 1.0, 0.8),
    ("qwen3.5:2b", 2.0, 2.0, 1.6),
    ("qwen3:4b", 4.0, 4.0, 2.6),
    ("qwen3:8b", 8.2, 8.2, 5.2),
    ("gemma4:12b", 12.2, 12.2, 8.1),
    ("gpt-oss:20b", 20.9, 20.9, 13.8),
    ("llama3.3:70b", 70.6, 70.6, 43.0),
)
PULLED = [Candidate(name=n, billions=b, working=w, size_bytes=int(s * GB)) for n, b, w, s in SHELF]
PI_5 = "Pi 5, 8 GB"
SERVED = Backend(name="ollama", model="qwen3:4b", tier="small", why="it is there")


def with_speed(candidates: list[Candidate], **speeds: float) -> list[Candidate]:
    named = {name.replace("_", ":"): speed for name, speed in speeds.items()}
    return [msgspec.structs.replace(each, tokens_per_s=named.get(each.name)) for each in candidates]


@pytest.mark.parametrize(
    ("name", "picked", "suggested"),
    [
        ("Pi 4, 2 GB", "smollm2:135m", ""),
        ("Pi 4, 8 GB", "gemma3:1b", "gemma3:1b"),
        ("Pi 5, 8 GB", "qwen3.5:2b", "qwen3.5:2b"),
        ("Pi 5, 16 GB", "qwen3:4b", "qwen3:4b"),
        ("mini-PC, 16 GB", "qwen3:4b", "qwen3:4b"),
        ("desktop, 32 GB", "qwen3:8b", "qwen3:8b"),
        ("desktop, 8 GB GPU", "qwen3:8b", "qwen3:8b"),
        ("desktop, 12 GB GPU", "gemma4:12b", "gemma4:12b"),
        ("desktop, 24 GB GPU", "gpt-oss:20b", "gpt-oss:20b"),
        ("laptop of 2011", "gemma3:1b", "gemma3:1b"),
    ],
)
def test_each_machine_takes_the_largest_model_that_it_bears(
    tmp_path: Path, name: str, picked: str, suggested: str
) -> None:
    found = machine(tmp_path, name)
    choice = pick(found, PULLED, local=True)
    assert choice.name == picked
    assert room_of(found).words in choice.why
    assert room_of(found).suggestion == suggested


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("Pi Zero 2", ("scorer",)),
        ("Pi 4, 2 GB", ALL_ROLES),
        ("Pi 5, 8 GB", ALL_ROLES),
        ("mini-PC, 16 GB", ALL_ROLES),
        ("desktop, 32 GB", ALL_ROLES),
        ("desktop, 24 GB GPU", ALL_ROLES),
    ],
)
def test_each_machine_takes_the_roles_that_it_has_room_for(tmp_path: Path, name: str, roles: tuple[str, ...]) -> None:
    found = machine(tmp_path, name)
    embedded = Backend(name="embedded", model="SmolLM2", tier="tiny")
    assert suit(found, embedded).roles == suit(found, SERVED).roles == roles
    assert has_room_for_embedded(found) == (roles == ALL_ROLES)


def test_a_small_machine_takes_every_role_with_a_model_of_another_one(tmp_path: Path) -> None:
    suited = suit(machine(tmp_path, "Pi Zero 2"), msgspec.structs.replace(SERVED, local=False))
    assert suited.roles == ALL_ROLES
    assert "another machine" in suited.reasons[1]


@pytest.mark.parametrize(
    ("speed", "roles"), [(0.2, ("scorer",)), (0.8, ALL_ROLES), (40.0, ALL_ROLES), (None, ALL_ROLES)]
)
def test_a_model_that_is_far_too_slow_only_scores(tmp_path: Path, speed: float | None, roles: tuple[str, ...]) -> None:
    suited = suit(machine(tmp_path, PI_5), msgspec.structs.replace(SERVED, tokens_per_s=speed))
    assert suited.roles == roles
    assert speed is None or f"{speed:.{0 if speed >= 10 else 1}f} tokens a second" in suited.reasons[1]


def test_a_model_that_was_slow_gives_way_to_a_smaller_one(tmp_path: Path) -> None:
    found = machine(tmp_path, "mini-PC, 16 GB")
    choice = pick(found, with_speed(PULLED, qwen3_4b=1.2), local=True)
    assert choice.name == "qwen3.5:2b"
    assert "qwen3:4b wrote only 1.2 tokens a second" in choice.why
    assert pick(found, with_speed(PULLED, qwen3_4b=9.0), local=True).name == "qwen3:4b"
    slow = with_speed(PULLED[2:4], qwen3_4b=0.5, **{"qwen3.5_2b": 1.0})
    assert pick(found, slow, local=True).name == "qwen3.5:2b"  # the fastest of those that are all slow


def test_a_mixture_of_experts_is_as_fast_as_its_working_part(tmp_path: Path) -> None:
    mixture = Candidate(name="qwen3:30b-a3b", billions=30.5, working=3.0, size_bytes=18 * GB)
    assert pick(machine(tmp_path / "one", "desktop, 32 GB"), [*PULLED, mixture], local=True).name == "qwen3:30b-a3b"
    assert pick(machine(tmp_path / "two", "mini-PC, 16 GB"), [*PULLED, mixture], local=True).name == "qwen3:4b"


def test_who_works_with_the_tiny_model_is_told_what_the_machine_bears(tmp_path: Path) -> None:
    tiny = Backend(name="embedded", model="SmolLM2", tier="tiny", why="it comes with swarmd")
    assert "install Ollama and run `ollama pull qwen3.5:2b`" in suit(machine(tmp_path / "a", PI_5), tiny).reasons[0]
    assert suit(machine(tmp_path / "b", "Pi 4, 2 GB"), tiny).reasons[0] == "SmolLM2: it comes with swarmd"


def test_a_machine_with_room_for_more_is_told_which_command_fills_it(tmp_path: Path) -> None:
    found = machine(tmp_path, "desktop, 24 GB GPU")
    assert "`ollama pull gpt-oss:20b`" in pick(found, PULLED[:4], local=True).why
    assert "ollama pull" not in pick(found, PULLED, local=True).why


def test_a_model_that_is_too_large_is_taken_if_it_is_all_there_is_and_fits_the_memory(tmp_path: Path) -> None:
    found = machine(tmp_path, PI_5)
    choice = pick(found, PULLED[3:4], local=True)
    assert choice.name == "qwen3:4b"
    assert "more than suits" in choice.why
    with pytest.raises(LocalMistake, match=r"none of its models suits.*ollama pull qwen3.5:2b"):
        pick(found, PULLED[6:], local=True)


@pytest.mark.parametrize(("name", "advice"), [(PI_5, "ollama pull qwen3.5:2b"), ("Pi 4, 2 GB", "on another machine")])
def test_a_server_without_models_is_answered_with_what_to_do(tmp_path: Path, name: str, advice: str) -> None:
    with pytest.raises(LocalMistake, match=advice):
        pick(machine(tmp_path, name), [], local=True)


def test_of_a_server_elsewhere_the_largest_sensible_model_is_taken(tmp_path: Path) -> None:
    choice = pick(machine(tmp_path, "Pi Zero 2"), PULLED, local=False)
    assert choice.name == "gpt-oss:20b"
    assert "another machine" in choice.why


@pytest.mark.parametrize(
    ("name", "local", "speed", "offered", "given"),
    [
        (PI_5, True, None, 1, 1),
        (PI_5, True, 5.0, 4, 1),
        ("desktop, 32 GB", True, 30.0, 4, 3),  # 12 cores
        ("desktop, 24 GB GPU", True, 80.0, 4, 4),
        ("desktop, 24 GB GPU", True, 12.0, 4, 2),
        ("desktop, 24 GB GPU", True, None, 4, 2),
        ("Pi Zero 2", False, 80.0, 4, 4),
    ],
)
def test_as_many_requests_at_once_as_the_server_offers_while_each_is_fast_enough(
    tmp_path: Path, name: str, local: bool, speed: float | None, offered: int, given: int
) -> None:
    backend = msgspec.structs.replace(SERVED, local=local, tokens_per_s=speed, slots=offered)
    assert suit(machine(tmp_path, name), backend).slots == given


def test_each_line_of_the_configuration_overrides_its_own_part_of_the_choice(tmp_path: Path) -> None:
    found = machine(tmp_path, PI_5)
    free = suit(found, SERVED)
    roles = suit(found, SERVED, roles=("executor",))
    assert (roles.roles, roles.slots) == (("executor",), free.slots)
    assert roles.reasons[1] == "executor: as the configuration says"
    slots = suit(found, SERVED, slots=3)
    assert (slots.roles, slots.slots) == (free.roles, 3)
    assert slots.reasons[2] == "3 at a time: as the configuration says"


def test_reasons_are_whole_sentences_of_model_roles_and_slots(tmp_path: Path) -> None:
    measured = msgspec.structs.replace(SERVED, tokens_per_s=4.8, gpu=0.0)
    assert suit(machine(tmp_path, PI_5), measured).reasons == (
        "qwen3:4b: it is there",
        "all roles: it writes 4.8 tokens a second on the CPU",
        "1 at a time: Ollama serves one, unless OLLAMA_NUM_PARALLEL says more; then say so in [model] slots",
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (PI_5, "Raspberry Pi 5 Model B Rev 1.0: 4 cores, 7.9 GiB, no GPU"),
        ("desktop, 12 GB GPU", "Desktop: 12 cores, 31.3 GiB, NVIDIA GeForce RTX 3060 with 12 GiB"),
        ("desktop, 32 GB", "Desktop: 12 cores, 31.3 GiB, Intel graphics"),
    ],
)
def test_a_machine_is_described_in_a_line(tmp_path: Path, name: str, line: str) -> None:
    assert describe(machine(tmp_path, name)) == line


def test_a_machine_of_which_nothing_is_known_gets_a_small_model_and_every_role() -> None:
    unknown = Machine(architecture="x86_64", memory_bytes=None, allowed_bytes=None, cores=1, vector=True, name="")
    assert pick(unknown, PULLED, local=True).name == "qwen3:4b"
    assert suit(unknown, SERVED).roles == ALL_ROLES
    assert "unknown memory" in describe(unknown)


def test_the_table_on_the_page_is_what_is_chosen(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "hardware.md").read_text("utf-8")
    for name in MACHINES:
        room = room_of(machine(tmp_path / name, name))
        suggestion = f"`{room.suggestion}`" if room.suggestion else "–"
        row = f"| {name} | {room.billions:g} | {suggestion} |"
        assert row in page or name == "laptop of 2011", row
