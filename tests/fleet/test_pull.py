"""Pulling a model in turns, so that a playbook can show how far it is, from a server that speaks as Ollama does."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "ansible/roles/ollama/files/pull.py"
SIZE = 2_500_000_000


class FakeOllama(BaseHTTPRequestHandler):
    """Hands out a model in ten parts, a tenth of a second each, and goes on where it was left."""

    parts = 0

    def log_message(self, *words: object) -> None:
        """Nothing."""

    def do_POST(self) -> None:
        """A pull (https://github.com/ollama/ollama/blob/main/docs/api.md#pull-a-model)."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200 if asked["model"] != "refused" else 400)
        self.end_headers()
        match asked["model"]:
            case "unknown":
                self.say(error="pull model manifest: file does not exist")
            case "refused":
                self.say(error="invalid model name")
            case "broken":
                self.say(status="pulling manifest")
            case _:
                self.say(status="pulling manifest")
                while FakeOllama.parts < 10:
                    time.sleep(0.1)
                    FakeOllama.parts += 1
                    self.say(status="pulling 3e4c", total=SIZE, completed=SIZE * FakeOllama.parts // 10)
                self.say(status="success")

    def say(self, **word: object) -> None:
        """One line."""
        self.wfile.write(json.dumps(word).encode() + b"\n")
        self.wfile.flush()


class Server(ThreadingHTTPServer):
    """One whose callers may hang up."""

    def handle_error(self, *words: object) -> None:
        """Nothing."""


@pytest.fixture
def ollama() -> Iterator[str]:
    FakeOllama.parts = 0
    with Server(("127.0.0.1", 0), FakeOllama) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def pull(url: str, model: str, seconds: float) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-I", SCRIPT, url, model, str(seconds)], capture_output=True, encoding="utf-8"
    )


def test_a_pull_is_left_with_its_progress_and_goes_on_to_its_end(ollama: str) -> None:
    assert pull(ollama, "qwen3:4b", 0.05).stdout in ("pulling manifest\n", "pulling 3e4c: 10 % of 2.5 GB\n")
    assert pull(ollama, "qwen3:4b", 60).stdout == "success\n"


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("unknown", "unknown: pull model manifest: file does not exist"),
        ("refused", 'refused: {"error": "invalid model name"}'),
        ("broken", "broken: Ollama broke off at: pulling manifest"),
    ],
)
def test_what_ollama_says_is_told(ollama: str, model: str, told: str) -> None:
    done = pull(ollama, model, 60)
    assert done.returncode != 0
    assert done.stderr.strip() == told


def test_a_server_that_is_not_there_is_told() -> None:
    done = pull("http://127.0.0.1:1", "qwen3:4b", 60)
    assert done.returncode != 0
    assert "http://127.0.0.1:1 does not answer" in done.stderr
