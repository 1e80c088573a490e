#!/usr/bin/env python3
"""Writes trained.json: losses, gradients and steps of AdamW of the families that are trained.

    pip install torch transformers==5.23.0 gguf==0.19.0 safetensors==0.8.0
    trained.py > trained.json

The models are those of families.py. Each reads one sequence, again and again. Kept are the norm and
two elements of each tensor's gradient before the first step, and the loss before each of 20 steps
of torch.optim.AdamW.
"""
import json
import sys
import tempfile

import torch

import families

TRAINED = ("llama", "llama-tied-one-group", "llama3-rope", "linear-rope", "llama-wide-heads",
           "mistral", "qwen2", "qwen3")
CONTEXT, STEPS = 16, 20
MISTRAL_CONTEXT = 8  # its window: what is trained here has none


def digits(x):
    return float(f"{float(x):.6g}")


def loss_of(model, tokens):
    logits = model(torch.tensor([tokens[:-1]]), use_cache=False).logits
    return torch.nn.functional.cross_entropy(logits[0], torch.tensor(tokens[1:]))


def gradients(model):
    kept = {}
    for name, tensor in model.named_parameters():
        flat = tensor.grad.flatten()
        ends = [digits(flat[0]), digits(flat[-1])]
        kept[name] = [digits(flat.double().norm()), *ends]
    return kept


def main():
    torch.set_num_threads(1)
    kept = []
    for one in families.cases():
        if one["name"] not in TRAINED:
            continue
        context = MISTRAL_CONTEXT if one["name"] == "mistral" else CONTEXT
        draws = families.uniform(f"train {one['name']}", context + 1)
        tokens = [int(u * families.VOCABULARY) for u in draws]
        with tempfile.TemporaryDirectory() as folder:
            families.write_folder(one, folder)
            model = families.load(folder)
        model.train()
        matrices = [p for p in model.parameters() if p.dim() > 1]
        vectors = [p for p in model.parameters() if p.dim() == 1]
        optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
            lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
        losses, first = [], None
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = loss_of(model, tokens)
            loss.backward()
            first = first or gradients(model)
            losses.append(digits(loss.detach()))
            optimizer.step()
        print(one["name"], losses[0], losses[-1], file=sys.stderr)
        kept.append(dict(name=one["name"], tokens=tokens, losses=losses, gradients=first))
    print("[\n" + ",\n".join(json.dumps(k) for k in kept) + "\n]")


if __name__ == "__main__":
    main()
