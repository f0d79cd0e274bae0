"""`swarmd key`: the secret that makes machines one swarm."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from swarmd.cli.session import Verbs, note, print_line
from swarmd.store.files import paths
from swarmd.store.keys import fingerprint, new_key, read_key, read_swarm, retire_keys, rotate_key, swarm_text, write_key

KeyFile: TypeAlias = Annotated[Path | None, typer.Option("--file", metavar="FILE", help="The key file.")]
System: TypeAlias = Annotated[bool, typer.Option("--system", help="The service's key, in /etc/swarmd.")]

app = typer.Typer(
    cls=Verbs,
    name="key",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Make and show the key of your swarm.

    Machines that hold the same key are one swarm; nobody else can join or read along. Make it once, then copy the file
    to every machine.""",
)


@app.command()
def new(file: KeyFile = None, system: System = False) -> None:
    """Make a new key, in a file that only its owner can read. Never overwrites one."""
    path = _path(file, system)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = new_key()
    write_key(path, key)
    print_line(str(path))
    note(f"fingerprint {fingerprint(key)}; copy this file to the same place on every machine of your swarm")


@app.command()
def show(file: KeyFile = None, system: System = False) -> None:
    """Print the key itself, to be typed in elsewhere, and below it those that it replaced. Keep it secret."""
    print_line(swarm_text(read_swarm(_path(file, system))))


@app.command("fingerprint")
def show_fingerprint(file: KeyFile = None, system: System = False) -> None:
    """Print the key's fingerprint, which gives nothing away: equal ones mean equal keys."""
    print_line(fingerprint(read_key(_path(file, system))))


@app.command()
def rotate(file: KeyFile = None, system: System = False) -> None:
    """Change the key. The old one still opens links, until it is retired.

    Do this on one machine, copy the file to all others and restart their daemons, one after the other; then `swarmd key
    retire`, copy and restart once more.
    """
    swarm = rotate_key(_path(file, system))
    print_line(fingerprint(swarm.key))
    note("copy the file to every machine of your swarm and restart its daemon there; then: swarmd key retire")


@app.command()
def retire(file: KeyFile = None, system: System = False) -> None:
    """End a change of the key: from the daemon's next start, only the newest key opens links."""
    swarm = retire_keys(_path(file, system))
    print_line(fingerprint(swarm.key))
    note("copy the file to every machine of your swarm and restart its daemon there; old keys then open nothing")


def _path(file: Path | None, system: bool) -> Path:
    return file or paths(system).swarm_key
