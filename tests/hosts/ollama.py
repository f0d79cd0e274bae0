"""`python -m tests.hosts.ollama [MODEL …]`: a scripted Ollama on the usual port of every address of this machine, with
models named like qwen3:4b, which also hands out an installer as Ollama's own site does."""

import sys

import trio

from tests.unit.llm.fake_ollama import FakeOllama, named, obliging
from tests.unit.llm.fake_server import Json

PORT = 11434
INSTALLER = "/install.sh"

# what it installs answers where Ollama does, and lets this one here do the work
_SCRIPT = """\
set -eu
cat >/etc/systemd/system/ollama.socket <<END
[Socket]
ListenStream=127.0.0.1:{port}
[Install]
WantedBy=sockets.target
END
cat >/etc/systemd/system/ollama.service <<END
[Service]
ExecStart=/usr/lib/systemd/systemd-socket-proxyd {here}:{port}
END
systemctl daemon-reload
systemctl enable --quiet --now ollama.socket
ln -s /bin/true /usr/local/bin/ollama
"""


class Site(FakeOllama):
    """Ollama, and where it comes from."""

    async def route(self, path: str, headers: dict[str, str], body: Json, stream: trio.SocketStream) -> None:
        if path != INSTALLER:
            await super().route(path, headers, body, stream)
            return
        script = _SCRIPT.format(port=PORT, here=stream.socket.getsockname()[0].removeprefix("::ffff:")).encode()
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(script) + script)


async def main(*models: str) -> None:
    """Serve until killed; a line says that it does."""
    server = Site(named(*models), obliging, port=PORT)
    server.address = None
    async with server.open():
        print("serving", flush=True)
        await trio.sleep_forever()


if __name__ == "__main__":
    trio.run(main, *sys.argv[1:])
