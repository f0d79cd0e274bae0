"""What takes minutes: a household of daemons under a regime of killing, with its memory watched."""
