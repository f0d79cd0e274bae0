"""The deterministic simulator: a heap, one seed, and the very `replica.machine` that ships, in a world that means it
ill."""
