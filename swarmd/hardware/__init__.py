"""What this machine is, and which model and roles suit it."""

from swarmd.hardware.machine import Machine, probe
from swarmd.hardware.suit import Suited, describe, has_room_for_embedded, picker, room_of, suit

__all__ = ["Machine", "Suited", "describe", "has_room_for_embedded", "picker", "probe", "room_of", "suit"]
