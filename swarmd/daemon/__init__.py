"""The running program: builds everything once, feeds the machine, and does what it says."""
