"""A process that holds one llama.cpp model and serves JSON lines: `python -m swarmd.llm.worker MODEL.gguf THREADS`.

A process of its own, because llama.cpp aborts a process that ends while it generates, and blocks signals while it
works. It ends at once when its standard input closes, so it never outlives its parent.

In: `{"id", "op", …}` or `{"cancel": id}`. Out: `{"ready": true}` or `{"fatal": reason}` once, then for each id any
number of `{"id", "text"}` and one `{"id", "done": value}` or `{"id", "error": reason}`. Jobs run one after another.
"""

import contextlib
import http.client
import json
import math
import os
import queue
import secrets
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TextIO

PARALLEL = 4  # sequences decoded together; on one core four give twice the tokens of one, eight hardly more
# Each duty keeps its own slots, and with them the processed beginnings of its prompts: that halved the time of a split
_LINES_SLOT = 0  # and the three after it, which llama.cpp fills with the other candidates
_SCORE_SLOT = PARALLEL
_WRITE_SLOT = 2 * PARALLEL
_SLOTS = 2 * PARALLEL + 1
_CONTEXT_TOKENS = 2_048  # the model's own maximum; 47 MB of keys and values
_QUEUE_MAX = 64
_TOKENS_MAX = 400  # of one text; a runaway ends here
_ODDS_TOP = 200  # most likely next tokens looked at for odds

Json = dict[str, Any]


class _Cancelled(Exception):
    pass


class Model:
    """llama.cpp with one model."""

    def __init__(self, path: str, threads: int) -> None:
        """Load *path*; raises whatever llama.cpp raises."""
        import xllamacpp

        self._api_key = secrets.token_urlsafe(24)  # its HTTP port on loopback is open to every user of the machine
        params = xllamacpp.CommonParams()
        params.model.path = path
        params.n_ctx = _CONTEXT_TOKENS
        params.n_parallel = _SLOTS
        params.kv_unified = True
        params.cache_ram_mib = 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.cpuparams.poll = params.cpuparams_batch.poll = 0
        params.n_threads_http = 1
        params.api_keys = [self._api_key]
        params.warmup = False
        params.verbosity = -1
        self._server = xllamacpp.Server(params)
        self._address = self._server.listening_address.removeprefix("http://")
        self._pool = ThreadPoolExecutor(PARALLEL)

    def lines(self, job: Json, is_cancelled: Callable[[], bool]) -> list[Json]:
        """*count* continuations of *prompt* up to a line's end, decoded together: text, its number of tokens, and the
        mean log probability of the first *scored* of them."""
        texts: dict[int, str] = {}
        marks: dict[int, list[float]] = {}
        ended: set[int] = set()

        def take(choice: Json) -> None:
            index = choice["index"]
            texts[index] = texts.get(index, "") + choice["text"]
            for token in (choice.get("logprobs") or {}).get("content") or ():
                marks.setdefault(index, []).append(token["logprob"])
            if choice.get("finish_reason") == "stop":
                ended.add(index)

        together = {"n": job["count"], "n_cmpl": job["count"], "id_slot": _LINES_SLOT}
        body = _sampling(job) | together | {"n_probs": 1, "stop": ["\n"]}
        self._stream(body, take, is_cancelled)
        scored = job["scored"]
        return [
            {
                "text": texts[i],
                "ended": i in ended,
                "logprob": _mean(marks.get(i, [])[:scored]),
                "tokens": len(marks.get(i, [])),
            }
            for i in sorted(texts)
        ]

    def score(self, job: Json, is_cancelled: Callable[[], bool]) -> list[float]:
        """For each of *pairs* (prompt, text) the mean log probability of the text's first *scored* tokens."""

        prompts = list(dict.fromkeys(prompt for prompt, _ in job["pairs"]))
        width = max(1, PARALLEL // len(prompts))  # slots for each prompt

        began = {prompt: self._tokens(prompt) for prompt in prompts}

        def one(at: int) -> float:
            prompt, text = job["pairs"][at]
            ids = self._tokens(text)[: job["scored"]]
            slot = _SCORE_SLOT + (prompts.index(prompt) * width + at % width) % PARALLEL
            return _mean(
                logprob
                for n, token in enumerate(ids)
                for logprob in self._logprob(began[prompt] + ids[:n], token, slot, is_cancelled)
            )

        # neighbours go to different slots, so that they are decoded together
        half = (len(job["pairs"]) + 1) // 2
        order = sorted(range(len(job["pairs"])), key=lambda at: (at % half, at))
        found = dict(zip(order, self._pool.map(one, order), strict=True))
        return [found[at] for at in range(len(order))]

    def odds(self, job: Json, is_cancelled: Callable[[], bool]) -> list[float]:
        """For each of *prompts* the log odds that the next word is of *these* rather than of *those*."""

        def one(at: int) -> float:
            if is_cancelled():
                raise _Cancelled
            body = {"prompt": job["prompts"][at], "max_tokens": 1, "n_probs": _ODDS_TOP}
            answer = self._complete(body | {"id_slot": _SCORE_SLOT + at % PARALLEL})
            told = _told(answer)
            if not told:
                return 0.0
            likely = told[0]["top_logprobs"]
            least = min(token["logprob"] for token in likely)

            def chance(words: list[str]) -> float:
                return sum(math.exp(t["logprob"]) for t in likely if t["token"].strip() in words) or math.exp(least)

            return math.log(chance(job["these"])) - math.log(chance(job["those"]))

        return list(self._pool.map(one, range(len(job["prompts"]))))

    def write(self, job: Json, is_cancelled: Callable[[], bool], say: Callable[[str], None]) -> Json:
        """A text after *prompt* until one of *stop*, told piece by piece."""
        tokens = 0

        def take(choice: Json) -> None:
            nonlocal tokens
            tokens += 1
            if choice["text"]:
                say(choice["text"])

        self._stream(_sampling(job) | {"stop": job["stop"], "id_slot": _WRITE_SLOT}, take, is_cancelled)
        return {"tokens": tokens}

    def _logprob(self, prompt: list[int], token: int, slot: int, is_cancelled: Callable[[], bool]) -> list[float]:
        """Of *token* after *prompt*: one log probability, or none if the token is half a character, of which llama.cpp
        says nothing. A bias forces the token out; the log probability is that before the bias. By token ids, since a
        text has several spellings in tokens."""
        if is_cancelled():
            raise _Cancelled
        body = {"prompt": prompt, "max_tokens": 1, "n_probs": 1, "logit_bias": [[token, 1_000]], "id_slot": slot}
        return [told["logprob"] for told in _told(self._complete(body))]

    def _complete(self, body: Json) -> Json:
        answer: Json = self._server.handle_completions(body | {"temperature": 0, "cache_prompt": True})
        if "error" in answer:
            raise RuntimeError(str(answer["error"]))
        return answer

    def _stream(self, body: Json, take: Callable[[Json], None], is_cancelled: Callable[[], bool]) -> None:
        faults: list[BaseException] = []

        def on_chunk(chunk: Json) -> bool:
            # an exception that leaves a callback vanishes in llama.cpp
            try:
                if "error" in chunk:
                    raise RuntimeError(str(chunk["error"]))
                for choice in chunk.get("choices", ()):
                    take(choice)
            except Exception as error:
                faults.append(error)
            return bool(faults) or is_cancelled()

        self._server.handle_completions(body | {"stream": True, "cache_prompt": True}, on_chunk)
        if faults:
            raise faults[0]
        if is_cancelled():
            raise _Cancelled

    def _tokens(self, text: str) -> list[int]:
        connection = http.client.HTTPConnection(self._address, timeout=30)
        try:
            connection.request(
                "POST",
                "/tokenize",
                json.dumps({"content": text, "add_special": False}),
                {"Content-Type": "application/json", "Authorization": f"Bearer {self._api_key}"},
            )
            tokens: list[int] = json.load(connection.getresponse())["tokens"]
            return tokens
        finally:
            connection.close()


def _sampling(job: Json) -> Json:
    return {
        "prompt": job["prompt"],
        "max_tokens": min(job["tokens_max"], _TOKENS_MAX),
        "temperature": job["temperature"],
        "min_p": 0.06,  # cuts the long tail, where a tiny model derails
        "top_k": 0,
        "top_p": 1.0,
        "repeat_penalty": job["repeat_penalty"],
        "repeat_last_n": 64,
        "seed": job["seed"],
    }


def _told(answer: Json) -> list[Json]:
    """What is said of each token; nothing where the text so far ends in half a character."""
    told: list[Json] = (answer["choices"][0].get("logprobs") or {}).get("content") or []
    return told


def _mean(values: Iterable[float]) -> float:
    held = list(values)
    return sum(held) / len(held) if held else 0.0


def _read(source: TextIO, jobs: "queue.Queue[Json]", cancelled: set[int]) -> None:
    try:
        for line in source:
            message = json.loads(line)
            if "cancel" in message:
                cancelled.add(message["cancel"])
            else:
                jobs.put_nowait(message)
    finally:
        os._exit(0)  # the parent is gone or speaks nonsense; an orderly exit would abort inside llama.cpp


def main() -> None:
    """Serve until standard input closes."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever llama.cpp prints must not mix with the protocol
    with contextlib.suppress(PermissionError):  # a sandbox may forbid it, as systemd's does
        os.nice(5)  # the daemon that answers peers goes first
    lock = threading.Lock()

    def say(message: Json) -> None:
        with lock:
            out.write(json.dumps(message) + "\n")
            out.flush()

    jobs: queue.Queue[Json] = queue.Queue(_QUEUE_MAX)
    cancelled: set[int] = set()
    threading.Thread(target=_read, args=(sys.stdin, jobs, cancelled), daemon=True).start()
    try:
        model = Model(sys.argv[1], int(sys.argv[2]))
    except Exception as error:
        say({"fatal": str(error)})
        os._exit(1)
    say({"ready": True})
    while True:
        job = jobs.get()
        number: int = job["id"]
        try:
            done = _serve(model, job, partial(cancelled.__contains__, number), say)
            say({"id": number, "done": done})
        except _Cancelled:
            say({"id": number, "error": "cancelled"})
        except Exception as error:
            say({"id": number, "error": f"{type(error).__name__}: {error}"})
        cancelled.discard(number)


def _serve(model: Model, job: Json, is_cancelled: Callable[[], bool], say: Callable[[Json], None]) -> Any:
    if is_cancelled():
        raise _Cancelled
    match job["op"]:
        case "lines":
            return model.lines(job, is_cancelled)
        case "score":
            return model.score(job, is_cancelled)
        case "odds":
            return model.odds(job, is_cancelled)
        case "write":
            return model.write(job, is_cancelled, lambda text: say({"id": job["id"], "text": text}))
    raise ValueError(f"unknown op {job['op']}")


if __name__ == "__main__":
    main()
