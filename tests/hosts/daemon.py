"""The installed daemon on a host, as the people of the house meet it: settings, `systemctl` and `swarmctl`."""

import json
from typing import Any

from swarmd.store.keys import key_text
from tests.hosts.host import Host

HOME_KEY = key_text(b"h" * 32)
QUICK = """\
[timing]
presence_s = 1.0
deliberation_s = 2.0
ballot_s = 1.0
settle_ms = 200
"""
SCRIPTED = """\
[model]
backend = "scripted"
delay_ms = {delay_ms}
""" + QUICK  # fmt: skip


def join(host: Host, *, settings: str = SCRIPTED.format(delay_ms=50)) -> None:
    """Give *host* the key of the home and these *settings*, and start its daemon anew."""
    host.write("/etc/swarmd/swarm.key", f"{HOME_KEY}\n", 0o600)
    host.write("/etc/swarmd/config.d/test.toml", settings)
    host.attempt("systemctl", "restart", "swarmd")
    host.wait_active("swarmd")


def ctl(host: Host, *words: str, user: str = "root") -> Any:
    """What `swarmctl … --json` answers. Raises CommandFailed."""
    return json.loads(host.run("swarmctl", *words, "--json", user=user))


def answers(host: Host, user: str = "root") -> bool:
    """Whether the daemon answers this user."""
    return host.attempt("swarmctl", "status", user=user).returncode == 0


def give(host: Host, text: str, *options: str) -> str:
    """Set a goal; its id."""
    goal: str = ctl(host, "goal", text, *options)["goal"]
    return goal


def state(host: Host, goal: str) -> str:
    """How a goal is: open, done, failed or cancelled; empty while this host cannot say."""
    shown = host.attempt("swarmctl", "show", goal, "--json")
    return str(json.loads(shown.stdout)["status"]) if shown.returncode == 0 else ""


def set_clock(host: Host, offset: str | None) -> None:
    """Start the daemon anew with a wrong time of day: "+1h", "-10m" or "@1970-01-01 00:01:00" as libfaketime takes it;
    None for the right one. Its monotonic clock stays right, as the kernel's does when somebody sets the time."""
    place = "/etc/systemd/system/swarmd.service.d/clock.conf"
    if offset is None:
        host.run("rm", "-f", place)
    else:
        library = host.run("sh", "-c", "echo /usr/lib/*/faketime/libfaketime.so.1").strip()
        wrong = [f"LD_PRELOAD={library}", f"FAKETIME={offset}", "FAKETIME_DONT_FAKE_MONOTONIC=1"]
        host.write(place, "[Service]\n" + "".join(f'Environment="{setting}"\n' for setting in wrong))
    host.run("systemctl", "daemon-reload")
    host.run("systemctl", "restart", "swarmd")
