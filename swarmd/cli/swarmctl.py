"""The `swarmctl` command: one verb, one question or one order to the daemon of this machine."""

import typer

from swarmd.cli.events import events
from swarmd.cli.goal import cancel, goal
from swarmd.cli.look import goals, peers, report, show, status, version, why
from swarmd.cli.session import Verbs, lossy_output
from swarmd.cli.watch import watch

app = typer.Typer(
    cls=Verbs,
    name="swarmctl",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Give goals to the machines of your home, and see what becomes of them.

    The machines on your network split a goal into tasks, vote on the best split, and write the results, peer to peer.
    swarmctl speaks with the peer on this machine.""",
    epilog="""\b
Examples:
  swarmctl goal "Two weeks in Japan for four" --watch
  swarmctl show                     the newest goal, as a tree
  swarmctl why 3f9c0d1e             who voted how on a task, and why one split won
  swarmctl report -o japan.md       the finished plan
  swarmctl peers                    who takes part

\b
Exit status: 0 done, 1 failed, 2 asked wrongly, 3 no daemon, 130 interrupted.
Shell completion: swarmctl --install-completion""",
)


def _examples(*lines: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


app.command(
    epilog=_examples(
        'swarmctl goal "A birthday party for a ten-year-old" --watch',
        "swarmctl goal --file kitchen.txt --depth 2 --wait && swarmctl report",
        "echo 'Clean out the garage' | swarmctl goal -",
    )
)(goal)
app.command(epilog=_examples("swarmctl goals", "swarmctl goals --json | jq -r '.[-1].id'"))(goals)
app.command(epilog=_examples("swarmctl show", "swarmctl show 8f3a2c1d | less"))(show)
app.command(epilog=_examples("swarmctl why", "swarmctl why 3f9c0d1e", "swarmctl why --json | jq .ballots"))(why)
app.command(epilog=_examples("swarmctl watch", "swarmctl watch 8f3a2c1d --json >events.jsonl"))(watch)
app.command(epilog=_examples("swarmctl report", "swarmctl report 8f3a2c1d -o japan.md"))(report)
app.command(epilog=_examples('swarmctl cancel 8f3a2c1d --reason "we stay at home"'))(cancel)
app.command(epilog=_examples("swarmctl peers", "swarmctl peers --json | jq '.[] | select(.alive) | .name'"))(peers)
app.command(epilog=_examples("swarmctl status", "swarmctl status --json | jq .caught_up"))(status)
app.command(
    epilog=_examples(
        "swarmctl events", "swarmctl events -f --kind vote --kind accepted", "swarmctl events --peer kitchen-pi -n 20"
    )
)(events)
app.command(epilog=_examples("swarmctl version"))(version)


def main() -> None:
    """Run the command and end the process with its status."""
    lossy_output()
    app(prog_name="swarmctl")
