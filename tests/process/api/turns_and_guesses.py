"""Times what peers need not do again, with the standard library alone.

usage: turns_and_guesses.py URL PART
  turns    a chat of 1,500 tokens: the time to the first token of its first and of its second turn
  guesses  ten texts of each kind: tokens/s by kind, and a digest of all tokens

Prints lines "NAME VALUE"; an error ends the program with status 1.
"""
import hashlib
import json
import random
import sys
import time
import urllib.request

TURNS = 5
PROMPT_TOKENS = 1500
TOKENS = 64
WORDS = (
    "river stone letter window garden morning engine silver winter market captain paper bridge "
    "forest signal harbour copper village teacher summer bottle machine question answer"
).split()


def post(url, path, body, timeout=300):
    data = json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=timeout)


def stream(url, prompt, tokens):
    """Returns the time to the first token, the time to the last one, the ids and the usage."""
    begun = time.monotonic()
    first, ids, usage = None, [], None
    body = {
        "prompt": prompt,
        "max_tokens": tokens,
        "temperature": 0,
        "ignore_eos": True,
        "return_token_ids": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    for line in post(url, "/v1/completions", body):
        if line.startswith(b"data: {"):
            event = json.loads(line[6:])
            if "error" in event:
                raise RuntimeError(event["error"]["message"])
            usage = event.get("usage") or usage
            for choice in event["choices"]:
                found = choice.get("token_ids") or []
                first = first or (time.monotonic() if found else None)
                ids += found
    return first - begun, time.monotonic() - first, ids, usage


def turns(url):
    draw = random.Random(7)
    firsts, seconds = [], []
    for _ in range(TURNS):
        said = [draw.randrange(1000, 40000) for _ in range(PROMPT_TOKENS)]
        first, _, answer, _ = stream(url, said, 32)
        said += answer + [draw.randrange(1000, 40000) for _ in range(20)]
        second, _, _, usage = stream(url, said, 8)
        firsts.append(first)
        seconds.append(second)
        reused = usage["prompt_tokens_details"]["cached_tokens"]
    firsts.sort()
    seconds.sort()
    first, second = firsts[TURNS // 2], seconds[TURNS // 2]
    print(f"first_turn_s {first:.3f}")
    print(f"second_turn_s {second:.3f}")
    print(f"second_by_first {second / first:.3f}")
    print(f"reused_tokens {reused}")


def repetitive(draw):
    line = " ".join(draw.sample(WORDS, 6))
    return (line + "\n") * 6


def code_edit(draw):
    names = draw.sample(WORDS, 4)
    body = "".join(
        f"def {name}_of(values):\n"
        f"    total = 0\n"
        f"    for value in values:\n"
        f"        total += value * {i + 2}\n"
        f"    return total\n\n"
        for i, name in enumerate(names)
    )
    return f"# version 1\n{body}\n# version 2, the same with a changed constant\n{body[:60]}"


def prose(draw):
    return f"The {draw.choice(WORDS)} near the {draw.choice(WORDS)} had been silent since"


def guesses(url):
    for kind in (repetitive, code_edit, prose):
        draw = random.Random(11)
        tokens, seconds, digest = 0, 0.0, hashlib.sha256()
        for _ in range(10):
            _, took, ids, _ = stream(url, kind(draw), TOKENS)
            tokens += len(ids) - 1
            seconds += took
            digest.update(json.dumps(ids).encode())
        print(f"{kind.__name__}_tokens_per_s {tokens / seconds:.2f}")
        print(f"{kind.__name__}_tokens {digest.hexdigest()[:16]}")


def main():
    url, part = sys.argv[1:3]
    {"turns": turns, "guesses": guesses}[part](url.rstrip("/"))


try:
    main()
except (OSError, RuntimeError) as problem:
    print(f"failed: {problem!r}")
    sys.exit(1)
