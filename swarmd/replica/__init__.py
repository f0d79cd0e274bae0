"""This machine's copy of the plan and everything it decides: one door in, one list of effects out, no I/O."""
