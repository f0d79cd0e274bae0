"""Lets unit tests share the invented household: `from invented import mid_run`."""
