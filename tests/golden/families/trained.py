#!/usr/bin/env python3
"""Writes trained.json: losses, gradients and steps of AdamW of the families that are trained.

    pip install torch transformers==5.23.0 peft==0.21.2 gguf==0.19.0 safetensors==0.8.0
    trained.py > trained.json

The models are those of families.py. Each reads one sequence, again and again. Kept are the norm and
two elements of each tensor's gradient before the first step, and the loss before each of 20 steps
of torch.optim.AdamW. Of llama-adapters only the adapters are trained, which PyPI peft adds. With
experts, the mean over the layers of transformers' load_balancing_loss_func is added to what is
differentiated, times BALANCE, and not to the losses that are kept.
"""
import json
import sys
import tempfile

import peft
import torch
from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

import families

TRAINED = ("llama", "llama-tied-one-group", "llama3-rope", "linear-rope", "llama-wide-heads",
           "mistral", "qwen2", "qwen3", "mixtral", "qwen3-moe")
CONTEXT, STEPS = 16, 20
BALANCE = 0.01  # the default of train.balance
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


def losses_of(model, tokens, has_experts):
    """The loss, and what is differentiated."""
    kinds = {"output_router_logits": True} if has_experts else {}
    out = model(torch.tensor([tokens[:-1]]), use_cache=False, **kinds)
    loss = torch.nn.functional.cross_entropy(out.logits[0], torch.tensor(tokens[1:]))
    if not has_experts:
        return loss, loss
    c = model.config
    experts = getattr(c, "num_local_experts", None) or c.num_experts
    balance = [load_balancing_loss_func((layer,), experts, c.num_experts_per_tok)
               for layer in out.router_logits]
    return loss, loss + BALANCE * torch.stack(balance).mean()


def as_in_files(name, gradient, is_mixtral):
    """transformers keeps the matrices of all experts in two tensors; files have one for each."""
    part = "block_sparse_moe" if is_mixtral else "mlp"
    gate, down, up = ("w1", "w2", "w3") if is_mixtral else ("gate_proj", "down_proj", "up_proj")
    at = name.rfind("mlp.experts.")
    if name.endswith("mlp.gate.weight"):
        yield name.replace("mlp.gate", f"{part}.gate"), gradient
    elif at < 0:
        yield name, gradient
    for expert in range(len(gradient) if at >= 0 else 0):
        prefix = f"{name[:at]}{part}.experts.{expert}."
        if name.endswith("down_proj"):
            yield f"{prefix}{down}.weight", gradient[expert]
        else:
            first, second = gradient[expert].chunk(2)
            yield f"{prefix}{gate}.weight", first
            yield f"{prefix}{up}.weight", second


def gradients(model, is_mixtral):
    kept = {}
    for whole, tensor in model.named_parameters():
        if tensor.grad is None:
            continue
        for name, gradient in as_in_files(whole, tensor.grad, is_mixtral):
            flat = gradient.flatten()
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
    kind = one["config"]["model_type"]
    losses, first = [], None
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss, differentiated = losses_of(model, tokens, "num_experts_per_tok" in one["config"])
        differentiated.backward()
        first = first or gradients(model, kind == "mixtral")
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
