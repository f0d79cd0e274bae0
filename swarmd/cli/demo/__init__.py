"""A whole household on one machine: several real daemons, real links between them, one goal, and its report."""
