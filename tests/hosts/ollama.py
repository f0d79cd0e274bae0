"""`python -m tests.hosts.ollama`: a scripted Ollama on the usual port of every address that this machine has."""

import trio

from tests.unit.llm.fake_ollama import FakeOllama, obliging


async def main() -> None:
    """Serve until killed; a line says that it does."""
    server = FakeOllama({"qwen3:4b": "4.0B"}, obliging, port=11434)
    server.address = None
    async with server.open():
        print("serving", flush=True)
        await trio.sleep_forever()


if __name__ == "__main__":
    trio.run(main)
