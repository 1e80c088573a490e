"""Users of one server that speaks OpenAI's API: starts it, asks as so many users at once, ends it.

  python side_by_side.py --rounds 5 --fields tokens_per_s \\
      --base "python api_tokens.py --users 8 --port 8081 -- llama-server -m m.gguf -np 8 -c 8192 --port 8081" \\
      "python api_tokens.py --users 8 --port 8082 -- swarm local --model m.gguf --stages 1 --api --port 8082"
Every user sends a prompt of its own, which no cache has, and streams an answer of --tokens tokens.
Prints one JSON line: tokens per second of all users together, from the first question to the last
token, the time to the first token, and the time between two tokens.
"""

import argparse
import http.client
import json
import signal
import statistics
import subprocess
import sys
import threading
import time


def wait_for(port, server, deadline_s):
    """Returns when the server says that it can answer."""
    end = time.monotonic() + deadline_s
    while time.monotonic() < end and server.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise SystemExit("the server does not answer")


def ask(port, words, tokens, seed, times):
    """Puts the time of each piece of the answer into `times`."""
    prompt = f"Letter number {seed}. " + " ".join(f"The {seed + i}th line of it is long." for i in range(words))
    body = dict(model=model_of(port), prompt=prompt, max_tokens=tokens, temperature=0, ignore_eos=True, stream=True)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if answer.status != 200:
        raise SystemExit(answer.read().decode())
    for line in answer:
        if line.startswith(b"data: {") and json.loads(line[6:]).get("choices"):
            times.append(time.monotonic())


def model_of(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/v1/models")
    return json.loads(connection.getresponse().read())["data"][0]["id"]


def measure(args):
    ask(args.port, args.words, 4, 1, [])  # pages and caches
    times = [[] for _ in range(args.users)]
    users = [threading.Thread(target=ask, args=(args.port, args.words, args.tokens, 1000 * (n + 1), times[n]))
             for n in range(args.users)]
    begin = time.monotonic()
    for user in users:
        user.start()
    for user in users:
        user.join()
    if not all(times):
        raise SystemExit("an answer failed")
    first = sorted(t[0] - begin for t in times)
    gaps = sorted(1000 * (b - a) for t in times for a, b in zip(t, t[1:]))
    took = max(t[-1] for t in times) - begin
    return dict(name="api_tokens", users=args.users, tokens_per_s=args.users * args.tokens / took,
                pieces=sum(map(len, times)), first_s=statistics.median(first), first_worst_s=first[-1],
                gap_ms=statistics.median(gaps), gap_p99_ms=gaps[int(0.99 * (len(gaps) - 1))])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--users", type=int, default=1)
    ap.add_argument("--tokens", type=int, default=64)
    ap.add_argument("--words", type=int, default=8, help="sentences of each prompt, about ten tokens each")
    ap.add_argument("--port", type=int, required=True)
    ap.add_argument("command", nargs="+")
    args = ap.parse_args()
    server = subprocess.Popen(args.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        wait_for(args.port, server, 120)
        print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in measure(args).items()}))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


if __name__ == "__main__":
    main()
