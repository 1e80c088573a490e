#!/usr/bin/env python3
"""Writes tokenizer_families.json.zst: small tokenizers of the families, and digests of their ids.

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 zstandard==0.25.0
    tokenizer_families.py austen.txt tokenizer_families.json.zst
    tokenizer_families.py austen.txt tokenizer_families.json.zst --check FOLDER   # NAME.json, written by us

Each tokenizer is trained here on 2 MB of the lines that tokenizer_lines.py and odd_line() make. The
test makes the 10,000 lines anew, number by number the same, so only digests of the ids are kept.
"""
import hashlib
import io
import json
import struct
import sys

import sentencepiece
import zstandard
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

from tokenizer_lines import Rng, make_line

LINES, CHUNK = 10_000, 500
# Bytes, because some of them are no UTF-8: those become U+FFFD before they are encoded.
ODD = [b"<s>", b"</s>", b"<unk>", b"<|begin_of_text|>", b"<|eot|>", b"<think>", b"[L]", b" [R]  ", b"word",
       b"words", b"\n\n", b"\n", b"\r\n", b"  ", b"   ", b"    ", b"\t", b" ", b" ", b"<0x0A>",
       "\u2581".encode(), "\u2581\u2581".encode(), "\u017f\u212a'\u017f 'S'll'LL".encode(),
       "\U0001F469\u200D\U0001F4BB".encode(), "\U0001F468\u200D\U0001F469\u200D\U0001F467".encode(),
       "\U0001F3F3\uFE0F\u200D\U0001F308".encode(), "e\u0301".encode(), "\u00e9".encode(),
       "A\u030A\u0323".encode(), "\u1100\u1161\u11A8".encode(), "\uAC01".encode(), "\u2126".encode(),
       "\u0E2A\u0E27\u0E31\u0E2A\u0E14\u0E35".encode(), "\u0645\u0631\u062D\u0628\u0627".encode(),
       "\u4F60\u597D".encode(), "\U00031350\U000323AF".encode(), "\U0002EBF0".encode(),
       "\U00010D50\u1C89".encode(), "\U00010D70".encode(), "\U00011F50\U00011F51".encode(),
       "\U0001CC00\U0001CCF0".encode(), "\U00011DE0\U00016FF4".encode(), "\u0897".encode(),
       b"12345", b"1234567", "\u0663\u0664\u0665\u0666".encode(), b"\x00\x01\x1b", b"\xff", b"\xc3",
       b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"don't", b"HTTPServer", b"camelCase", b"a/b/c//",
       b"!!!\n\n", b"x = [1, 2];\n    return", "\u00AB\u00BB\u2014\u2026".encode(), b"+<=>^`|~$"]


def odd_line(number):
    rng = Rng(1_000_000 + number)
    return b"".join(ODD[rng.below(len(ODD))] for _ in range(rng.below(16))).decode(errors="replace")


def line_of(number, austen):
    return odd_line(number) if number % 10 == 9 else make_line(number, austen)


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
TEKKEN = (rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
ENDS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
GPT4O = (rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+{ENDS}|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*{ENDS}"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(pattern, behavior, invert)


def byte_level(text, name, steps, gguf=None, normalizer=None, begin=None, added=(), ignore_merges=False):
    """Byte-level BPE; `steps` come before ByteLevel, or are the whole pre-tokenizer."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer:
        tokenizer.normalizer = normalizer
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [split(Regex(step)) if isinstance(step, str) else step for step in steps]
        + ([] if isinstance(steps[-1], pre_tokenizers.ByteLevel) else [last]))
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer.train_from_iterator(text, trainer)
    tokenizer.add_special_tokens([begin or "<|begin_of_text|>", "<|eot|>"])
    tokenizer.add_tokens(list(added))
    if begin:
        tokenizer.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single=f"{begin} $A", pair=f"{begin} $A {begin} $B:1",
                                          special_tokens=[(begin, tokenizer.token_to_id(begin))])])
    return {"name": name, "gguf": gguf, "tokenizer": tokenizer.to_str()}


def characters(text, name, normalizer=None, pre_tokenizer=None, decoder=None, byte_fallback=True, added=(),
               begin="<s>", edit=None, fuse_unk=True):
    """BPE over characters, as SentencePiece's files are converted."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse_unk, byte_fallback=byte_fallback))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=560, limit_alphabet=110, show_progress=False,
        special_tokens=["<unk>", "<s>", "</s>"] + byte_tokens))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.Sequence([])
    tokenizer.decoder = decoder
    if begin:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A", pair=f"{begin} $A {begin} $B:1",
            special_tokens=[(begin, tokenizer.token_to_id(begin))])
    tokenizer.add_tokens(list(added))
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] not in byte_tokens]
    if pre_tokenizer is None:
        data["pre_tokenizer"] = None
    if edit:
        edit(data)
    return {"name": name, "gguf": None, "tokenizer": json.dumps(data, ensure_ascii=False)}


def older_metaspace(data):
    for part in (data["pre_tokenizer"], data["decoder"]):
        part.pop("prepend_scheme")
        part.pop("split", None)
        part["add_prefix_space"] = True


def sentence_piece(text, name, **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for line in text if line and sum(map(ord, line)) < 300 * len(line)]),
        model_writer=model, vocab_size=640, model_type="bpe", byte_fallback=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.9995,
        split_digits=True, num_threads=1,
        minloglevel=2, **options)
    return {"name": name, "gguf": "llama", "model": model.getvalue().hex()}


def families(text):
    space = "\u2581"
    parts = [decoders.Replace(space, " "), decoders.ByteFallback(), decoders.Fuse()]
    strip = decoders.Sequence(parts + [decoders.Strip(" ", 1, 0)])
    plain = decoders.Sequence(parts)
    thinks = [AddedToken("<think>", normalized=False), AddedToken("[L]", lstrip=True, normalized=False),
              AddedToken("[R]", rstrip=True, normalized=False),
              AddedToken("word", single_word=True, normalized=False)]
    spaces = [AddedToken(" " * count, normalized=True) for count in (4, 3, 2)]
    lines = [AddedToken(piece, normalized=False) for piece in ("\n\n", space * 2, "<think>")]
    byte_words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    nfc, meta = normalizers.NFC(), pre_tokenizers.Metaspace
    return [
        byte_level(text, "llama3", [LLAMA3], "llama-bpe", begin="<|begin_of_text|>", ignore_merges=True),
        byte_level(text, "qwen2", [QWEN2], "qwen2", nfc, added=thinks[:1]),
        byte_level(text, "olmo2", [LLAMA3], "dbrx"),
        byte_level(text, "neox", [byte_words], None, nfc, added=spaces),
        byte_level(text, "granite", [pre_tokenizers.Digits(individual_digits=True), byte_words], "refact"),
        byte_level(text, "gpt2", [GPT2], "gpt-2"),
        byte_level(text, "prefixed", [pre_tokenizers.ByteLevel(add_prefix_space=True)], added=thinks),
        byte_level(text, "tekken", [TEKKEN], "tekken", begin="<|begin_of_text|>", ignore_merges=True),
        byte_level(text, "gpt-4o", [GPT4O], "gpt-4o"),
        byte_level(text, "default", [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"], "default"),
        byte_level(text, "splits", [
            split("a", "merged_with_next"), split(Regex(r"\p{L}+|\s"), "merged_with_previous", True),
            split(Regex(r"[^e]+"), "contiguous"), split(Regex("x*"), "isolated"), split("q", "removed")]),
        characters(text, "llama2", normalizers.Sequence([normalizers.Prepend(space),
                                                         normalizers.Replace(" ", space)]), None, strip),
        characters(text, "mistral", None, meta(prepend_scheme="first", split=False), strip),
        characters(text, "metaspace", None, meta(), decoders.Metaspace(), edit=older_metaspace),
        characters(text, "never", None, meta(prepend_scheme="never"),
                   decoders.Metaspace(prepend_scheme="never")),
        characters(text, "gemma", normalizers.Replace(" ", space), split(" ", "merged_with_previous"), plain,
                   added=lines),
        characters(text, "unknowns", nfc, pre_tokenizers.Sequence([
            pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Digits(individual_digits=False),
            split(Regex(r"[aeiou]+"), "merged_with_next")]), decoders.Fuse(), byte_fallback=False, begin=None,
            fuse_unk=False),
        sentence_piece(text, "spm", add_dummy_prefix=True),
        sentence_piece(text, "spm-bare", add_dummy_prefix=False, user_defined_symbols=["<think>", "\n\n"]),
    ]


def encode_all(family, lines):
    """Returns the ids of each line, and the number of lines that come back."""
    if "tokenizer" not in family:
        library = sentencepiece.SentencePieceProcessor(model_proto=bytes.fromhex(family["model"]))
        encoded = [library.encode(line) for line in lines]
        return encoded, sum(library.decode(ids) == line for ids, line in zip(encoded, lines))
    tokenizer = Tokenizer.from_str(family["tokenizer"])
    encoded = []
    for number, line in enumerate(lines):
        # Special tokens stay text in every second ten lines, and SentencePiece knows none in texts.
        tokenizer.encode_special_tokens = number // 10 % 2 == 0 or "model" in family
        encoded.append(tokenizer.encode(line, add_special_tokens=False).ids)
    decoded = (tokenizer.decode(ids, skip_special_tokens=False) for ids in encoded)
    return encoded, sum(text == line for text, line in zip(decoded, lines))


def digest(encoded):
    result = hashlib.sha256()
    for ids in encoded:
        result.update(struct.pack(f"<{len(ids) + 1}I", len(ids), *ids))
    return result.hexdigest()[:16]


def main():
    with open(sys.argv[1], encoding="utf-8", newline="\n") as file:
        austen = file.read().split("\n")[:-1]
    lines = [line_of(number, austen) for number in range(LINES)]
    if sys.argv[3:4] == ["--check"]:
        with open(sys.argv[2], "rb") as file:
            known = json.loads(zstandard.ZstdDecompressor().decompress(file.read(), 1 << 24))
        for family in known["families"]:
            with open(f"{sys.argv[4]}/{family['name']}.json", encoding="utf-8") as file:
                encoded, _ = encode_all({**family, "tokenizer": file.read()}, lines)
            wrong = [i for i in range(LINES // CHUNK)
                     if digest(encoded[i * CHUNK:(i + 1) * CHUNK]) != family["ids"][i]]
            print(family["name"], "is the same" if not wrong else f"differs in the chunks {wrong}")
        return
    text, size = [], 0
    for number in range(LINES, 100 * LINES):
        text.append(line_of(number, austen))
        size += len(text[-1].encode()) + 1
        if size > 2_000_000:
            break
    made = families(text)
    for family in made:
        encoded, back = encode_all(family, lines)
        family["ids"] = [digest(encoded[i:i + CHUNK]) for i in range(0, LINES, CHUNK)]
        family["back"] = back
        print(family["name"], sum(map(len, encoded)), "tokens,", back, "lines come back")
    all_text = hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()
    data = json.dumps({"text": all_text, "families": made}, ensure_ascii=False)
    with open(sys.argv[2], "wb") as file:
        file.write(zstandard.ZstdCompressor(level=22).compress(data.encode()))


if __name__ == "__main__":
    main()
