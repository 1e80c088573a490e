#!/usr/bin/env python3
"""Writes adapters.json: tiny models with adapters that PyPI peft made, saved and computed with.

    pip install torch transformers==5.23.0 peft==0.21.2 gguf==0.19.0 safetensors==0.8.0
    adapters.py > adapters.json

The models are those of families.py. A weight of an adapter is a function of its name in the saved
folder and the index, so no weights are kept. Kept are adapter_config.json and the shapes in
adapter_model.safetensors as peft saves them, some logits after a prompt, and 48 greedy ids.
"""
import json
import os
import sys
import tempfile

import peft
import torch
from safetensors.torch import load_file, save_file

import families

CASES = {
    "llama": dict(r=4, lora_alpha=6, target_modules=["q_proj", "k_proj", "down_proj"]),
    "llama-tied-one-group": dict(r=3, lora_alpha=5, target_modules="all-linear"),
    "qwen2": dict(r=2, lora_alpha=8, target_modules=["v_proj", "o_proj", "gate_proj"],
                  layers_to_transform=[1, 3]),
    "phi3": dict(r=4, lora_alpha=4, target_modules=["qkv_proj", "gate_up_proj"]),
    "gemma2": dict(r=2, lora_alpha=2, target_modules=["self_attn.q_proj", "mlp.up_proj"]),
}


def adapted(one, folder):
    """Saves adapters, gives them weights, and loads the model with them as a user does."""
    base, adapter = os.path.join(folder, "base"), os.path.join(folder, "adapter")
    os.mkdir(base)
    families.write_folder(one, base)
    config = peft.LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.05, **CASES[one["name"]])
    peft.get_peft_model(families.load(base), config).save_pretrained(adapter)
    file = os.path.join(adapter, "adapter_model.safetensors")
    shapes = {name: list(tensor.shape) for name, tensor in sorted(load_file(file).items())}
    drawn = {name: torch.from_numpy(families.weights(name, shape, families.MATRIX))
             for name, shape in shapes.items()}
    save_file(drawn, file, {"format": "pt"})
    model = peft.PeftModel.from_pretrained(families.load(base), adapter).eval()
    with open(os.path.join(adapter, "adapter_config.json"), encoding="utf-8") as text:
        saved = json.load(text)
    saved["base_model_name_or_path"] = "a/model"  # else the name of a folder that is gone
    saved["target_modules"] = (sorted(saved["target_modules"])
                               if isinstance(saved["target_modules"], list)
                               else saved["target_modules"])
    return model, saved, shapes


def main():
    torch.set_num_threads(1)
    kept = []
    for one in families.cases():
        if one["name"] not in CASES:
            continue
        with tempfile.TemporaryDirectory() as folder:
            model, saved, shapes = adapted(one, folder)
            for attempt in range(families.ATTEMPTS):
                prompt = families.prompt_of(one["name"], attempt)
                first, ids, gap = families.answer(model, prompt)
                if gap >= families.SMALLEST_GAP and len(set(ids)) > families.ANSWER // 4:
                    break
            else:
                sys.exit(f"{one['name']}: no prompt gives an answer that rounding cannot change")
        print(one["name"], gap, len(set(ids)), float(first.abs().max()), file=sys.stderr)
        logits = [round(float(x), 6) for x in first[::families.LOGIT_STEP]]
        kept.append(dict(name=one["name"], adapter=saved, shapes=shapes, prompt=prompt,
                         logits=logits, ids=ids))
    print("[\n" + ",\n".join(json.dumps(k) for k in kept) + "\n]")


if __name__ == "__main__":
    main()
