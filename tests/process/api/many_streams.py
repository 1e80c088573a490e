"""Asks an endpoint of OpenAI's API as many users at once, with the standard library alone.

usage: many_streams.py URL PART
  alone      prints the tokens/s of one user, then of eight at once
  streams N  N streams, a tenth of whose clients hang up in the middle; prints times per token

Each text has a seed of its own. It is first asked for alone, and must then be the same.
Prints lines "NAME VALUE"; a difference or an error ends the program with status 1.
"""
import asyncio
import json
import statistics
import sys
import time
import urllib.parse

TOKENS = 24
KINDS = 20  # different texts
PATIENCE_S = 300


class Failed(Exception):
    pass


def body_of(kind, stream):
    return {
        "prompt": f"Chapter {kind + 1}. The old lighthouse",
        "max_tokens": TOKENS,
        "temperature": 0.8,
        "seed": kind,
        "ignore_eos": True,
        "return_token_ids": True,
        "stream": stream,
    }


async def open_request(url, body):
    """Sends a request; returns the reader and writer of its connection after the head."""
    place = urllib.parse.urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    data = json.dumps(body).encode()
    writer.write(
        b"POST /v1/completions HTTP/1.0\r\nHost: localhost\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(data), data)
    )
    await writer.drain()
    status = await reader.readline()
    while (await reader.readline()).strip():
        pass
    if b" 200 " not in status:
        raise Failed(f"{status!r}: {(await reader.read())!r}")
    return reader, writer


async def stream(url, kind, hang_up_after=None):
    """Returns the token ids and the time of each."""
    begun = time.monotonic()
    reader, writer = await open_request(url, body_of(kind, True))
    ids, times = [], [begun]
    ended = False
    try:
        while line := await reader.readline():
            if line.strip() == b"data: [DONE]":
                ended = True
            elif line.startswith(b"data: "):
                event = json.loads(line[6:])
                if "error" in event:
                    raise Failed(event["error"]["message"])
                found = event["choices"][0].get("token_ids", [])
                ids += found
                times += [time.monotonic()] * len(found)
            if hang_up_after is not None and len(ids) >= hang_up_after:
                return ids, times
    finally:
        writer.close()
    if not ended:
        raise Failed("a stream broke off")
    return ids, times


async def whole(url, kind):
    reader, writer = await open_request(url, body_of(kind, False))
    answer = json.loads(await reader.read())
    writer.close()
    return answer["choices"][0]["token_ids"]


async def alone(url, rounds=5):
    """Compares one user with eight, in turns."""
    ones, eights = [], []
    texts = {kind: await whole(url, kind) for kind in range(8)}
    for _ in range(rounds):
        begun = time.monotonic()
        if await whole(url, 0) != texts[0]:
            raise Failed("the same request gave another text")
        ones.append(TOKENS / (time.monotonic() - begun))
        begun = time.monotonic()
        together = await asyncio.gather(*(whole(url, kind) for kind in range(8)))
        eights.append(8 * TOKENS / (time.monotonic() - begun))
        if any(together[kind] != texts[kind] for kind in range(8)):
            raise Failed("a text beside seven others is not the one alone")
    one, eight = statistics.median(ones), statistics.median(eights)
    print(f"tokens_per_s_of_one {one:.1f}")
    print(f"tokens_per_s_of_eight {eight:.1f}")
    print(f"ratio {eight / one:.2f}")


async def streams(url, count):
    texts = [await whole(url, kind) for kind in range(KINDS)]
    jobs = [
        stream(url, i % KINDS, hang_up_after=TOKENS // 2 if i % 10 == 9 else None)
        for i in range(count)
    ]
    begun = time.monotonic()
    answers = await asyncio.gather(*jobs, return_exceptions=True)
    took = time.monotonic() - begun
    first, between = [], []
    for i, answer in enumerate(answers):
        if isinstance(answer, BaseException):
            raise Failed(f"stream {i}: {answer!r}")
        ids, times = answer
        wanted = texts[i % KINDS]
        if ids != wanted[: len(ids)] or (i % 10 != 9 and len(ids) != len(wanted)):
            raise Failed(f"stream {i} has another text than alone")
        first.append(times[1] - times[0])
        between += [b - a for a, b in zip(times[1:], times[2:])]
    first.sort()
    between.sort()
    median = between[len(between) // 2]
    p99 = between[len(between) * 99 // 100]
    print(f"streams {count}")
    print(f"tokens_per_s {sum(len(a[0]) for a in answers) / took:.1f}")
    print(f"first_token_p95_s {first[len(first) * 95 // 100]:.2f}")
    print(f"token_median_s {median:.3f}")
    print(f"token_p99_s {p99:.3f}")
    print(f"p99_by_median {p99 / median:.2f}")


async def main():
    url, part = sys.argv[1:3]
    work = alone(url) if part == "alone" else streams(url, int(sys.argv[3]))
    await asyncio.wait_for(work, PATIENCE_S)


try:
    asyncio.run(main())
except (Failed, OSError, asyncio.TimeoutError) as problem:
    print(f"failed: {problem!r}")
    sys.exit(1)
