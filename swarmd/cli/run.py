"""`swarmd run`: the daemon in the foreground, as systemd and the demo start it."""

import os
from pathlib import Path
from typing import Annotated

import typer

from swarmd.cli.session import ungrouped
from swarmd.daemon import journal
from swarmd.daemon.main import host_name
from swarmd.daemon.main import run as live
from swarmd.store.files import paths, read_config


def run(
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Read this file instead of the usual one.")
    ] = None,
    system: Annotated[
        bool, typer.Option("--system", help="Use /etc/swarmd, /var/lib/swarmd and /run/swarmd, as the service does.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log running text and details as well.")] = False,
) -> None:
    """Be a peer of the swarm until Ctrl-C or SIGTERM.

    What it does is decided by the configuration and the hardware; it finds the other peers by itself. The log goes to
    standard error. SIGHUP makes it read the configuration again: the model and further static peers change at once, and
    the log names what needs a restart.
    """
    journal.set_up(verbose=verbose)
    ungrouped(lambda: live(lambda: read_config(paths(system), os.environ, host_name(), config_file=config)))
