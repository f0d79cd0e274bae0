"""What people see of a peer and its company."""

from msgspec import Struct


class PeerView(Struct, frozen=True, kw_only=True):
    """Another peer. *seen_ms*: since its last word, milliseconds. *level*: its events equal ours. *tokens_per_s*: what
    its model wrote in its self-test, 0 if unknown. *why*: it works with this model, in its own words."""

    id: str
    name: str
    roles: tuple[str, ...]
    model: str
    running: int
    slots: int
    version: str
    connected: bool
    alive: bool
    level: bool
    seen_ms: int
    clock_offset_ms: int
    tier: str = ""
    tokens_per_s: int = 0
    why: str = ""


class StatusView(Struct, frozen=True, kw_only=True):
    """How this peer does. *published*: events, presences and live chunks that it has sent since its start.
    *refused*: what others sent that was not taken in, by reason. *digest*: of the whole plan. *trouble*: why this peer
    only observes for now, or empty. *no_model*: why no model answers, and what to do; or empty. *forgotten*:
    goals that ended so long ago that their events were deleted. *disk_bytes*: what the journal takes. *addresses*:
    where others reach it, as multiaddresses. *notices*: what a person should know of the network now.
    *context_tokens*, *schema*, *token_scores*: what the model can do; *tokens_per_s*: what it wrote in its self-test, 0
    until then. *reasons*: why this model, these roles and this many slots, each a sentence."""

    id: str
    name: str
    version: str
    swarm: str
    roles: tuple[str, ...]
    backend: str
    model: str
    tier: str
    slots: int
    running: int
    caught_up: bool
    peers_connected: int
    peers_alive: int
    goals_open: int
    goals: int
    events: int
    digest: str
    fingerprint: str
    published: int
    refused: dict[str, int]
    clock_offset_ms: int
    uptime_ms: int
    trouble: str = ""
    no_model: str = ""
    forgotten: int = 0
    disk_bytes: int = 0
    addresses: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    context_tokens: int = 0
    schema: bool = False
    token_scores: bool = False
    tokens_per_s: int = 0
    reasons: tuple[str, ...] = ()
