"""How facts spread, whatever they say: the event set, its reconciliation, who is present. Knows no plan."""
