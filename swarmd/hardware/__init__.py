"""What this machine is, and which roles suit it."""

from swarmd.hardware.machine import Machine, probe
from swarmd.hardware.suit import Suited, choose_roles

__all__ = ["Machine", "Suited", "choose_roles", "probe"]
