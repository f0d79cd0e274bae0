#!/usr/bin/env python3
"""Makes and changes the file with a swarm's key where no swarmd is installed, in the format of swarmd/store/keys.py.

`swarm_key.py new|rotate|retire FILE`. The key goes from this process into the file, 0600, and nowhere else. A change
that is under way is not begun again; what was done is told in a word.
"""

import base64
import hashlib
import os
import secrets
import sys
import tempfile
from pathlib import Path

_KEY_BYTES, _CHECK_BYTES, _GROUP = 32, 3, 8
_PREFIX = "swarmd-key-1:"
_ALSO, _ONCE = "also ", "once "  # before a key that still opens links, and before a retired one


def new_key() -> str:
    """A new key as people copy it: base32 (RFC 4648) of the key and a checksum, in groups."""
    key = secrets.token_bytes(_KEY_BYTES)
    check = hashlib.sha256(b"swarmd/key/1 " + key).digest()[:_CHECK_BYTES]
    digits = base64.b32encode(key + check).decode().lower()
    return _PREFIX + "-".join(digits[start : start + _GROUP] for start in range(0, len(digits), _GROUP))


def rotated(lines: list[str]) -> list[str]:
    """A new key above those of *lines*, of which the newest still opens links; *lines* themselves during a change."""
    if any(line.startswith(_ALSO) for line in lines):
        return lines
    return [new_key(), _ALSO + lines[0], *lines[1:]]


def retired(lines: list[str]) -> list[str]:
    """The same keys as *lines*, of which only the newest opens links."""
    return [_ONCE + line.removeprefix(_ALSO) if line.startswith(_ALSO) else line for line in lines]


def main() -> None:
    """Ends with a message where the file is not one that can be changed."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("new", "rotate", "retire"):
        sys.exit(f"usage: {sys.argv[0]} new|rotate|retire FILE")
    change, path = sys.argv[1], Path(sys.argv[2])
    if change == "new":
        _write(path, [new_key()], replace=False)
        print("made")
        return
    before = [line.strip() for line in path.read_text().splitlines() if line.strip()]
    if not before or not before[0].startswith(_PREFIX):
        sys.exit(f"{path} holds no key in the open; if it is encrypted, first: ansible-vault decrypt {path}")
    after = rotated(before) if change == "rotate" else retired(before)
    if after != before:
        _write(path, after, replace=True)
        print(f"{change}d")


def _write(path: Path, lines: list[str], *, replace: bool) -> None:
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mkstemp makes it 0600
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(draft, path)
        else:
            os.link(draft, path)  # unlike rename, refuses to replace
    finally:
        Path(draft).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
