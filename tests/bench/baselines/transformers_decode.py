"""Text of a Hugging Face folder with transformers: greedy, KV cache, fp32, one thread by default.

  swarm model export smollm2 smollm2-hf
  swarm-bench decode --beside "python transformers_decode.py smollm2-hf"
Reads a prompt of 128 tokens and makes 32. Prints one JSON line: tokens per second of wall time and
of CPU time, for both.
"""

import argparse
import time

import torch
from transformers import AutoModelForCausalLM

from gpt import emit, now


def measure(model, prompt, tokens):
    begin = now(), time.process_time()
    out = model(prompt, use_cache=True, logits_to_keep=1)
    read = now(), time.process_time()
    for _ in range(tokens):
        token = out.logits[:, -1:].argmax(-1)
        out = model(token, past_key_values=out.past_key_values, use_cache=True, logits_to_keep=1)
    end = now(), time.process_time()
    return dict(decode_tokens_per_s=tokens / (end[0] - read[0]),
                prefill_tokens_per_s=prompt.shape[1] / (read[0] - begin[0]),
                decode_tokens_per_cpu_s=tokens / (end[1] - read[1]),
                prefill_tokens_per_cpu_s=prompt.shape[1] / (read[1] - begin[1]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("folder")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--prompt", type=int, default=128)
    ap.add_argument("--tokens", type=int, default=32)
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    model = AutoModelForCausalLM.from_pretrained(args.folder, dtype=torch.float32).eval()
    prompt = torch.arange(args.prompt)[None] * 37 + 100
    with torch.inference_mode():
        measure(model, prompt, 4)  # pages, caches, the allocator
        emit(name="transformers_decode", threads=args.threads, **measure(model, prompt, args.tokens))


if __name__ == "__main__":
    main()
