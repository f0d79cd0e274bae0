"""The ways in which decomposers look at a task. Parallel decomposers take different ones, so their splits differ."""

INSTRUCTIONS: dict[str, str] = {
    "by activity": "Split by kind of activity: each part is one sort of work with one outcome.",
    "by time": "Split by time: each part is what happens in one stretch of time, earliest first.",
    "by place": "Split by place: each part is everything that happens in one location, and names it.",
    "by phase": "Split by phase: from finding out through preparing and doing to finishing, each with a deliverable.",
    "by risk": "Split by risk: each part removes one uncertainty or danger, the most threatening first.",
    "by people": "Split by people: each part is what one person or group gets or does, and names them.",
    "by resource": "Split by resource: each part secures one thing that is needed, such as money, tools or space.",
}
"""One instruction sentence for each strategy."""

STRATEGIES: tuple[str, ...] = tuple(INSTRUCTIONS)


def instruction(strategy: str) -> str:
    """The sentence for *strategy*; a strategy of a newer peer, unknown here, is its own instruction."""
    return INSTRUCTIONS.get(strategy, f"Split {strategy}.")
