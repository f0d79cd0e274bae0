"""What this machine keeps: the event journal, its keys, and where its files lie."""
