"""What a server's list of models tells of each: how large it is, what to expect of it, whether it writes at all."""

import re
from collections.abc import Sequence

from swarmd.ports import Candidate, Picked
from swarmd.roles.work import Tier
from swarmd.vocab.faults import LocalMistake

BILLIONS_MAX = 40  # larger ones answer too slowly at home to be chosen unasked
_BILLIONS_UNKNOWN = 3.0  # taken for a small model
_CONTEXT_TOKENS = 4_096  # holds every prompt of swarmd's; a small machine has no memory for more
_CONTEXT_TOKENS_GOOD = 8_192  # a model that reads well is given more of what other parts came to

_SIZE = r"(\d+(?:\.\d+)?)"
_EXPERTS = re.compile(rf"(?<![a-z0-9])(\d+)x{_SIZE}b(?![a-z0-9])")  # mixtral-8x7b
_WORKING = re.compile(rf"(?<![a-z0-9])[ae]{_SIZE}b(?![a-z0-9])")  # qwen3-30b-a3b, gemma4:e2b
_BILLIONS = re.compile(rf"(?<![a-z0-9.]){_SIZE}([bm])(?![a-z0-9])")  # qwen3:4b, smollm2:135m


def candidate(name: str, size: str | None = None, size_bytes: int = 0, tokens_per_s: float | None = None) -> Candidate:
    """The model *name* with what its server says of its *size* ("4.3B"), or else what the name says itself."""
    low = name.lower()
    working, experts = _WORKING.search(low), _EXPERTS.search(low)
    billions = _stated(size)
    if billions is None and experts:
        billions = float(experts[1]) * float(experts[2])
    if billions is None and (named := _BILLIONS.search(low)):
        billions = float(named[1]) * (1 if named[2] == "b" else 1e-3)
    if billions is None:
        billions = float(working[1]) if working else _BILLIONS_UNKNOWN
    active = min(float(working[1]), billions) if working else billions
    return Candidate(name=name, billions=billions, working=active, size_bytes=size_bytes, tokens_per_s=tokens_per_s)


def tier_of(billions: float) -> Tier:
    """What may be expected of a model with so many parameters: drafts, short plans, or plans to rely on."""
    return "tiny" if billions < 1.5 else "small" if billions < 6 else "good"


def context_for(tier: Tier, most: int | None, wanted: int | None) -> int:
    """Tokens of context to work with: *wanted*, or what suits the *tier*; never over *most*, which the model or its
    server has."""
    tokens = wanted or (_CONTEXT_TOKENS_GOOD if tier == "good" else _CONTEXT_TOKENS)
    return min(tokens, most) if most else tokens


def writes(name: str, family: str | None = None) -> bool:
    """Whether *name* is a model of this home that writes texts: what runs elsewhere ("…-cloud") is not this home's;
    embedders and rerankers write nothing."""
    low = name.lower()
    is_cloud = "cloud" in low.rpartition(":")[2]
    return not is_cloud and not any(word in low for word in ("embed", "rerank")) and "bert" not in (family or "")


def largest(candidates: Sequence[Candidate], local: bool) -> Picked:
    """The largest model of a sensible size, whatever the machine: for callers that know nothing of it."""
    fitting = [each for each in candidates if each.billions <= BILLIONS_MAX]
    if not fitting:
        raise LocalMistake("it has no usable model: run `ollama pull gemma3:1b` there")
    return Picked(max(fitting, key=lambda each: (each.billions, each.name)).name, "the largest that is there")


def _stated(size: str | None) -> float | None:
    """ "4.3B" and "494.03M" as billions."""
    factor = {"B": 1.0, "M": 1e-3, "K": 1e-6}.get((size or "")[-1:].upper())
    try:
        return float((size or "")[:-1]) * factor if factor else None
    except ValueError:
        return None
