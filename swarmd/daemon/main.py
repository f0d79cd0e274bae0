"""Builds everything once, from one configuration."""

import errno
import logging
import os
import random
import secrets
import socket as sockets
from collections.abc import Callable
from pathlib import Path

import sdnotify
import trio
from msgspec.structs import replace

from swarmd import __version__
from swarmd.config import Config, changed
from swarmd.control.inherited import inherited_socket
from swarmd.daemon.clock import SystemClock
from swarmd.daemon.lifecycle import live
from swarmd.daemon.loop import Loop
from swarmd.daemon.outfit import Outfit
from swarmd.events.envelope import Identity
from swarmd.net import Libp2pNet
from swarmd.replica.machine import Machine
from swarmd.replica.me import ROLES
from swarmd.roles.scene import Timing
from swarmd.store.keys import identity, read_swarm
from swarmd.store.patient import PatientJournal
from swarmd.vocab.faults import LocalMistake
from swarmd.vocab.ids import short

_log = logging.getLogger("swarmd.daemon")

# full, read-only, over quota or failing: it may be well again, and until then there is something to see
_BEARABLE = frozenset({errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EFBIG, errno.EIO})


def run(read: Callable[[], Config]) -> None:
    """Be a peer until a signal comes. *read*: the configuration, now and again at every SIGHUP.

    Raises LocalMistake for what a person must put right first.
    """
    handed = inherited_socket(os.environ)
    config = read()
    state = Path(config.state_dir)
    swarm = read_swarm(Path(config.swarm_key))
    try:
        me, roles = identity(state / "identity.key"), ROLES if config.roles == "auto" else config.roles
    except OSError as error:
        _bear(error, state)
        _log.error("%s keeps no identity (%s): observing until a restart that finds room", state, error.strerror)
        me, roles = Identity(secrets.token_bytes(32)), ()
    store = PatientJournal(state / "journal.db", lambda error: _bear(error, state))
    rng = random.Random(secrets.randbits(64))
    _log.info("swarmd %s: %s (%s), %s", __version__, config.name, short(me.peer), ", ".join(roles) or "observer")
    notifier = sdnotify.SystemdNotifier()
    outfit = Outfit(config)
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
        loop = Loop(
            machine,
            store=store,
            net=net,
            choose=None if machine.silent else outfit.choose,
            suit=outfit.suit,
            clock=SystemClock(),
            beat=lambda: notifier.notify("WATCHDOG=1"),
        )
        path, mode = Path(config.control.socket), config.control.mode
        reload = Reload(read, config, loop, net)
        trio.run(lambda: live(loop, path=path, mode=mode, handed=handed, notifier=notifier, reload=reload))
    finally:
        store.close()


class Reload:
    """Takes over what can change while the daemon lives, and says of the rest that it cannot: called at SIGHUP."""

    def __init__(self, read: Callable[[], Config], config: Config, loop: Loop, net: Libp2pNet) -> None:
        self._read = read
        self._config = config
        self._loop = loop
        self._net = net

    def __call__(self) -> None:
        """Read the configuration again. A wrong one changes nothing."""
        try:
            config = self._read()
        except LocalMistake as mistake:
            _log.error("the configuration stays as it was: %s", mistake)
            return
        keys = [key for key, _ in changed(config, self._config)]
        if any(key.startswith("model.") for key in keys):
            outfit = Outfit(replace(self._config, model=config.model))
            self._loop.choose_by(outfit.choose, outfit.suit)
        new_peers = sorted(set(config.net.peers) - set(self._config.net.peers))
        self._net.also(new_peers)
        gone = set(self._config.net.peers) - set(config.net.peers)
        now = [key for key in keys if key.startswith("model.") or (key == "net.peers" and new_peers)]
        later = [key for key in keys if key not in now or (key == "net.peers" and gone)]
        _log.info("configuration read again; changed now: %s", ", ".join(now) or "nothing")
        if later:
            _log.warning("these need `systemctl restart swarmd`: %s", ", ".join(later))
        taken = replace(self._config.net, peers=config.net.peers)
        self._config = replace(self._config, model=config.model, net=taken)


def _bear(error: OSError, state: Path) -> None:
    """Raises LocalMistake for what no waiting will cure."""
    if error.errno not in _BEARABLE:
        raise LocalMistake(
            f"cannot keep anything in {state}: {error.strerror}\n"
            "Let the daemon's user own that directory, or name another one as state_dir."
        ) from error


def host_name() -> str:
    """What this machine calls itself."""
    return sockets.gethostname()


def _timing(config: Config) -> Timing:
    timing = config.timing
    return Timing(
        deliberation_ms=int(timing.deliberation_s * 1_000),
        ballot_ms=int(timing.ballot_s * 1_000),
        settle_ms=timing.settle_ms,
        presence_ms=int(timing.presence_s * 1_000),
    )
