#!/usr/bin/env python3
"""Pulls a model through Ollama's HTTP API for a while, and prints how far it is: `pull.py URL MODEL SECONDS`.

Prints "success" when the model is there. A pull that is left goes on from where it was when it is asked for again
(Ollama's API documentation, "Pull a Model"), so that whoever calls this in turn can show progress in between.
"""

import json
import sys
import time
import urllib.error
import urllib.request

_SILENCE_S = 300  # between two lines; hashing a large model on a slow disk takes minutes


def main() -> None:
    """Ends with a message if Ollama refuses or falls silent."""
    url, model, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    until = time.monotonic() + seconds
    request = urllib.request.Request(
        f"{url}/api/pull", json.dumps({"model": model}).encode(), {"Content-Type": "application/json"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy would not reach loopback
    said = "nothing yet"
    try:
        with opener.open(request, timeout=_SILENCE_S) as answer:
            for line in answer:
                word = json.loads(line)
                if "error" in word:
                    sys.exit(f"{model}: {word['error']}")
                said = progress(word)
                if said == "success" or time.monotonic() > until:
                    break
            else:
                sys.exit(f"{model}: Ollama broke off at: {said}")
    except urllib.error.HTTPError as error:
        sys.exit(f"{model}: {error.read().decode(errors='replace')}")
    except OSError as error:
        sys.exit(f"{model}: {url} does not answer: {error}")
    print(said)


def progress(word: "dict[str, object]") -> str:
    """A line of Ollama's as people read it."""
    total, completed = word.get("total"), word.get("completed", 0)
    if isinstance(total, int) and isinstance(completed, int) and total:
        return f"{word['status']}: {100 * completed // total} % of {total / 1e9:.1f} GB"
    return str(word.get("status", ""))


if __name__ == "__main__":
    main()
