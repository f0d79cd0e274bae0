"""A composed text without a model: the first sentences of each part under its title."""

import re

from swarmd.roles.work import Compose
from swarmd.vocab import limits
from swarmd.vocab.text import clean, cut

_PART_BYTES_MAX = 600


def composed(request: Compose) -> str:
    """The parts in order: title, first two sentences; a failed part is named as open."""
    blocks = []
    for part in request.parts:
        title = clean(part.title, limits.TITLE_BYTES_MAX)
        if part.status == "failed":
            blocks.append(f"{title}: not done.")
            continue
        blocks.append(f"{title}: {_sentences(clean(part.text, limits.RESULT_BYTES_MAX), 2)}")
    return clean("\n\n".join(blocks), limits.RESULT_BYTES_MAX, lines=True)


def _sentences(text: str, count: int) -> str:
    ends = [match.end() for match in re.finditer(r"[.!?](?=\s|$)|[。！？]", text)]
    return cut(text[: ends[count - 1]] if len(ends) >= count else text, _PART_BYTES_MAX)
