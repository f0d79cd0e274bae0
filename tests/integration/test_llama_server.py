"""llama.cpp's own HTTP server with the tiny model, asked through OpenAI's API: the real thing."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import trio

from swarmd.llm.embedded import find_model
from swarmd.llm.openai import OpenAiLlm
from swarmd.roles.work import Execute, Place
from swarmd.vocab.faults import LocalMistake

PATIENCE_S = 100
EXECUTE = Execute(place=Place(goal="Renovate a small bathroom", title="Paint the walls"))
SERVER = """
import os, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel = 4096, 2
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.cpuparams.poll = params.cpuparams_batch.poll = 0
params.warmup, params.verbosity, params.api_keys = False, -1, ["secret"]
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)  # it aborts a process that ends while it generates
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pytest.importorskip("xllamacpp")
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(find_model())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_llama_server_tells_what_it_is_and_how_fast(address: str) -> None:
    async def main() -> None:
        llm = OpenAiLlm(address, key="secret")
        with trio.fail_after(PATIENCE_S):
            backend = await llm.probe()
            assert (backend.tier, backend.slots, backend.context_tokens) == ("tiny", 2, 2_048)
            await llm.measure()
            backend = await llm.probe()
            assert backend.schema  # none of the courtesies is refused
            assert backend.tokens_per_s is not None and backend.tokens_per_s > 0.5
        await llm.close()

    trio.run(main)


def test_a_llama_server_streams_and_stops_when_nobody_listens(address: str) -> None:
    async def main() -> None:
        llm = OpenAiLlm(address, key="secret")
        pieces: list[str] = []
        with trio.fail_after(PATIENCE_S):
            for _ in range(3):  # more often than it has slots
                with trio.CancelScope() as scope:

                    def take(piece: str, scope: trio.CancelScope = scope) -> None:
                        pieces.append(piece)
                        scope.cancel()

                    await llm.run(EXECUTE, take)
            await llm.measure()
        assert len(pieces) >= 3
        await llm.close()

    trio.run(main)


def test_a_llama_server_refuses_whoever_has_no_key(address: str) -> None:
    with pytest.raises(LocalMistake, match="key_file"):
        trio.run(OpenAiLlm(address).probe)
