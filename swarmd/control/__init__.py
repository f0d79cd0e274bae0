"""How people and programs on this machine talk with the daemon: HTTP over a UNIX socket, nothing on the network."""
