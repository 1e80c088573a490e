"""The check that ends a peer: what streams say does not depend on who computes it."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

from bed import expect, expect_equal

STREAMS = 4
TOKENS = 48
KILL_AT = 8


def a_kill_in_mid_stream_changes_no_text(bed):
    """Several streams are under way, so that one of them has the victim on its path."""
    prompts = [prompt["text"] for prompt in bed.golden["prompts"][:2]] * (STREAMS // 2)
    options = {"max_tokens": TOKENS, "extra_body": {"ignore_eos": True}}
    alone = [bed.text(prompt, **options).choices[0].text for prompt in prompts[:2]]

    def failovers():
        return sum(event["what"] == "failover" for event in bed.state()["events"])

    before = failovers()
    is_killed = False

    def read(prompt):
        nonlocal is_killed
        text = ""
        for count, piece in enumerate(bed.text(prompt, stream=True, **options)):
            text += piece.choices[0].text
            if count == KILL_AT and not is_killed:
                is_killed = True
                os.kill(bed.victim, signal.SIGKILL)
        return text

    with ThreadPoolExecutor(STREAMS) as pool:
        texts = list(pool.map(read, prompts))
    for prompt, text, wanted in zip(prompts, texts, alone * (STREAMS // 2), strict=True):
        expect_equal(text, wanted, f"text after {prompt[:20]!r}")
    expect(failovers() > before, "no stream had the killed peer on its path")


CHECKS = [a_kill_in_mid_stream_changes_no_text]
