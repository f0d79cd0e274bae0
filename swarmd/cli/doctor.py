"""`swarmd doctor` and `swarmd check-config`: what is wrong here, and what helps."""

import os
import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from rich.table import Table
from rich.text import Text

from swarmd.cli.screen import signs_for
from swarmd.cli.session import FAILED, Json, print_json, print_line
from swarmd.cli.words import console, safe
from swarmd.config import changed
from swarmd.daemon.doctor import Finding, examine
from swarmd.daemon.main import host_name
from swarmd.store.files import Paths, paths, read_config

ConfigFile: TypeAlias = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Read this file instead of the usual one.")
]
System: TypeAlias = Annotated[
    bool, typer.Option("--system", help="Look at the service; the default where only that one is configured.")
]

_STYLE = {"good": "green", "hint": "yellow", "wrong": "bold red"}


def doctor(config: ConfigFile = None, system: System = False, json: Json = False) -> None:
    """Look for what may keep this machine from taking part, and say what helps.

    Machine, clock, key, disk, ports, network, model, and whether you may use the daemon. Exit status: 1 if something
    must be put right.
    """
    findings = examine(_places(system), os.environ, host_name(), config_file=config)
    if json:
        print_json(findings)
    else:
        console(sys.stdout, signs_for(sys.stdout)).print(_table(findings))
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(FAILED)


def check_config(config: ConfigFile = None, system: System = False) -> None:
    """Read the configuration as the daemon would, and print what differs from the defaults.

    What is wrong is named with its file and line, or its variable; the exit status is then 2.
    """
    found = read_config(_places(system), os.environ, host_name(), config_file=config)
    for key, value in changed(found):
        print_line(f"{key} = {value}")
    print_line("the configuration is fine")


def _places(system: bool) -> Paths:
    own, service = paths(system=False), paths(system=True)
    return service if system or (service.config_file.exists() and not own.config_file.exists()) else own


def _table(findings: tuple[Finding, ...]) -> Table:
    signs = signs_for(sys.stdout)
    sign = {"good": signs.status["done"], "hint": "!", "wrong": signs.status["failed"]}
    grid = Table.grid(padding=(0, 2))
    for finding in findings:
        text = Text(safe(finding.text))
        if finding.fix:
            text.append(f"\n{signs.arrow} {safe(finding.fix)}", "bold" if finding.state == "wrong" else "dim")
        grid.add_row(Text(sign[finding.state], _STYLE[finding.state]), Text(finding.about, "dim"), text)
    return grid
