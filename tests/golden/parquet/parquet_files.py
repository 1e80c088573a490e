#!/usr/bin/env python3
"""Writes the Parquet files beside this script, and their rows as texts.jsonl and chats.jsonl.

    pip install pyarrow==26.0.1
    parquet_files.py FOLDER

Each file has the rows of one of the two JSONL files, so a test compares what is read from both.
"""
import json
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

SENTENCES = ["The mill stands by the river.", "Nobody had seen the cat since Monday.",
             "Zwölf Boxkämpfer jagen Viktor.", "水は低きに流れる。", "Пусть всегда будет солнце!",
             "🙂🙃 emoji, \u0301 a mark alone, and a zero \x00 byte", "tab\tquote\"back\\slash",
             "two\nlines\n"]


def make_texts():
    texts = ["", "a", SENTENCES[0], SENTENCES[0], ""]
    for i in range(60):
        sentence = SENTENCES[i % len(SENTENCES)]
        texts.append(f"{sentence} {i // 3}" if i % 4 else sentence)
    texts += ["https://example.org/page/" + str(i) for i in range(40)]  # shared beginnings
    texts += [SENTENCES[2] * 40, "", "the end"]
    return texts


def make_chats():
    chats = []
    for i in range(24):
        chat = [{"role": "system", "content": "Be brief."}] if i % 3 == 0 else []
        for turn in range(i % 4 + 1):
            chat.append({"role": "user", "content": SENTENCES[(i + turn) % len(SENTENCES)]})
            chat.append({"role": "assistant", "content": "" if i == 5 else f"Answer {i}.{turn}"})
        chats.append(chat)
    chats[7] = []
    chats[8] = None
    chats[9] = [{"role": "user", "content": "nobody answers"}]
    chats[10] = [{"role": "user", "content": None}, {"role": "assistant", "content": "x"}]
    chats[11] = [{"role": None, "content": "x"}]
    chats[12] = [None, {"role": "assistant", "content": "x"}]
    chats[13] = [{"role": "robot with a name longer than is shown", "content": "x"}]
    return chats


def main(folder):
    def write(name, table, **options):
        pq.write_table(table, folder / f"{name}.parquet", **{"store_schema": False, **options})

    def write_rows(name, rows):
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (folder / name).write_text("".join(lines), encoding="utf-8")

    texts = make_texts()
    texts_or_null = [None if i % 5 == 2 else text for i, text in enumerate(texts)]
    write_rows("texts.jsonl", [{"text": text} for text in texts])
    write_rows("nulls.jsonl", [{"text": text} for text in texts_or_null])
    table = pa.table({"id": range(len(texts)), "text": texts})
    small = {"data_page_size": 256, "write_batch_size": 4}
    v2 = {"data_page_version": "2.0"}
    for codec in ("none", "snappy", "gzip", "zstd"):
        write(f"{codec}_v1", table, compression=codec)
        write(f"{codec}_v2", table, compression=codec, use_dictionary=False, **v2)
    for codec in ("brotli", "lz4"):
        write(codec, table.slice(0, 8), compression=codec)
    for name, encoding in (("delta_lengths", "DELTA_LENGTH_BYTE_ARRAY"),
                           ("delta_texts", "DELTA_BYTE_ARRAY")):
        write(name, table, use_dictionary=False, column_encoding={"text": encoding}, **small)
        write(f"{name}_v2", table, use_dictionary=False, column_encoding={"text": encoding}, **v2)
    write("fallback", table, dictionary_pagesize_limit=256, **small)
    write("groups", table, row_group_size=7, **small, **v2)
    write("checksums", table, write_page_checksum=True, compression="none", use_dictionary=False,
          **small)
    write("large", pa.table({"text": pa.array(texts, pa.large_string())}))
    write("bytes", pa.table({"text": pa.array([text.encode() for text in texts], pa.binary())}))
    write("required", pa.table([texts], pa.schema([pa.field("text", pa.string(), False)])))
    nulls = pa.table({"text": texts_or_null})
    write("nulls", nulls, **small)
    write("nulls_v2", nulls, use_dictionary=False, row_group_size=30, **small, **v2)
    write("all_null", pa.table({"text": pa.array([None] * 20, pa.string())}))
    write("empty", pa.table({"text": pa.array([], pa.string())}))
    write("others", pa.table({"id": [1], "title": ["a"], "body": ["b"], "tags": [["x"]],
                              "picture": [b"p"], "place": [{"city": "c"}]}))
    write("bad_utf8", pa.table({"text": pa.array([b"good", b"bad \xff", b"good, too"])}))

    chats = make_chats()
    write_rows("chats.jsonl", [{"messages": chat} for chat in chats])
    fields = [("content", pa.string()), ("role", pa.string())]
    message = pa.struct(fields)
    talks = pa.table({"id": range(len(chats)),
                      "messages": pa.array(chats, pa.list_(message))})
    write("chats", talks)
    write("chats_small", talks, row_group_size=9, use_dictionary=False, **small)
    write("chats_v2", talks, compression="zstd", use_compliant_nested_type=False, **small, **v2)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
