"""Network namespaces without names: each lives only as long as the process that holds it, which ends with the test's
own process whatever happens to that; so nothing is ever left behind. Needs root and iproute2."""

import subprocess

WITH_US = ("setpriv", "--pdeathsig", "KILL")  # before a command: the kernel ends it when we end, kill -9 included


class Namespace:
    """A network namespace and the process that holds it."""

    def __init__(self) -> None:
        self._holder = subprocess.Popen(
            [*WITH_US, "unshare", "--net", "sh", "-c", "echo held; exec sleep infinity"],
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the test, which then ends this in order
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"held\n"
        self.pid = self._holder.pid
        self.inside = ["nsenter", "--target", str(self.pid), "--net"]
        self.ip("link", "set", "lo", "up")

    def ip(self, *words: str) -> None:
        """`ip` in this namespace."""
        subprocess.run([*self.inside, "ip", *words], check=True)

    def end(self) -> None:
        """Let it go."""
        self._holder.kill()
        self._holder.wait()
        assert self._holder.stdout is not None
        self._holder.stdout.close()
