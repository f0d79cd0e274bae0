"""What this peer would do next, as pure functions of the plan it has heard."""
