"""`python -m tests.integration.deaf` is a daemon to which gossip brings no event: what it knows, sync has brought."""

from swarmd.cli.swarmd import main
from swarmd.daemon.inbox import Inbox
from swarmd.replica.inputs import Heard, Input

deliver = Inbox.deliver


def deaf(self: Inbox, happened: Input) -> None:
    if not isinstance(happened, Heard):
        deliver(self, happened)


if __name__ == "__main__":
    Inbox.deliver = deaf  # type: ignore[method-assign]
    main()
