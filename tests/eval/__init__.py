"""How good the plans are that a model makes in the swarm, and by itself: `make eval`."""
