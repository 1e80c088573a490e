"""Text of a GGUF file with llama.cpp (PyPI llama-cpp-python): greedy, one thread by default.

  pip install llama-cpp-python==0.3.36
  swarm-bench decode --model m-Q8_0.gguf --weights as-is --beside "python llama_decode.py m-Q8_0.gguf"
Reads a prompt and makes tokens, both given in numbers, with the defaults of llama.cpp otherwise.
Prints one JSON line: tokens per second of wall time and of CPU time, for both, and the peak of memory.
"""

import argparse
import ctypes
import json
import resource
import time

import llama_cpp
import numpy


def read(context, tokens):
    """The most probable token after these."""
    ids = (llama_cpp.llama_token * len(tokens))(*tokens)
    if llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(ids, len(tokens))) != 0:
        raise SystemExit("llama_decode failed")
    model = llama_cpp.llama_get_model(context)
    size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    logits = llama_cpp.llama_get_logits_ith(context, -1)
    return int(numpy.ctypeslib.as_array(logits, (size,)).argmax())


def measure(context, prompt, count):
    llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
    begin = time.perf_counter(), time.process_time()
    token = read(context, prompt)
    middle = time.perf_counter(), time.process_time()
    for _ in range(count):
        token = read(context, [token])
    end = time.perf_counter(), time.process_time()
    return dict(decode_tokens_per_s=count / (end[0] - middle[0]),
                prefill_tokens_per_s=len(prompt) / (middle[0] - begin[0]),
                decode_tokens_per_cpu_s=count / (end[1] - middle[1]),
                prefill_tokens_per_cpu_s=len(prompt) / (middle[1] - begin[1]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("file")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--prompt", type=int, default=128)
    ap.add_argument("--tokens", type=int, default=32)
    args = ap.parse_args()
    silent = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(silent, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(args.file.encode(), llama_cpp.llama_model_default_params())
    if not model:
        raise SystemExit(f"{args.file}: llama.cpp does not load it")
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = args.prompt + args.tokens
    params.n_batch = args.prompt
    params.n_threads = params.n_threads_batch = args.threads
    context = llama_cpp.llama_init_from_model(model, params)
    size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    prompt = [(100 + i * 37) % size for i in range(args.prompt)]
    measure(context, prompt, 4)  # pages and caches
    rates = measure(context, prompt, args.tokens)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(dict(name="llama_decode", threads=args.threads, peak_bytes=peak, **rates)))


if __name__ == "__main__":
    main()
