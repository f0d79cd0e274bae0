"""Manual pages from the very help that the commands print: `python -m swarmd.cli.man FOLDER` writes them.

One page a program, in man(7)'s own macros, the same bytes whenever and wherever they are made.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from swarmd import __version__
from swarmd.cli import swarmctl, swarmd

_PAGES = (
    (swarmctl.app, "swarmctl", 1, "give goals to the machines of your home", "swarmd(8)"),
    (swarmd.app, "swarmd", 8, "this machine's peer in the swarm", "swarmctl(1), systemctl(1), journalctl(1)"),
)
_FILES = {
    "/run/swarmd/control.sock": "The control socket of the service.",
    "/etc/swarmd/config.toml": "The service's configuration; files in config.d/ beside it override it. "
    "A person's own daemon reads ~/.config/swarmd/config.toml.",
    "/etc/swarmd/swarm.key": "The secret that makes machines one swarm.",
    "/var/lib/swarmd": "What the service remembers, and its identity.",
}
_ENVIRONMENT = {
    "SWARMD_CONTROL_SOCKET": "The control socket to use.",
    "SWARMD_…": "Any setting of the configuration: SWARMD_NET_LISTEN is listen in [net].",
    "OLLAMA_HOST": "Where Ollama listens, if the configuration does not say.",
    "NO_COLOR": "If set, nothing is coloured.",
}


def page(app: typer.Typer, name: str, section: int, purpose: str, see: str) -> str:
    """The manual page of one program, in roff."""
    command: Any = typer.main.get_command(app)
    context = command.make_context(name, [], resilient_parsing=True)
    lines = [
        f'.TH {name.upper()} {section} "" "swarmd {__version__}"',
        ".SH NAME",
        rf"{name} \- {_roff(purpose)}",
        ".SH SYNOPSIS",
        f".B {name}",
        r"\fICOMMAND\fR [\fIOPTION\fR]... [\fIARGUMENT\fR]...",
        ".SH DESCRIPTION",
        *_prose(command.help),
        ".SH COMMANDS",
        *_verbs(command, context, name),
        ".SH ENVIRONMENT",
        *_terms(_ENVIRONMENT),
        ".SH FILES",
        *_terms(_FILES),
        ".SH NOTES",
        *_prose(command.epilog),
        ".SH SEE ALSO",
        see,
    ]
    return "\n".join(lines) + "\n"


def _verbs(command: Any, context: Any, name: str) -> Iterator[str]:
    for verb, below in sorted(command.commands.items()):
        whole = f"{name} {verb}"
        inner = type(context)(below, info_name=verb, parent=context)
        if hasattr(below, "commands"):
            yield from _verbs(below, inner, whole)
            continue
        yield f".SS {_roff(' '.join([whole, *below.collect_usage_pieces(inner)]))}"
        yield from _prose(below.help)
        for parameter in below.get_params(inner):
            record = parameter.get_help_record(inner)
            if record is not None:
                yield from (".TP", rf"\fB{_roff(record[0])}\fR", _roff(record[1]))
        yield ".PP"
        yield from _prose(below.epilog)


def _prose(text: str | None) -> Iterator[str]:
    """Paragraphs; one that begins with a line of only a backspace keeps its lines, as in the help itself."""
    for paragraph in (text or "").split("\n\n"):
        lines = [line for line in paragraph.strip("\n").split("\n") if line.strip()]
        if not lines:
            continue
        yield ".PP"
        if lines[0].strip(" ") == "\b":
            yield from (".nf", *map(_roff, lines[1:]), ".fi")
        else:
            yield from (_roff(line.strip()) for line in lines)


def _terms(meanings: dict[str, str]) -> Iterator[str]:
    for term, meaning in meanings.items():
        yield from (".TP", rf"\fB{_roff(term)}\fR", _roff(meaning))


def _roff(text: str) -> str:
    """*text* so that roff prints it as it is: no requests, no escapes, and dashes that can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def main(folder: Path) -> None:
    """Write every page to *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    for app, name, section, purpose, see in _PAGES:
        (folder / f"{name}.{section}").write_text(page(app, name, section, purpose, see), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
