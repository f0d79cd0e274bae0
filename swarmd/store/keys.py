"""Two secrets lie on this machine: the seed that makes it this peer, and the key that makes it a member of its swarm.

Neither is ever overwritten. A key that a person copies by hand is checked, so that a slip is told as a slip.
"""

import base64
import binascii
import hashlib
import os
import secrets
import stat
import tempfile
from pathlib import Path

from swarmd.events.envelope import Identity, Swarm
from swarmd.vocab.faults import LocalMistake

_SECRET_BYTES = 32  # an Ed25519 seed (RFC 8032), and as much for the swarm key
_CHECK_BYTES = 3  # with them the base32 text needs no padding; a slip passes once in 16 million
_PREFIX = "swarmd-key-1:"
_GROUP = 8  # characters between dashes, what a person reads out in one breath
_FILE_BYTES_MAX = 4_096  # a key file is one line; this leaves room for a remark


def identity(path: Path) -> Identity:
    """This peer's identity, from the 32-byte seed in *path*; made and kept there on first use.

    Raises LocalMistake if others on this machine can read it, or if it is damaged; OSError if it cannot be kept.
    """
    try:
        seed, mode = _read(path)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        seed = secrets.token_bytes(_SECRET_BYTES)
        _write_new(path, seed)
        return Identity(seed)
    if mode & 0o077:
        raise LocalMistake(f"others can read this peer's secret identity: chmod 600 {path}")
    if len(seed) != _SECRET_BYTES:
        raise LocalMistake(
            f"{path} is damaged ({len(seed)} bytes instead of {_SECRET_BYTES}): put it back from a backup, "
            "or remove it and join the swarm as a new peer"
        )
    return Identity(seed)


def new_key() -> bytes:
    """The 32-byte key of a new swarm."""
    return secrets.token_bytes(_SECRET_BYTES)


def key_text(key: bytes) -> str:
    """*key* as people copy it: a prefix, then base32 (RFC 4648) of the key and a checksum, in groups."""
    digits = base64.b32encode(key + _check(key)).decode().lower()
    return _PREFIX + "-".join(digits[start : start + _GROUP] for start in range(0, len(digits), _GROUP))


def parse_key(text: str) -> bytes:
    """The key in *text*; case, spaces and dashes do not matter. Raises LocalMistake if it is not one, or mistyped."""
    head, _, digits = "".join(text.split()).lower().partition(":")
    if f"{head}:" != _PREFIX:
        raise LocalMistake(f"a swarm key begins with {_PREFIX}; copy the whole line from a peer of the swarm")
    try:
        raw = base64.b32decode(digits.replace("-", "").upper())
    except (binascii.Error, ValueError):
        raw = b""
    key, check = raw[:_SECRET_BYTES], raw[_SECRET_BYTES:]
    if len(raw) != _SECRET_BYTES + _CHECK_BYTES or check != _check(key):
        raise LocalMistake("the swarm key is mistyped or cut short: copy it again from a peer of the swarm")
    return key


def read_key(path: Path) -> bytes:
    """The swarm key in *path*. Raises LocalMistake saying what to do if it is missing, open to all, or mistyped."""
    try:
        raw, mode = _read(path)
    except FileNotFoundError:
        raise LocalMistake(
            f"no swarm key in {path}: copy it from a peer of the swarm, or begin a new swarm with: swarmd key new"
        ) from None
    except OSError as error:
        raise LocalMistake(f"cannot read the swarm key: {error.strerror}: {path}") from error
    # a group may read it: packages give it to the daemon's, and systemd's credentials show an ACL as group bits
    if mode & 0o007:
        raise LocalMistake(f"everybody on this machine can read the swarm key: chmod o= {path}")
    try:
        return parse_key(raw.decode())
    except UnicodeDecodeError:
        raise LocalMistake(f"{path} is no swarm key: copy it again from a peer of the swarm") from None
    except LocalMistake as mistake:
        raise LocalMistake(f"{path}: {mistake}") from None


def write_key(path: Path, key: bytes) -> None:
    """Keep *key* in *path*, mode 0600. Raises LocalMistake if there is one already, OSError if it cannot be kept."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    try:
        _write_new(path, f"{key_text(key)}\n".encode())
    except FileExistsError:
        raise LocalMistake(f"{path} exists already: move it away first, if this peer is to leave its swarm") from None


def fingerprint(key: bytes) -> str:
    """What people compare to see that they hold the same key: the beginning of the swarm's id, which is no secret."""
    digits = Swarm.of_key(key).id[:16]
    return "-".join(digits[start : start + 4] for start in range(0, 16, 4))


def _check(key: bytes) -> bytes:
    return hashlib.sha256(b"swarmd/key/1 " + key).digest()[:_CHECK_BYTES]


def _read(path: Path) -> tuple[bytes, int]:
    # content and mode of the very same file
    with path.open("rb") as file:
        return file.read(_FILE_BYTES_MAX), stat.S_IMODE(os.fstat(file.fileno()).st_mode)


def _write_new(path: Path, content: bytes) -> None:
    """All of it or nothing, on the platter when this returns. Raises FileExistsError rather than overwrite."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mkstemp makes it 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike rename, refuses to replace
    finally:
        os.unlink(draft)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)  # the name as well as the content
    finally:
        os.close(directory)
