"""Writes a model file in other types of GGUF with llama.cpp (PyPI llama-cpp-python).

  pip install llama-cpp-python==0.3.36
  python llama_files.py SmolLM2-135M-Instruct.Q4_1.gguf out F32 F16 Q8_0 Q4_K_M
Prints the path of each file. Types of fewer than four bits get no importance matrix, so they are worse
than files whose makers had one.
"""

import argparse
import ctypes
import pathlib

import llama_cpp


def main():
    kinds = {name.removeprefix("LLAMA_FTYPE_MOSTLY_").removeprefix("LLAMA_FTYPE_ALL_"): value
             for name, value in vars(llama_cpp.llama_cpp).items() if name.startswith("LLAMA_FTYPE_")}
    ap = argparse.ArgumentParser()
    ap.add_argument("file", type=pathlib.Path)
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("types", nargs="+", choices=sorted(kinds), metavar="TYPE")
    args = ap.parse_args()
    silent = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(silent, ctypes.c_void_p(0))
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.types:
        params = llama_cpp.llama_model_quantize_default_params()
        params.ftype = kinds[name]
        params.allow_requantize = True
        path = args.out / f"{args.file.name.split('.')[0]}.{name}.gguf"
        if llama_cpp.llama_model_quantize(str(args.file).encode(), str(path).encode(), ctypes.byref(params)) != 0:
            raise SystemExit(f"{args.file}: llama.cpp does not write it as {name}")
        print(path, flush=True)


if __name__ == "__main__":
    main()
