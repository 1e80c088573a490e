#!/usr/bin/env python3
"""Writes tokenizer_lines.json: 10,000 lines of mixed text, encoded by PyPI `tokenizers`.

    pip install tokenizers==0.23.3 gguf==0.19.0
    tokenizer_lines.py MODEL.gguf austen.txt > tokenizer_lines.json
    tokenizer_lines.py MODEL.gguf austen.txt --check tokenizer.json   # a written one does the same

The text is made anew by tokenizer_test.cpp, number by number the same, so only digests are
kept: of each hundred lines one of the text and one of the ids.
"""
import hashlib
import json
import struct
import sys

LINES, CHUNK = 10_000, 100
MASK = (1 << 64) - 1
WORDS = ["def", "return", "std::vector<int>", "x", "i++", "==", "!=", "->", "{", "}", "(", ")",
         ";", "//", "#include", "\"str\\n\"", "'c'", "0x1F", "1e-5", "3.14", "10000", "for", "if",
         "self.it's", "we'll", "WE'LL", "I'd", "they've", "\t", "    ", "  ", "\n\n", "lambda:",
         "<|im_start|>", "<|im_end|>", "<file_sep>", "&&", "||", "%d", "@", "$PATH", "__init__"]
# First and last code points. They were assigned long ago, so Unicode versions do not matter.
RANGES = [(0x00, 0x1F), (0x20, 0x7E), (0x20, 0x7E), (0x20, 0x2F), (0x30, 0x39), (0x80, 0xA0),
          (0xA1, 0x17F), (0x300, 0x36F), (0x391, 0x3A1), (0x410, 0x44F), (0x5D0, 0x5EA),
          (0x621, 0x64A), (0x660, 0x669), (0x905, 0x939), (0xE01, 0xE30), (0x1100, 0x1112),
          (0x1680, 0x1680), (0x180E, 0x180E), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x2060),
          (0x2070, 0x2071), (0x20A0, 0x20BF), (0x2150, 0x2188), (0x2190, 0x21FF), (0x2460, 0x24FF),
          (0x3000, 0x3029), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FA5), (0x4E00, 0x9FA5),
          (0xAC00, 0xD7A3), (0xE000, 0xE010), (0xFE00, 0xFE0F), (0xFF01, 0xFF5E), (0xFFFD, 0xFFFD),
          (0x1D7CE, 0x1D7FF), (0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0x1F3FB, 0x1F3FF),
          (0x20000, 0x2A6D6), (0x40000, 0x40010), (0xF0000, 0xF0010)]


class Rng:
    """splitmix64"""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) % bound


def make_line(number, austen):
    rng = Rng(number)
    if number % 5 < 2:  # prose
        return austen[number * 7 % len(austen)]
    if number % 5 == 2:  # code
        words = [WORDS[rng.below(len(WORDS))] for _ in range(rng.below(16))]
        return "    " * rng.below(4) + (" " if rng.below(2) else "").join(words)
    text = ""
    for _ in range(rng.below(24)):  # runs of characters of one kind
        first, last = RANGES[rng.below(len(RANGES))]
        for _ in range(1 + rng.below(4)):
            text += chr(first + rng.below(last - first + 1))
        if rng.below(3) == 0:
            text += " " * (1 + rng.below(3))
    return text


def load_tokenizer(path):
    import gguf
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    reader = gguf.GGUFReader(path)

    def texts(key):
        field = reader.fields[key]
        return [bytes(field.parts[i]).decode() for i in field.data]

    vocab = {token: i for i, token in enumerate(texts("tokenizer.ggml.tokens"))}
    merges = [tuple(merge.split(" ")) for merge in texts("tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def main():
    model, corpus = sys.argv[1:3]
    tokenizer = load_tokenizer(model)
    with open(corpus, encoding="utf-8", newline="\n") as file:
        austen = file.read().split("\n")[:-1]
    lines = [make_line(number, austen) for number in range(LINES)]
    encoded = [encoding.ids for encoding in tokenizer.encode_batch(lines)]
    if sys.argv[3:4] == ["--check"]:
        from tokenizers import Tokenizer
        written = Tokenizer.from_file(sys.argv[4])
        names = [token.content for token in written.get_added_tokens_decoder().values()]
        plain = [i for i in range(LINES) if not any(name in lines[i] for name in names)]
        wrong = sum(written.encode(lines[i]).ids != encoded[i] for i in plain)
        print(f"{len(plain)} lines without special tokens, {wrong} differ")
        sys.exit(wrong > 0)
    chunks = []
    for begin in range(0, LINES, CHUNK):
        text, ids = hashlib.sha256(), hashlib.sha256()
        for line, tokens in zip(lines[begin:begin + CHUNK], encoded[begin:begin + CHUNK]):
            text.update(line.encode() + b"\n")
            ids.update(struct.pack(f"<{len(tokens) + 1}I", len(tokens), *tokens))
        chunks.append({"text": text.hexdigest()[:16], "ids": ids.hexdigest()[:16]})
    print(json.dumps({"tokens": sum(map(len, encoded)), "chunks": chunks}, indent=0))


if __name__ == "__main__":
    main()
