"""What this machine is, and which roles suit it."""
