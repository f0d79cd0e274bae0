"""Builds everything once, from one configuration."""

import functools
import logging
import random
import secrets
import socket as sockets
from pathlib import Path

import sdnotify
import trio

from swarmd import __version__
from swarmd.config import Config
from swarmd.daemon.clock import SystemClock
from swarmd.daemon.lifecycle import live
from swarmd.daemon.loop import Loop
from swarmd.hardware import choose_roles, probe
from swarmd.llm import choose
from swarmd.net import Libp2pNet
from swarmd.replica.machine import Machine
from swarmd.roles.scene import Timing
from swarmd.store.journal import Journal
from swarmd.store.keys import identity, read_swarm
from swarmd.vocab.ids import short

_log = logging.getLogger("swarmd.daemon")


def run(config: Config) -> None:
    """Be a peer until a signal comes. Raises LocalMistake for what a person must put right first."""
    state = Path(config.state_dir)
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    swarm = read_swarm(Path(config.swarm_key))
    me = identity(state / "identity.key")
    store = Journal(state / "journal.db")
    rng = random.Random(secrets.randbits(64))
    roles = _roles(config)
    _log.info("swarmd %s: %s (%s), %s", __version__, config.name, short(me.peer), ", ".join(roles) or "observer")
    notifier = sdnotify.SystemdNotifier()
    try:
        machine = Machine(
            me, swarm, name=config.name, roles=roles, timing=_timing(config), rng=rng, version=__version__
        )
        net = Libp2pNet(
            me,
            swarm,
            listen=config.net.listen,
            static_peers=config.net.peers,
            interfaces=config.net.interfaces,
            mdns=config.net.mdns,
            psk=config.net.psk,
            silent=machine.silent,
            rng=rng,
            memory=state / "neighbours.json",
        )
        model = config.model
        find = functools.partial(
            choose,
            model.backend,
            host=model.host,
            model=model.name or None,
            threads=model.threads or None,
            delay_ms=model.delay_ms,
        )
        loop = Loop(
            machine,
            store=store,
            net=net,
            choose=None if machine.silent else find,
            clock=SystemClock(),
            beat=lambda: notifier.notify("WATCHDOG=1"),
        )
        trio.run(lambda: live(loop, socket=Path(config.control.socket), mode=config.control.mode, notifier=notifier))
    finally:
        store.close()


def host_name() -> str:
    """What this machine calls itself."""
    return sockets.gethostname()


def _roles(config: Config) -> tuple[str, ...]:
    if config.roles != "auto":
        return config.roles
    suited = choose_roles(probe())
    _log.info("roles: %s (%s)", ", ".join(suited.roles), suited.reason)
    return suited.roles


def _timing(config: Config) -> Timing:
    timing = config.timing
    return Timing(
        deliberation_ms=int(timing.deliberation_s * 1_000),
        ballot_ms=int(timing.ballot_s * 1_000),
        settle_ms=timing.settle_ms,
        presence_ms=int(timing.presence_s * 1_000),
    )
