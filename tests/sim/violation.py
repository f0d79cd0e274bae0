"""What a checker raises."""


class Violation(AssertionError):
    """An invariant does not hold."""
