"""Two secrets lie on this machine: the seed that makes it this peer, and the key that makes it a member of its swarm.

Neither is ever lost: a changed swarm key stays in its file below the new one. A key that a person copies by hand is
checked, so that a slip is told as a slip.
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
_ALSO, _ONCE = "also ", "once "  # before a key that still opens links, and before a retired one
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


def read_swarm(path: Path) -> Swarm:
    """The swarm whose keys are in *path*: the key, then those that it replaced. A line that begins with "also" holds
    one that still opens links, one with "once" a retired one.

    Raises LocalMistake saying what to do if the file is missing, open to all, or mistyped.
    """
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
    entries = [""]
    try:
        for line in raw.decode().splitlines():
            if line.strip().startswith((_ALSO, _ONCE)):
                entries.append(line.strip())
            else:
                entries[-1] += line
        keys = [parse_key(entry.removeprefix(_ALSO)) for entry in entries if not entry.startswith(_ONCE)]
        retired = [parse_key(entry.removeprefix(_ONCE)) for entry in entries if entry.startswith(_ONCE)]
        return Swarm.of_keys(keys, retired)
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


def read_key(path: Path) -> bytes:
    """The newest swarm key in *path*. Raises LocalMistake as `read_swarm`."""
    return read_swarm(path).key


def swarm_text(swarm: Swarm) -> str:
    """All keys of *swarm* as they stand in its file."""
    older = [_ALSO + key_text(key) for key in swarm.older] + [_ONCE + key_text(key) for key in swarm.retired]
    return "\n".join([key_text(swarm.key), *older])


def rotate_key(path: Path) -> Swarm:
    """Put a new key into *path*, above the one that is there, which still opens links. Raises LocalMistake as
    `read_swarm`, OSError if it cannot be kept."""
    swarm = read_swarm(path)
    return _replace_swarm(path, Swarm.of_keys((new_key(), *swarm.keys), swarm.retired))


def retire_keys(path: Path) -> Swarm:
    """Let only the newest key in *path* open links. Raises LocalMistake as `read_swarm`, OSError if it cannot be
    kept."""
    swarm = read_swarm(path)
    return _replace_swarm(path, Swarm.of_keys((swarm.key,), (*swarm.older, *swarm.retired)))


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


def _replace_swarm(path: Path, swarm: Swarm) -> Swarm:
    """All or nothing, with the same owner and mode as before."""
    before = path.stat()
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    _write_new(draft, f"{swarm_text(swarm)}\n".encode())
    os.chown(draft, before.st_uid, before.st_gid)
    os.chmod(draft, stat.S_IMODE(before.st_mode))
    os.replace(draft, path)
    return swarm


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
