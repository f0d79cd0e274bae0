"""TOML texts and environment in, one frozen `Config` out. A slip is told with its file, its line and what is right.

Pure: who reads the files, and what stands for an empty name or path, is the business of `swarmd.store.files`.
"""

import difflib
import ipaddress
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake
from swarmd.vocab.text import is_safe

Role: TypeAlias = Literal["decomposer", "scorer", "executor"]
_Path: TypeAlias = Annotated[str, Meta(pattern=r"^(/.*)?\Z", description="an absolute path")]
_Switch: TypeAlias = Annotated[bool, Meta(description="true or false")]
_Seconds: TypeAlias = Annotated[float, Meta(ge=0.05, le=3_600, description="seconds from 0.05 to 3600")]


class Control(Struct, frozen=True, kw_only=True):
    """The socket that swarmctl talks to. *socket*: empty for the usual place."""

    socket: _Path = ""
    socket_mode: Annotated[
        str, Meta(pattern=r"^0?[0-7]{3}\Z", description='file permissions in octal digits, such as "0660"')
    ] = "0660"

    @property
    def mode(self) -> int:
        """*socket_mode* as the number that chmod takes."""
        return int(self.socket_mode, 8)


class Net(Struct, frozen=True, kw_only=True):
    """Links to other peers. *interfaces*: the only ones to be found on; none: every one on a home network. *psk*: also
    wrap TCP in a key made from the swarm key; it must be the same on all peers."""

    listen: Annotated[
        tuple[str, ...],
        Meta(min_length=1, max_length=16, description="1 to 16 multiaddresses such as /ip4/0.0.0.0/tcp/4001"),
    ] = ("/ip4/0.0.0.0/tcp/4001", "/ip6/::/tcp/4001")
    peers: Annotated[
        tuple[str, ...],
        Meta(max_length=limits.PEERS_MAX, description="multiaddresses such as /ip4/192.168.1.7/tcp/4001/p2p/12D3KooW…"),
    ] = ()
    interfaces: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=15)], ...],  # IFNAMSIZ of Linux, without its final zero
        Meta(max_length=64, description="names of network interfaces such as eth0"),
    ] = ()
    mdns: _Switch = True
    psk: _Switch = True


class Model(Struct, frozen=True, kw_only=True):
    """The model behind this peer's roles. *host*: of the model server, by Ollama's rules for OLLAMA_HOST. *name*: empty
    for one that suits the machine. *key_file*: with the key that the server wants, empty for none. *slots*: requests at
    once, *context*: tokens for prompt and answer together, 0 for what suits. *threads*: of the embedded model, 0 for
    one less than there are cores. *delay_ms*: how long the scripted model pretends to think."""

    backend: Annotated[
        Literal["auto", "ollama", "openai", "embedded", "scripted"],
        Meta(description="one of auto, ollama, openai, embedded, scripted"),
    ] = "auto"
    host: Annotated[str, Meta(description="an address such as http://192.168.1.7:11434")] = "http://127.0.0.1:11434"
    name: Annotated[
        str,
        Meta(pattern=r"^[\w./:@-]*\Z", max_length=limits.MODEL_BYTES_MAX, description="a model such as qwen3:4b"),
    ] = ""
    key_file: _Path = ""
    slots: Annotated[int, Meta(ge=0, le=64, description="a number from 0 to 64")] = 0
    context: Annotated[
        int, Meta(ge=0, le=131_072, description="tokens from 1024 to 131072, or 0 for what suits the model")
    ] = 0
    threads: Annotated[int, Meta(ge=0, le=256, description="a number from 0 to 256")] = 0
    delay_ms: Annotated[int, Meta(ge=0, le=600_000, description="milliseconds from 0 to 600000")] = 50


class Timing(Struct, frozen=True, kw_only=True):
    """How patient this peer is. *presence_s*: between two words that it lives. *deliberation_s*: how long a chair waits
    for more proposals and scores. *ballot_s*: silence after which the next ballot begins. *settle_ms*: between a claim
    and its first token; about one gossip delay."""

    presence_s: _Seconds = 4.0
    deliberation_s: _Seconds = 30.0
    ballot_s: _Seconds = 6.0
    settle_ms: Annotated[int, Meta(ge=0, le=60_000, description="milliseconds from 0 to 60000")] = 500


class Config(Struct, frozen=True, kw_only=True):
    """Everything that can be set. *name*: what people call this peer; empty: its host name. *roles*: "auto" for what
    suits the machine; none: a pure observer. *swarm_key*, *state_dir*: empty for the usual place."""

    name: Annotated[str, Meta(description=f"plain text of at most {limits.NAME_BYTES_MAX} bytes")] = ""
    roles: Annotated[
        Literal["auto"] | tuple[Role, ...],
        Meta(description='"auto", or a list of any of decomposer, scorer, executor'),
    ] = "auto"
    swarm_key: _Path = ""
    state_dir: _Path = ""
    control: Control = Control()
    net: Net = Net()
    model: Model = Model()
    timing: Timing = Timing()


def load(texts: Sequence[tuple[str, str]], environ: Mapping[str, str]) -> Config:
    """The configuration in *texts*, pairs of file name and TOML, of which later ones override earlier ones, then in
    `SWARMD_…` variables of *environ*: SWARMD_NET_LISTEN is `listen` in `[net]`, lists are separated by commas.

    OLLAMA_HOST stands behind `model.host`. Raises LocalMistake naming file and line, or variable.
    """
    values: dict[_Key, Any] = {}
    if environ.get("OLLAMA_HOST", "").strip():
        host = ("model", "host")
        values[host] = _checked(host, environ["OLLAMA_HOST"], "environment variable OLLAMA_HOST", strict=False)
    for file, text in texts:
        for key, value in _flat(_parse(file, text)):
            where = f"{file}:{_line(text, key)}"
            _expect_known(key, where)
            values[key] = _checked(key, value, where, strict=True)
    for variable, value in sorted(environ.items()):
        if variable.startswith(_VARIABLE_PREFIX):
            where = f"environment variable {variable}"
            key = _variable(variable, where)
            values[key] = _checked(key, value, where, strict=False)
    tree: dict[str, Any] = {}
    for (*section, name), value in values.items():
        (tree.setdefault(section[0], {}) if section else tree)[name] = value
    return msgspec.convert(tree, Config)


def changed(config: Config, before: Config = Config()) -> Iterator[tuple[str, str]]:  # noqa: B008  # frozen
    """Keys, such as "net.mdns", whose values in *config* are not those of *before*, with the new values as in TOML."""
    for section, *rest in sorted(_TYPES):
        key = ".".join((section, *rest))
        old, new = getattr(before, section), getattr(config, section)
        if rest:
            old, new = getattr(old, rest[0]), getattr(new, rest[0])
        if old != new:
            yield key, msgspec.json.encode(new).decode()


def ollama_url(host: str) -> str:
    """*host* as a base URL, by Ollama's rules for OLLAMA_HOST: a bare address means http and port 11434, one with a
    scheme that scheme's own port; "any address", which a server may listen on, is reached by loopback.

    Raises ValueError if it cannot be one.
    """
    host = host.strip().strip("\"'").rstrip("/")
    bare = "://" not in host
    if bare and host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"  # IPv6
    parts = urlsplit(f"http://{host}" if bare else host)
    if parts.scheme not in ("http", "https") or parts.query or parts.fragment or parts.username is not None:
        raise ValueError(host)
    port = parts.port  # raises ValueError itself if it is no port
    if port is None:
        port = 11434 if bare else {"http": 80, "https": 443}[parts.scheme]
    name = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(parts.hostname or "", parts.hostname or "")
    if not re.fullmatch(r"[\w.:%-]+", name):
        raise ValueError(host)
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}:{port}{parts.path}"


_Key: TypeAlias = tuple[str, ...]  # section and key, or just the key outside of all sections

_VARIABLE_PREFIX = "SWARMD_"
_CONTEXT_TOKENS_MIN = 1_024  # with less, neither instructions nor an answer have room
_SECTIONS: dict[str, type[Struct]] = {
    field: hint for field, hint in get_type_hints(Config).items() if isinstance(hint, type) and issubclass(hint, Struct)
}
_TYPES: dict[_Key, Any] = {
    (field,): hint for field, hint in get_type_hints(Config, include_extras=True).items() if field not in _SECTIONS
} | {
    (section, field): hint
    for section, kind in _SECTIONS.items()
    for field, hint in get_type_hints(kind, include_extras=True).items()
}
_VARIABLES = {_VARIABLE_PREFIX + "_".join(key).upper(): key for key in _TYPES}

_ADDRESS = re.compile(
    r"/(?:ip6zone/[^/\s]+/)?(?:(ip[46])/([^/\s]+)|dns[46]?/[A-Za-z0-9._-]+)/tcp/(\d{1,5})(?:/p2p/[1-9A-HJ-NP-Za-km-z]+)?"
)


def _addresses(multiaddresses: tuple[str, ...]) -> tuple[str, ...]:
    for address in multiaddresses:
        match = _ADDRESS.fullmatch(address)
        if not match or int(match[3]) > 65_535:
            raise ValueError(address)
        if match[1] and ipaddress.ip_address(match[2]).version != int(match[1][-1]):
            raise ValueError(address)
    return multiaddresses


def _peer_name(name: str) -> str:
    if len(name.encode()) > limits.NAME_BYTES_MAX or not is_safe(name):
        raise ValueError(name)
    return name


def _context(tokens: int) -> int:
    if 0 < tokens < _CONTEXT_TOKENS_MIN:
        raise ValueError(tokens)
    return tokens


_FINISH: dict[_Key, Callable[[Any], Any]] = {  # what a type alone cannot say; each raises ValueError
    ("name",): _peer_name,
    ("net", "listen"): _addresses,
    ("net", "peers"): _addresses,
    ("model", "host"): ollama_url,
    ("model", "context"): _context,
}


def _parse(file: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        number = int(line[1]) if line else len(text.splitlines())  # otherwise "at end of document"
        raise LocalMistake(f"{file}:{number}: this is not TOML: {error}") from error
    except RecursionError:
        raise LocalMistake(f"{file}: this is nested too deeply to be a configuration") from None


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[_Key, Any]]:
    for key, value in table.items():
        if key in _SECTIONS and isinstance(value, dict):
            yield from (((key, inner), setting) for inner, setting in value.items())
        else:
            yield (key,), value


def _expect_known(key: _Key, where: str) -> None:
    if key in _TYPES:
        return
    section, name = key[:-1], key[-1]
    if not section and name in _SECTIONS:
        raise LocalMistake(f"{where}: {name} is a section: write [{name}] on a line of its own, then its keys")
    siblings = [other[-1] for other in _TYPES if other[:-1] == section] + ([] if section else list(_SECTIONS))
    place = f" in [{section[0]}]" if section else ""
    raise LocalMistake(f"{where}: there is no {name!r}{place}; {_nearest(name, siblings)}")


def _variable(variable: str, where: str) -> _Key:
    if variable not in _VARIABLES:
        raise LocalMistake(f"{where}: there is no such setting; {_nearest(variable, sorted(_VARIABLES))}")
    return _VARIABLES[variable]


def _checked(key: _Key, value: Any, where: str, *, strict: bool) -> Any:
    hint = _TYPES[key]
    readings = [value]
    if not strict and _holds(hint, tuple):
        readings.insert(0, [part.strip() for part in value.split(",") if part.strip()])
    for reading in readings:
        try:
            finish = _FINISH.get(key, lambda setting: setting)
            return finish(msgspec.convert(reading, hint, strict=strict))
        except (msgspec.ValidationError, ValueError):
            continue
    wanted = next(meta.description for meta in hint.__metadata__ if isinstance(meta, Meta))
    hints = difflib.get_close_matches(str(value), _choices(hint), 1)
    guess = f"; did you mean {hints[0]!r}?" if hints else ""
    shown = ascii(value) if len(ascii(value)) <= 80 else f"{ascii(value)[:80]}…"
    raise LocalMistake(f"{where}: {'.'.join(key)} is {shown}, but must be {wanted}{guess}")


def _nearest(word: str, known: Sequence[str]) -> str:
    hints = difflib.get_close_matches(word, known, 1)
    return f"did you mean {hints[0]!r}?" if hints else f"known are {', '.join(known)}"


def _holds(hint: Any, kind: type) -> bool:
    return get_origin(hint) is kind or any(_holds(part, kind) for part in get_args(hint))


def _choices(hint: Any) -> list[str]:
    if get_origin(hint) is Literal:
        return [str(choice) for choice in get_args(hint)]
    return [choice for part in get_args(hint) for choice in _choices(part)]


_HEADER = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]+\s*(?:#.*)?$")
_SETTING = re.compile(r"""\s*([\w."'-]+(?:\s*\.\s*[\w."'-]+)*)\s*=""")


def _line(text: str, key: _Key) -> int:
    """Where *key* stands in *text*, from 1. tomllib does not say, so this looks for headers and assignments."""
    section: _Key = ()
    above = 1  # an inline table or a header that contains the key
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            found = section = _parts(header[1])
        elif setting := _SETTING.match(line):
            found = section + _parts(setting[1])
        else:
            continue
        if found[: len(key)] == key:
            return number
        if found == key[: len(found)]:
            above = number
    return above


def _parts(dotted: str) -> _Key:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
