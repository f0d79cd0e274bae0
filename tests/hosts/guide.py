"""A guide in docs/, read as what it tells to type and what is seen then."""

import re
from collections.abc import Iterator

from msgspec import Struct

from tests.hosts.desk import USER

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)  # its language, what is in it
_PROMPT = re.compile(rf"^(?:{USER}@(?P<host>\w+):~ )?\$ (?P<command>.+)$")


class Step(Struct, frozen=True):
    """A line to be typed at the desk, or on a host, and what is seen then. `…` stands for anything."""

    host: str
    command: str
    seen: list[str]

    def is_as(self, said: str) -> bool:
        """Whether *said* is what should be seen."""
        words = [re.escape(part.strip()) for part in " ".join(self.seen).split("…")]
        pattern = ".*".join(re.sub(r"(\\ )+", r"\\s+", word) for word in words)
        return bool(re.fullmatch(rf"\s*{pattern}\s*", said, re.DOTALL))


def blocks(text: str) -> list[list[Step]]:
    """What each console block of a guide tells to do."""
    return [list(_steps(block)) for language, block in BLOCK.findall(text) if language == "console"]


def steps(text: str) -> list[Step]:
    """What the console blocks of a guide tell to do, in order."""
    return [step for block in blocks(text) for step in block]


def _steps(block: str) -> Iterator[Step]:
    step: Step | None = None
    for line in block.splitlines():
        if prompt := _PROMPT.match(line):
            if step is not None:
                yield step
            step = Step(prompt["host"] or "", prompt["command"], [])
        else:
            assert step is not None, f"a console block that begins without a command: {line}"
            step.seen.append(line)
    if step is not None:
        yield step
