"""A worker without a model, run as a process: `fake_worker.py [mute|fatal|garbage]`. It does what each job names."""

import json
import os
import queue
import signal
import sys
import threading


def main() -> None:
    """Serve until standard input closes."""
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    cancelled: set[int] = set()
    jobs: queue.Queue[dict[str, object]] = queue.Queue()

    def read() -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "cancel" in message:
                cancelled.add(message["cancel"])
            else:
                jobs.put(message)
        os._exit(0)

    def say(**message: object) -> None:
        print(json.dumps(message), flush=True)

    threading.Thread(target=read, daemon=True).start()
    if mode == "fatal":
        say(fatal="no such model")
        return
    if mode == "mute":
        threading.Event().wait()
    if mode == "garbage":
        print("{", flush=True)
    say(ready=True)
    while True:
        job = jobs.get()
        number = int(str(job["id"]))
        match job["op"]:
            case "echo":
                say(id=number, text="a")
                say(id=number, done=job["value"])
            case "fail":
                say(id=number, error="it failed")
            case "die":
                os._exit(3)
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "leave":
                os.close(sys.stdout.fileno())
                threading.Event().wait()
            case "flood":
                print("x" * (2 << 20), flush=True)
            case "talk":
                while number not in cancelled:
                    say(id=number, text="b")
                    threading.Event().wait(0.01)
                say(id=number, error="cancelled")
            case "deaf":
                say(id=number, text="c")
                threading.Event().wait()


if __name__ == "__main__":
    main()
