"""Which model, which roles and how many requests at once suit a machine, each with its reason in words.

The sizes rest on public reports of what machines of a kind write in a second; the self-test has the last word.
"""

from collections.abc import Sequence

from msgspec import Struct

from swarmd.hardware.machine import Machine
from swarmd.ports import Candidate, Pick, Picked
from swarmd.roles.work import Backend
from swarmd.vocab.faults import LocalMistake

ALL_ROLES = ("decomposer", "scorer", "executor")
_GIB = 1 << 30
_MEMORY_FOR_WORK_MIN = 1 * _GIB  # the daemon's 100 MB, a tiny model's 250 MB, and the system around them
_MAIN_SHARE = 0.7  # of main memory that a model may take; the rest is context and everything else
_GPU_SHARE = 0.85  # of a GPU's memory; the rest is context and the screen
_BILLIONS_ELSEWHERE_MAX = 40.0  # of a server whose machine nobody knows
_SLOW = 2.0  # tokens a second; with less, a smaller model is the better one
_TOO_SLOW = 0.5  # a split would take a quarter of an hour
_FAST_ENOUGH = 5.0  # tokens a second for each request: about as fast as people read
_SLOTS_UNMEASURED_MAX = 2
_CORES_PER_SLOT = 4


class Suited(Struct, frozen=True):
    """What this peer does with a model. *reasons*: in words for people, each a sentence."""

    roles: tuple[str, ...]
    slots: int
    reasons: tuple[str, ...]


class Room(Struct, frozen=True, kw_only=True):
    """What a machine has room for. *billions*: of parameters that each token needs. *size_bytes*: of weights, None if
    unknown. *suggestion*: a model of Ollama's that uses the room, empty if there is too little. *words*: the room."""

    billions: float
    size_bytes: int | None
    suggestion: str
    words: str


# GiB from which on a model of so many billions answers in good time. Memory is bought in round sizes, of which the
# kernel or the firmware keeps some.
_ON_GPU = (
    (22.0, 24.0, "gpt-oss:20b"),
    (11.0, 14.0, "gemma4:12b"),
    (7.5, 9.0, "qwen3:8b"),
    (5.5, 5.0, "qwen3:4b"),
    (3.5, 2.5, "qwen3.5:2b"),
)
_ON_CPU = ((28.0, 9.0, "qwen3:8b"), (14.0, 5.0, "qwen3:4b"), (7.0, 2.5, "qwen3.5:2b"), (3.4, 1.5, "gemma3:1b"))
_OLD_CPU_BILLIONS = 1.5  # without vector instructions for it, or on a Raspberry Pi 4
_PI_BILLIONS = 5.0  # its memory bus gives four billion parameters four or five tokens a second


def room_of(machine: Machine) -> Room:
    """How large a model may be on *machine*: in its GPU or in main memory, whichever takes more."""
    gpu = _on_gpu(machine)
    cpu = _on_cpu(machine)
    return gpu if gpu is not None and gpu.billions >= cpu.billions else cpu


def picker(machine: Machine) -> Pick:
    """Chooses among a server's models for *machine*: see `pick`."""
    return lambda candidates, local: pick(machine, candidates, local=local)


def pick(machine: Machine, candidates: Sequence[Candidate], *, local: bool) -> Picked:
    """The largest of *candidates* that answers in good time on *machine*, or on another one if not *local*.

    Raises LocalMistake with the command that gets one, if none will do.
    """
    room = room_of(machine) if local else Room(
        billions=_BILLIONS_ELSEWHERE_MAX, size_bytes=None, suggestion="qwen3:4b", words="another machine"
    )  # fmt: skip
    if not candidates:
        raise LocalMistake(f"it has no usable model: {_pull(room)}")
    fitting = [each for each in candidates if _fits(each, room)]
    if not fitting:
        smallest = min(candidates, key=lambda each: (each.working, each.size_bytes, each.name))
        if room.size_bytes is not None and smallest.size_bytes > room.size_bytes:
            raise LocalMistake(f"none of its models suits {room.words}: {_pull(room)}")
        return Picked(smallest.name, f"the smallest that is pulled, though more than suits {room.words}")
    quick = [each for each in fitting if each.tokens_per_s is None or each.tokens_per_s >= _SLOW]
    if not quick:
        chosen = max(fitting, key=lambda each: (each.tokens_per_s or 0, each.name))
        return Picked(chosen.name, f"the fastest of {len(fitting)} that suit {room.words}")
    chosen = max(quick, key=lambda each: (each.billions, each.size_bytes, each.name))
    why = f"the largest of {len(quick)} that suit {room.words}"
    slower = [each for each in fitting if each not in quick and each.billions > chosen.billions]
    if slower:
        why += f"; {slower[0].name} wrote only {slower[0].tokens_per_s:.1f} tokens a second"
    elif local and room.suggestion and chosen.billions < room.billions / 2.5:
        why += f"; there is room for more: `ollama pull {room.suggestion}`"
    return Picked(chosen.name, why)


def suit(
    machine: Machine, backend: Backend, *, roles: tuple[str, ...] | None = None, slots: int | None = None
) -> Suited:
    """What a peer on *machine* does with *backend*. *roles*, *slots*: what the configuration says, if it does."""
    chosen, why_roles = (roles, "as the configuration says") if roles is not None else _roles(machine, backend)
    count, why_slots = (slots, "as the configuration says") if slots is not None else _slots(machine, backend)
    shown = "all roles" if set(chosen) == set(ALL_ROLES) else ", ".join(chosen) or "no role"
    why_model = backend.why or "it is there"
    suggestion = room_of(machine).suggestion
    if backend.name == "embedded" and suggestion and "ollama pull" not in why_model:
        why_model += f"; this machine bears more: install Ollama and run `ollama pull {suggestion}`"
    reasons = (
        f"{backend.model}: {why_model}",
        f"{shown}: {why_roles}",
        f"{count} at a time: {why_slots}",
    )
    return Suited(chosen, count, reasons)


def describe(machine: Machine) -> str:
    """A machine in a line."""
    memory = f"{machine.memory_bytes / _GIB:.1f} GiB" if machine.memory_bytes is not None else "unknown memory"
    gpus = ", ".join(
        gpu.name + (f" with {gpu.memory_bytes / _GIB:.0f} GiB" if gpu.memory_bytes else "") for gpu in machine.gpus
    )
    return f"{machine.name or machine.architecture}: {machine.cores:g} cores, {memory}, {gpus or 'no GPU'}"


def has_room_for_embedded(machine: Machine) -> bool:
    """Whether the tiny model may be loaded beside the daemon."""
    return machine.allowed_bytes is None or machine.allowed_bytes >= _MEMORY_FOR_WORK_MIN


def _on_gpu(machine: Machine) -> Room | None:
    size = next((gpu.memory_bytes for gpu in machine.gpus if gpu.memory_bytes), None)
    for least, billions, suggestion in _ON_GPU:
        if size is not None and size >= least * _GIB:
            words = f"a GPU with {size / _GIB:.0f} GiB"
            return Room(billions=billions, size_bytes=int(size * _GPU_SHARE), suggestion=suggestion, words=words)
    return None


def _on_cpu(machine: Machine) -> Room:
    if machine.memory_bytes is None:
        return Room(billions=5.0, size_bytes=None, suggestion="qwen3:4b", words="a machine of unknown memory")
    most = _OLD_CPU_BILLIONS if not machine.vector else _PI_BILLIONS if machine.is_pi else float("inf")
    size = machine.memory_bytes
    words = f"{size / _GIB:.1f} GiB without a GPU" + ("" if machine.vector else " on an old processor")
    for least, billions, suggestion in _ON_CPU:
        if size >= least * _GIB and billions <= most:
            return Room(billions=billions, size_bytes=int(size * _MAIN_SHARE), suggestion=suggestion, words=words)
    return Room(billions=0.7, size_bytes=int(size * _MAIN_SHARE), suggestion="", words=words)


def _fits(candidate: Candidate, room: Room) -> bool:
    return candidate.working <= room.billions and (room.size_bytes is None or candidate.size_bytes <= room.size_bytes)


def _roles(machine: Machine, backend: Backend) -> tuple[tuple[str, ...], str]:
    memory = machine.allowed_bytes if backend.name == "embedded" else machine.memory_bytes
    if backend.local and backend.name != "scripted" and memory is not None and memory < _MEMORY_FOR_WORK_MIN:
        return ("scorer",), f"{memory >> 20} MiB of memory are too little to write plans beside"
    speed = backend.tokens_per_s
    if speed is not None and speed < _TOO_SLOW:
        return ("scorer",), f"{speed:.1f} tokens a second are too few to write plans"
    where = "" if backend.local else "; it runs on another machine"
    if speed is None:
        return ALL_ROLES, f"there is room for every role{where}"
    return ALL_ROLES, f"it writes {speed:.{0 if speed >= 10 else 1}f} tokens a second{_placed(backend.gpu)}{where}"


def _placed(gpu: float | None) -> str:
    if gpu is None:
        return ""
    return " on the CPU" if gpu == 0 else " in the GPU" if gpu > 0.99 else f", {gpu:.0%} of it in the GPU"


def _slots(machine: Machine, backend: Backend) -> tuple[int, str]:
    offered = backend.slots
    if offered <= 1 and backend.name == "ollama":
        return 1, "Ollama serves one, unless OLLAMA_NUM_PARALLEL says more; then say so in [model] slots"
    if offered <= 1:
        return 1, "it serves one"
    most = offered
    if backend.tokens_per_s is None:
        most = _SLOTS_UNMEASURED_MAX
    elif backend.tokens_per_s < offered * _FAST_ENOUGH:
        most = max(1, int(backend.tokens_per_s // _FAST_ENOUGH))
    if backend.local and not any(gpu.memory_bytes for gpu in machine.gpus):
        most = min(most, max(1, int(machine.cores // _CORES_PER_SLOT)))
    count = min(offered, most)
    return count, f"of {offered} that the server offers" + ("" if count == offered else ", so that each is fast enough")


def _pull(room: Room) -> str:
    if not room.suggestion:
        return "there is too little memory for one of Ollama's; use one on another machine ([model] host)"
    return f"run `ollama pull {room.suggestion}` there"
