"""Where this machine's files lie, and how its configuration is read from them."""

import warnings
from collections.abc import Mapping
from pathlib import Path

import platformdirs
from msgspec import Struct
from msgspec.structs import replace

from swarmd.config import Config, load
from swarmd.vocab import limits
from swarmd.vocab.faults import LocalMistake
from swarmd.vocab.text import clean


class Paths(Struct, frozen=True, kw_only=True):
    """The places that are used unless the configuration names others."""

    config_file: Path
    swarm_key: Path
    state_dir: Path
    socket: Path


def paths(system: bool) -> Paths:
    """Where a service of the whole machine keeps its files (*system*), or else a person's own daemon (XDG base
    directories)."""
    if system:
        config, state, runtime = Path("/etc/swarmd"), Path("/var/lib/swarmd"), Path("/run/swarmd")
    else:
        config = platformdirs.user_config_path("swarmd")
        state = platformdirs.user_state_path("swarmd")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without a session there is no XDG_RUNTIME_DIR, and the fallback serves
            runtime = platformdirs.user_runtime_path("swarmd")
    return Paths(
        config_file=config / "config.toml",
        swarm_key=config / "swarm.key",
        state_dir=state,
        socket=runtime / "control.sock",
    )


def read_config(
    places: Paths, environ: Mapping[str, str], host_name: str, *, config_file: Path | None = None
) -> Config:
    """The configuration in *config_file* (which must exist; by default that of *places*, which need not), then in
    `config.d/*.toml` beside it, then in *environ*. What none of them names comes from *places* and *host_name*.

    Raises LocalMistake naming file and line.
    """
    main = config_file or places.config_file
    texts = [(str(main), _text(main))] if config_file or main.exists() else []
    texts += [(str(extra), _text(extra)) for extra in sorted(main.parent.glob("config.d/*.toml"))]
    config = load(texts, environ)
    return replace(
        config,
        name=config.name or clean(host_name.partition(".")[0], limits.NAME_BYTES_MAX),
        swarm_key=config.swarm_key or str(places.swarm_key),
        state_dir=config.state_dir or str(places.state_dir),
        control=replace(config.control, socket=config.control.socket or str(places.socket)),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise LocalMistake(f"cannot read the configuration: {error.strerror}: {path}") from error
    except UnicodeDecodeError:
        raise LocalMistake(f"{path} is not UTF-8 text: save it as UTF-8") from None
