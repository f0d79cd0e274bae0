"""What people type and see: `swarmctl` and `swarmd`. Speaks with the daemon through `control.client` only."""
