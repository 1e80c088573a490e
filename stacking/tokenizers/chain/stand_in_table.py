#!/usr/bin/env python3
"""Writes stand_in_table.hpp: characters that Unicode has got since PCRE2 10.42 learnt its properties.

    pip install tokenizers==0.23.3
    stand_in_table.py > stand_in_table.hpp      # by Python 3.11, whose Unicode is 14, as PCRE2's

The properties of today are asked of the tokenizers library itself, because its cuts are the ones to
follow.
"""
import sys
import unicodedata

from tokenizers import Regex, pre_tokenizers

CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co "
              "Cn").split()
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
BATCH = 4096


def categories_of_today():
    found = {}
    for category in CATEGORIES:
        split = pre_tokenizers.Split(Regex(r"\p{%s}" % category), "removed", invert=True)
        for begin in range(0, len(CODE_POINTS), BATCH):
            text = "".join(map(chr, CODE_POINTS[begin:begin + BATCH]))
            for piece, _ in split.pre_tokenize_str(text):
                found.update((ord(character), category) for character in piece)
    return found


def length(code_point):
    return len(chr(code_point).encode())


def stand_in(code_point, category, known):
    """The nearest character of the same category and length that PCRE2 knows."""
    for distance in range(1, 0x110000):
        for other in (code_point - distance, code_point + distance):
            if known.get(other) == category and length(other) == length(code_point):
                return other
    raise ValueError(hex(code_point))


def main():
    if unicodedata.unidata_version != "14.0.0":
        sys.exit("wants a Python with Unicode 14: 3.11")
    known = {c: unicodedata.category(chr(c)) for c in CODE_POINTS}
    today = categories_of_today()
    runs = []
    for code_point in CODE_POINTS:
        category = today[code_point]
        if known[code_point] == category:
            continue
        if runs and runs[-1][1] == code_point - 1 and runs[-1][2] == category:
            runs[-1][1] = code_point
        else:
            runs.append([code_point, code_point, category])
    print("// Made by stand_in_table.py: characters that PCRE2 10.42 (Unicode 14) does not know as the"
          "\n// reference does, and for each run a character of the same general category and the same"
          "\n// number of bytes in UTF-8.\n// Threading: constants. Errors: none.\n#pragma once\n\n"
          "#include <array>\n#include <cstdint>\n\nnamespace stacking::tokenizers {\n\n"
          "struct StandIn {\n    std::uint32_t first = 0;\n    std::uint32_t last = 0;\n"
          "    std::uint32_t stand_in = 0;\n};\n")
    print("inline constexpr std::array<StandIn, %d> kStandIns = {{" % len(runs))
    for first, last, category in runs:
        print("    {0x%05X, 0x%05X, 0x%05X},  // %s" % (first, last,
                                                      stand_in(first, category, known), category))
    print("}};\n\n}  // namespace stacking::tokenizers")


if __name__ == "__main__":
    main()
