#!/usr/bin/env python3
"""Writes trained.json: losses, gradients and steps of AdamW of the families that are trained.

    pip install torch transformers==5.23.0 peft==0.21.2 gguf==0.19.0 safetensors==0.8.0
    trained.py > trained.json

The models are those of families.py. Each reads one sequence, again and again. Kept are the norm and
two elements of each tensor's gradient before the first step, and the loss before each of 20 steps
of torch.optim.AdamW. Of llama-adapters only the adapters are trained, which PyPI peft adds.
"""
import json
import sys
import tempfile

import peft
import torch

import families

TRAINED = ("llama", "llama-tied-one-group", "llama3-rope", "linear-rope", "llama-wide-heads",
           "mistral", "qwen2", "qwen3")
CONTEXT, STEPS = 16, 20
MISTRAL_CONTEXT = 8  # its window: what is trained here has none


def digits(x):
    return float(f"{float(x):.6g}")


def with_adapters(model):
    """Both matrices of an adapter are functions of our name and the index."""
    model = peft.get_peft_model(model, peft.LoraConfig(
        r=4, lora_alpha=6, target_modules=["q_proj", "down_proj"], lora_dropout=0.0))
    ours = {"q_proj": "attn.wq", "down_proj": "mlp.w2"}
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if "lora_" in name:
                parts = name.split(".")
                matrix = ours[parts[parts.index("layers") + 3]]
                layer = parts[parts.index("layers") + 1]
                own = f"layers.{layer}.{matrix}.lora_{'a' if 'lora_A' in name else 'b'}"
                drawn = families.weights(own, list(tensor.shape), families.MATRIX)
                tensor.copy_(torch.from_numpy(drawn))
    return model


def loss_of(model, tokens):
    logits = model(torch.tensor([tokens[:-1]]), use_cache=False).logits
    return torch.nn.functional.cross_entropy(logits[0], torch.tensor(tokens[1:]))


def gradients(model):
    kept = {}
    for name, tensor in model.named_parameters():
        if tensor.grad is None:
            continue
        flat = tensor.grad.flatten()
        ends = [digits(flat[0]), digits(flat[-1])]
        kept[name] = [digits(flat.double().norm()), *ends]
    return kept


def train(one, adapters):
    context = MISTRAL_CONTEXT if one["name"] == "mistral" else CONTEXT
    draws = families.uniform(f"train {one['name']}", context + 1)
    tokens = [int(u * families.VOCABULARY) for u in draws]
    with tempfile.TemporaryDirectory() as folder:
        families.write_folder(one, folder)
        model = families.load(folder)
    model.train()
    model = with_adapters(model) if adapters else model
    trained = [p for p in model.parameters() if p.requires_grad]
    matrices = [p for p in trained if p.dim() > 1]
    vectors = [p for p in trained if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(
        [group for group in groups if group["params"]],
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
    name = one["name"] + ("-adapters" if adapters else "")
    return dict(name=name, tokens=tokens, losses=losses, gradients=first)


def main():
    torch.set_num_threads(1)
    kept = []
    for one in families.cases():
        if one["name"] in TRAINED:
            kept.append(train(one, adapters=False))
        if one["name"] == "llama":
            kept.append(train(one, adapters=True))
    print("[\n" + ",\n".join(json.dumps(k) for k in kept) + "\n]")


if __name__ == "__main__":
    main()
