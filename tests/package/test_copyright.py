"""The copyright file speaks for every file that the package carries."""

import fnmatch
import re

from tests.package.deb import Deb


def paragraphs(deb: Deb) -> list[str]:
    (file,) = deb.tree.glob("usr/share/doc/*/copyright")
    return file.read_text("utf-8").split("\n\n")


def values(paragraph: str, field: str) -> list[str]:
    found = re.search(rf"^{field}:(.*(?:\n .*)*)", paragraph, re.MULTILINE)
    return [line.strip() for line in found[1].splitlines() if line.strip()] if found else []


def check(deb: Deb) -> None:
    stanzas = [paragraph for paragraph in paragraphs(deb) if paragraph.startswith("Files:")]
    assert stanzas[0].startswith("Files: *")
    for stanza in stanzas:
        assert values(stanza, "Copyright"), stanza
        assert values(stanza, "License"), stanza
    patterns = [pattern for stanza in stanzas[1:] for pattern in values(stanza, "Files")]
    carried = [file for file in deb.files() if "/site-packages/" in file and "/site-packages/swarmd/" not in file]
    assert carried
    nobodys = [file for file in carried if ".dist-info/" not in file]
    nobodys = [file for file in nobodys if not any(fnmatch.fnmatchcase(file, pattern) for pattern in patterns)]
    assert not nobodys


def test_every_carried_file_has_an_owner_and_a_licence(deb: Deb) -> None:
    check(deb)


def test_every_file_of_the_model_has_an_owner_and_a_licence(model_deb: Deb) -> None:
    check(model_deb)


def test_every_carried_distribution_is_named_with_its_version_and_its_licences_text(deb: Deb) -> None:
    stanzas = {values(stanza, "Comment")[0]: stanza for stanza in paragraphs(deb)[1:] if values(stanza, "Comment")}
    metadata = sorted(deb.library.glob("*.dist-info/METADATA"))
    assert len(metadata) > 50
    for file in metadata:
        fields = dict(re.findall(r"^(Name|Version): (.*)$", file.read_text("utf-8"), re.MULTILINE))
        stanza = stanzas[f"{fields['Name']} {fields['Version']}"]
        assert len(values(stanza, "License")) > 1, f"{fields['Name']} is without the text of its licence"


def test_libraries_inside_the_machine_code_are_named_too(deb: Deb) -> None:
    text = "\n".join(paragraphs(deb))
    for library in ("openssl", "libsodium", "libsecp256k1", "libffi", "ls-qpack"):
        assert library in text
