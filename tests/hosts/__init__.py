"""Booted Debian hosts on a bridge: the package, the units, the playbook, and the faults of a home."""
