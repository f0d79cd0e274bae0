"""The daemon's status in the text format that Prometheus reads (exposition format 0.0.4)."""

from collections.abc import Iterator

from swarmd.replica.status import StatusView


def metrics(status: StatusView) -> str:
    """Every number of *status* as one metric; counters count from the daemon's start."""
    return "".join(f"{line}\n" for line in _lines(status))


def _lines(status: StatusView) -> Iterator[str]:
    facts = {"version": status.version, "name": status.name, "peer": status.id, "model": status.model}
    yield from _metric("info", "gauge", "What this peer is.", {_labels(facts): 1})
    gauges = {
        "peers_connected": ("Peers that this one has a link to.", status.peers_connected),
        "peers_alive": ("Peers that have said lately that they live.", status.peers_alive),
        "goals_open": ("Goals that have not ended.", status.goals_open),
        "goals": ("Goals that are known.", status.goals),
        "events": ("Events in the journal.", status.events),
        "journal_bytes": ("What the journal takes on disk.", status.disk_bytes),
        "goals_forgotten": ("Goals that ended long ago and were deleted.", status.forgotten),
        "jobs_running": ("Requests that the model works on.", status.running),
        "slots": ("Requests that the model can work on at once.", status.slots),
        "tokens_per_second": ("What the model wrote in its self-test; 0 before that.", status.tokens_per_s),
        "caught_up": ("1 once this peer knows what was said while it was away.", int(status.caught_up)),
        "read_only": ("1 while this peer only observes because its disk takes nothing.", int(bool(status.trouble))),
        "clock_offset_seconds": ("What must be added to this clock for the swarm's.", status.clock_offset_ms / 1_000),
        "uptime_seconds": ("Since the daemon's start.", status.uptime_ms / 1_000),
    }
    for name, (meaning, value) in gauges.items():
        yield from _metric(name, "gauge", meaning, {"": value})
    yield from _metric("published_total", "counter", "Messages sent to the swarm.", {"": status.published})
    refused = {_labels({"reason": reason}): count for reason, count in sorted(status.refused.items())}
    yield from _metric("refused_total", "counter", "What was not taken in, by reason.", dict(refused))


def _metric(name: str, kind: str, meaning: str, values: dict[str, float]) -> Iterator[str]:
    yield f"# HELP swarmd_{name} {meaning}"
    yield f"# TYPE swarmd_{name} {kind}"
    for labels, value in values.items():
        yield f"swarmd_{name}{labels} {value}"


def _labels(facts: dict[str, str]) -> str:
    return "{" + ",".join(f'{label}="{_escaped(value)}"' for label, value in facts.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
