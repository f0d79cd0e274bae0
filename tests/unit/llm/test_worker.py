import json
import subprocess
import sys

FORBIDDEN = """\
import os, sys
def nice(increment):
    raise PermissionError("Operation not permitted")
os.nice = nice
sys.argv = ["worker", "/nowhere.gguf", "1"]
from swarmd.llm import worker
worker.main()
"""


def test_a_sandbox_that_forbids_another_priority_does_not_end_the_worker_unheard() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FORBIDDEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as worker:
        assert worker.stdout is not None
        assert "fatal" in json.loads(worker.stdout.readline()), "that there is no such model is the next thing it says"
