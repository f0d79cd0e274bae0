"""The `swarmd` command: the daemon itself."""

from typing import Annotated

import typer

from swarmd import __version__
from swarmd.cli import key
from swarmd.cli.demo.verb import demo
from swarmd.cli.doctor import check_config, doctor
from swarmd.cli.run import run
from swarmd.cli.session import Verbs, lossy_output, print_line

app = typer.Typer(
    cls=Verbs,
    name="swarmd",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
On a machine with systemd the daemon is started by `systemctl start swarmd`.
Give it goals with swarmctl.""",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print_line(f"swarmd {__version__}")
        raise typer.Exit


@app.callback()
def swarmd(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Plan for a home without anyone in charge: this machine's peer in the swarm."""


app.command(epilog='\b\nExample: swarmd demo --kill-one "A birthday party for a ten-year-old"')(demo)
app.command()(run)
app.command()(doctor)
app.command("check-config")(check_config)
app.add_typer(key.app)


def main() -> None:
    """Run the command and end the process with its status."""
    lossy_output()
    app(prog_name="swarmd")
