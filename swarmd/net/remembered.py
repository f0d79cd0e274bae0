"""Where peers were last reached, in a file of the state directory: a network that drops multicast forms again after all
its machines were switched off. Losing the file costs nothing but time."""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from multiaddr import Multiaddr

from swarmd.vocab import limits
from swarmd.vocab.faults import RemoteFault
from swarmd.vocab.ids import PeerId, public_key

_BYTES_MAX = 512 * 1024  # 256 peers with eight addresses of 200 characters
_log = logging.getLogger("swarmd.net.remembered")


def load(path: Path) -> dict[PeerId, list[Multiaddr]]:
    """What *path* says; nothing if it is missing or damaged, since it is only a help."""
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(_BYTES_MAX))
        known = {PeerId(peer): [Multiaddr(address) for address in addresses] for peer, addresses in content.items()}
        for peer in known:
            public_key(peer)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError, RemoteFault) as error:
        _log.warning("%s is of no use, beginning anew: %s", path, error)
        return {}
    return dict(list(known.items())[: limits.PEERS_MAX])


def save(path: Path, known: Mapping[PeerId, Sequence[Multiaddr]]) -> None:
    """Write it anew, all or nothing. A disk that does not take it is none of the network's business."""
    draft = path.with_suffix(".new")
    try:
        draft.write_text(
            json.dumps({peer: [str(address) for address in addresses] for peer, addresses in known.items()})
        )
        os.replace(draft, path)
    except OSError as error:
        _log.warning("cannot keep the peers' addresses: %s", error)
