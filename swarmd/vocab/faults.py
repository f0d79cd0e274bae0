"""Whose fault it is decides what happens: theirs is counted and contained, ours is told to the person or crashes."""


class RemoteFault(Exception):
    """Another machine, a model or a stranger sent something wrong. Contained where it enters, counted, never fatal."""


class LocalMistake(Exception):
    """The person or program on this machine asked for something that cannot be. The message says what to do next."""


class UnknownId(LocalMistake):
    """No goal, task or peer has that id, or several share the prefix."""


class Unreachable(LocalMistake):
    """No daemon answers on the control socket."""
