"""What may keep a peer from taking part, looked for on this machine: each finding comes with its cure.

Looks only. It takes no port for longer than a moment and never touches the journal, so it may run beside the daemon.
"""

import errno
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import trio
from msgspec import Struct

from swarmd.config import Config
from swarmd.control.client import Client
from swarmd.daemon.outfit import Outfit
from swarmd.hardware import Machine, describe, has_room_for_embedded, probe, room_of
from swarmd.net.addresses import lan_addresses
from swarmd.ports import Llm
from swarmd.replica.status import StatusView
from swarmd.store.files import Paths, read_config
from swarmd.store.keys import fingerprint, read_key
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake, RemoteFault, Unreachable

_DISK_WRONG, _DISK_HINT = 16 << 20, 256 << 20  # bytes: a day of goals; a year of them
_CLOCK_HINT_MS = 60_000  # order survives an hour's error, but times that people read do not
_ASK_S = 8.0  # a model or a daemon that does not answer by then is not well
_SELF_TEST_S = 20.0  # a model that is not loaded by then is shown without its speed
_MDNS = "224.0.0.251"  # RFC 6762


class Finding(Struct, frozen=True, kw_only=True):
    """*state*: "wrong" must be put right, "hint" may be. *fix*: the cure, as a command where there is one."""

    about: str
    state: Literal["good", "hint", "wrong"]
    text: str
    fix: str = ""


def examine(
    places: Paths, environ: Mapping[str, str], host_name: str, *, config_file: Path | None = None
) -> tuple[Finding, ...]:
    """Everything that can be looked at, in the order in which a peer needs it."""
    try:
        config = read_config(places, environ, host_name, config_file=config_file)
    except LocalMistake as mistake:
        return (_wrong("configuration", mistake, "correct it, then: swarmd check-config"),)
    status, answered = _daemon(Path(config.control.socket))
    return (
        Finding(about="configuration", state="good", text=f"this peer is called {config.name}"),
        machine(probe()),
        clock(time.time_ns() // 1_000_000, status),
        _key(Path(config.swarm_key)),
        disk(Path(config.state_dir), status),
        *_ports(config, running=status is not None),
        multicast(config.net.mdns, lan_addresses(config.net.interfaces), _join),
        *_model(config, status),
        answered,
        *company(status),
    )


def machine(found: Machine) -> Finding:
    """Whether this machine can do more than score."""
    text = describe(found)
    if not has_room_for_embedded(found):
        fix = "nothing needed: it scores, and other peers write; or name a model server as host in [model]"
        return Finding(about="machine", state="hint", text=f"{text}: too little memory to write plans here", fix=fix)
    if not found.runs_embedded:
        fix = "install Ollama here or on another machine of the home"
        return Finding(about="machine", state="hint", text=f"{text}; too old for the embedded model", fix=fix)
    return Finding(about="machine", state="good", text=text)


def clock(wall_ms: int, status: StatusView | None) -> Finding:
    """Whether the time is believable, and near that of the swarm."""
    fix = "sudo timedatectl set-ntp true"
    if wall_ms < limits.PLAUSIBLE_MS_MIN:
        return Finding(about="clock", state="wrong", text="the clock stands before the first swarmd", fix=fix)
    offset = status.clock_offset_ms if status is not None else 0
    if abs(offset) > _CLOCK_HINT_MS:
        return Finding(
            about="clock", state="hint", text=f"{abs(offset) // 1000:,} s off the other peers' time", fix=fix
        )
    return Finding(about="clock", state="good", text=time.strftime("%Y-%m-%d %H:%M %Z"))


def disk(state_dir: Path, status: StatusView | None) -> Finding:
    """Whether there is room for what this peer must remember."""
    if status is not None and status.trouble:
        fix = f"make room where {state_dir} lies; the daemon goes on by itself"
        return Finding(about="disk", state="wrong", text=status.trouble, fix=fix)
    place = next((path for path in (state_dir, *state_dir.parents) if path.exists()), Path("/"))
    try:
        room = os.statvfs(place)
        used = sum(file.stat().st_size for file in state_dir.glob("journal.db*")) if place == state_dir else 0
    except PermissionError:
        return Finding(about="disk", state="hint", text=f"may not look into {state_dir}", fix="sudo swarmd doctor")
    free = room.f_bavail * room.f_frsize
    text = f"{free >> 20:,} MiB free, {used / (1 << 20):.1f} MiB used in {state_dir}"
    if free < _DISK_WRONG:
        return Finding(about="disk", state="wrong", text=text, fix=f"make room where {state_dir} lies")
    if free < _DISK_HINT:
        return Finding(about="disk", state="hint", text=text, fix=f"make room where {state_dir} lies")
    return Finding(about="disk", state="good", text=text)


def multicast(wanted: bool, addresses: tuple[str, ...], join: Callable[[str], None]) -> Finding:
    """Whether peers can be found by themselves. *join* joins the group on one address, or raises OSError."""
    static = "name a peer in [net] peers, as `swarmctl status` there shows it"
    if not addresses:
        fix = "connect it to the home network; the daemon notices by itself"
        return Finding(about="network", state="wrong", text="no address on a home network", fix=fix)
    if not wanted:
        text = f"multicast is switched off; this machine is at {', '.join(addresses)}"
        return Finding(about="network", state="good", text=text)
    deaf: list[str] = []
    for address in addresses:
        try:
            join(address)
        except OSError as error:
            deaf.append(f"{address} ({error.strerror or error})")
    if deaf:
        return Finding(about="network", state="hint", text=f"no multicast on {', '.join(deaf)}", fix=static)
    return Finding(about="network", state="good", text=f"at {', '.join(addresses)}, multicast works")


def company(status: StatusView | None) -> Iterator[Finding]:
    """Whether anybody else is heard."""
    if status is not None and not status.peers_connected:
        fix = "compare `swarmd key fingerprint`; let 4001/tcp and 5353/udp through; or name a peer in [net] peers"
        yield Finding(about="peers", state="hint", text="nobody else is heard", fix=fix)
    elif status is not None:
        yield Finding(about="peers", state="good", text=f"{status.peers_connected} connected")


def _daemon(path: Path) -> tuple[StatusView | None, Finding]:
    """How the daemon does, and whether this user may ask it."""

    async def ask() -> StatusView:
        async with Client(path) as client:
            with trio.fail_after(_ASK_S):
                return await client.status()

    try:
        status = trio.run(ask)
    except (LocalMistake, RemoteFault, trio.TooSlowError) as error:
        text, _, fix = str(error).partition("\n")
        forbidden = isinstance(error, Unreachable) and "may not" in text
        state: Literal["hint", "wrong"] = "wrong" if forbidden else "hint"
        return None, Finding(about="daemon", state=state, text=text or "it does not answer in time", fix=fix)
    return status, Finding(about="daemon", state="good", text=f"{status.version} answers; you may use it")


def _key(path: Path) -> Finding:
    try:
        return Finding(about="key", state="good", text=f"fingerprint {fingerprint(read_key(path))}")
    except LocalMistake as mistake:
        if isinstance(mistake.__cause__, PermissionError):
            return Finding(about="key", state="hint", text=str(mistake), fix="sudo swarmd doctor")
        return _wrong("key", mistake, "swarmd key new, on one machine; copy the file to the others")


def _model(config: Config, status: StatusView | None) -> tuple[Finding, ...]:
    if not config.roles:
        return (Finding(about="model", state="good", text="none is needed: this peer only listens"),)
    return model(status) if status is not None else trio.run(_backend, config)


def _ports(config: Config, *, running: bool) -> Iterator[Finding]:
    """Whether the addresses to listen on are free, or ours."""
    for address in config.net.listen:
        _, family, host, _, port, *_ = address.split("/")
        if running:
            yield Finding(about="port", state="good", text=f"{port} is the daemon's")
            continue
        if family not in ("ip4", "ip6"):
            continue
        with socket.socket(socket.AF_INET if family == "ip4" else socket.AF_INET6) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((host, int(port)))
            except OSError as error:
                taken = error.errno == errno.EADDRINUSE
                fix = f"sudo ss -ltnp sport = :{port} tells who; or choose another in [net] listen"
                text = f"another program has port {port}" if taken else f"cannot listen on {address}: {error.strerror}"
                yield Finding(about="port", state="wrong", text=text, fix=fix if taken else "correct [net] listen")
            else:
                yield Finding(about="port", state="good", text=f"{port} is free")


def model(status: StatusView) -> tuple[Finding, ...]:
    """What the daemon works with, by its own word."""
    if not status.model:
        fix = "the daemon notices by itself when it is there"
        return (Finding(about="model", state="hint", text=status.no_model or "none", fix=fix),)
    can = [status.backend, status.tier, f"{status.context_tokens:,} tokens of context"]
    return _works_with(status.model, can, status.reasons)


async def _backend(config: Config) -> tuple[Finding, ...]:
    """What the daemon would work with, were it running."""
    outfit = Outfit(config)
    suggestion = room_of(await outfit.machine()).suggestion
    try:
        with trio.fail_after(_ASK_S):
            llm = await outfit.choose()
            try:
                backend = await llm.probe()
            except BaseException:
                await _close(llm)
                raise
    except (LocalMistake, RemoteFault, trio.TooSlowError) as error:
        text = str(error) or f"no model answers within {_ASK_S:g} s"
        pull = f"here and run: ollama pull {suggestion}" if suggestion else "on another machine, and name it as host"
        fix = f"install Ollama (ollama.com) {pull}; until then this peer only scores"
        state: Literal["hint", "wrong"] = "hint" if config.model.backend == "auto" else "wrong"
        return (Finding(about="model", state=state, text=text, fix=fix),)
    try:
        with trio.move_on_after(_SELF_TEST_S), suppress(RemoteFault, LocalMistake):
            await llm.measure()
            backend = await llm.probe()
    finally:
        await _close(llm)
    can = [backend.name, backend.tier, f"{backend.context_tokens:,} tokens of context"]
    return _works_with(backend.model, can, outfit.suit(backend).reasons)


async def _close(llm: Llm) -> None:
    with trio.CancelScope(shield=True):
        await llm.close()


def _works_with(name: str, can: list[str], reasons: tuple[str, ...]) -> tuple[Finding, ...]:
    return (
        Finding(about="model", state="good", text=f"{name} answers ({', '.join(can)})"),
        *(Finding(about="because", state="good", text=reason) for reason in reasons),
    )


def _join(address: str) -> None:
    """Join the multicast DNS group on one of this machine's addresses, for a moment. Raises OSError."""
    if ":" in address:
        return  # whoever has IPv6 at home has IPv4 beside it, and discovery needs one of them
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        group = socket.inet_aton(_MDNS) + socket.inet_aton(address)
        trial.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)


def _wrong(about: str, mistake: LocalMistake, fix: str) -> Finding:
    text, _, following = str(mistake).partition("\n")
    return Finding(about=about, state="wrong", text=text, fix=following or fix)
