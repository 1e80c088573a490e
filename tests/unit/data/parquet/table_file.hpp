// Parquet files by hand: values of Thrift, pages, and a file around them, so that a test can write
// what no library writes.
// Threading: values. Errors: none; a file says whatever the test wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace swarm::data::parquet::test {

/// Writes a struct of the compact protocol, field by field.
class ThriftStruct {
 public:
    ThriftStruct& i32(int id, std::int64_t value) { return head(id, 5).varint(zigzag(value)); }

    ThriftStruct& i64(int id, std::int64_t value) { return head(id, 6).varint(zigzag(value)); }

    ThriftStruct& boolean(int id, bool value) { return head(id, value ? 1 : 2); }

    ThriftStruct& text(int id, std::string_view value) {
        return head(id, 8).varint(value.size()).raw(value);
    }

    ThriftStruct& nested(int id, const ThriftStruct& value) {
        return head(id, 12).raw(value.done());
    }

    ThriftStruct& list(int id, const std::vector<ThriftStruct>& values) {
        head(id, 9).raw(std::string(1, static_cast<char>(0xFC))).varint(values.size());
        for (const ThriftStruct& value : values) {
            raw(value.done());
        }
        return *this;
    }

    ThriftStruct& raw(std::string_view bytes) {
        bytes_ += bytes;
        return *this;
    }

    ThriftStruct& head(int id, int type) {
        bytes_ += static_cast<char>((id - last_) << 4 | type);  // ids grow by at most 15
        last_ = id;
        return *this;
    }

    ThriftStruct& varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) {
            bytes_ += static_cast<char>(value | 0x80);
        }
        bytes_ += static_cast<char>(value);
        return *this;
    }

    [[nodiscard]] std::string done() const { return bytes_ + '\0'; }

 private:
    static std::uint64_t zigzag(std::int64_t value) {
        return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
    }

    std::string bytes_;
    int last_ = 0;
};

inline std::string u32(std::size_t value) {
    std::string bytes;
    for (int shift = 0; shift < 32; shift += 8) {
        bytes += static_cast<char>(value >> shift);
    }
    return bytes;
}

/// Texts as PLAIN has them.
inline std::string plain(const std::vector<std::string>& texts) {
    std::string bytes;
    for (const std::string& text : texts) {
        bytes += u32(text.size()) + text;
    }
    return bytes;
}

/// Numbers below 256 as runs of one, eight bits or fewer wide.
inline std::string runs(const std::vector<int>& numbers) {
    std::string bytes;
    for (const int number : numbers) {
        bytes += '\x02';
        bytes += static_cast<char>(number);
    }
    return bytes;
}

/// The same with the length before them, as a data page has its levels.
inline std::string levels(const std::vector<int>& numbers) {
    const std::string bytes = runs(numbers);
    return u32(bytes.size()) + bytes;
}

struct PageFields {
    std::int64_t values = 0;
    std::int64_t encoding = 0;
    std::int64_t levels_encoding = 3;  // RLE
    std::int64_t bytes = -1;           // -1: those of the body
    std::int64_t packed_bytes = -1;
};

inline std::string page_with(
    int kind, int part, const ThriftStruct& head, const PageFields& fields, const std::string& body
) {
    const auto size = static_cast<std::int64_t>(body.size());
    ThriftStruct page;
    page.i32(1, kind)
        .i32(2, fields.bytes < 0 ? size : fields.bytes)
        .i32(3, fields.packed_bytes < 0 ? size : fields.packed_bytes)
        .nested(part, head);
    return page.done() + body;
}

inline std::string data_page(const PageFields& fields, const std::string& body) {
    ThriftStruct head;
    head.i32(1, fields.values).i32(2, fields.encoding);
    head.i32(3, fields.levels_encoding).i32(4, fields.levels_encoding);
    return page_with(0, 5, head, fields, body);
}

inline std::string dictionary_page(const PageFields& fields, const std::string& body) {
    ThriftStruct head;
    return page_with(2, 7, head.i32(1, fields.values).i32(2, fields.encoding), fields, body);
}

/// The levels lie before the values and have no length of their own.
inline std::string data_page_v2(
    const PageFields& fields,
    const std::string& repetitions,
    const std::string& definitions,
    const std::string& values,
    bool is_packed = false
) {
    ThriftStruct head;
    head.i32(1, fields.values).i32(4, fields.encoding);
    head.i32(5, static_cast<std::int64_t>(definitions.size()));
    head.i32(6, static_cast<std::int64_t>(repetitions.size())).boolean(7, is_packed);
    return page_with(3, 8, head, fields, repetitions + definitions + values);
}

/// Numbers of parquet.thrift.
enum : int { kRequired = 0, kOptional = 1, kRepeated = 2 };

inline ThriftStruct leaf(const std::string& name, int repetition, int type = 6) {
    return ThriftStruct().i32(1, type).i32(3, repetition).text(4, name).i32(6, 0);
}

inline ThriftStruct group(const std::string& name, int repetition, int children) {
    return ThriftStruct().i32(3, repetition).text(4, name).i32(5, children);
}

/// One column in one row group.
struct Chunk {
    std::string pages;
    std::int64_t values = 0;
    std::int64_t codec = 0;
    std::int64_t type = 6;
    std::int64_t bytes = -1;  // -1: those of the pages
    std::int64_t begin = -1;  // -1: where they are
    bool is_encrypted = false;
    std::string elsewhere{};  // another file
};

struct Group {
    std::int64_t rows = 0;
    std::vector<Chunk> chunks;
};

struct Table {
    std::vector<ThriftStruct> schema;
    std::vector<Group> groups;
    std::int64_t rows = -1;  // -1: those of the groups
    bool is_encrypted = false;
};

inline std::string file_of(const Table& table) {
    std::string bytes = "PAR1";
    std::vector<ThriftStruct> groups;
    std::int64_t rows = 0;
    for (const Group& group : table.groups) {
        std::vector<ThriftStruct> chunks;
        for (const Chunk& chunk : group.chunks) {
            const auto begin = static_cast<std::int64_t>(bytes.size());
            const auto size = static_cast<std::int64_t>(chunk.pages.size());
            bytes += chunk.pages;
            ThriftStruct metadata;
            metadata.i32(1, chunk.type).i32(4, chunk.codec).i64(5, chunk.values);
            metadata.i64(7, chunk.bytes < 0 ? size : chunk.bytes);
            metadata.i64(9, chunk.begin < 0 ? begin : chunk.begin);
            ThriftStruct column;
            if (!chunk.elsewhere.empty()) {
                column.text(1, chunk.elsewhere);
            }
            column.nested(3, metadata);
            if (chunk.is_encrypted) {
                column.nested(8, ThriftStruct());
            }
            chunks.push_back(column);
        }
        groups.push_back(ThriftStruct().list(1, chunks).i64(3, group.rows));
        rows += group.rows;
    }
    ThriftStruct footer;
    footer.i32(1, 2).list(2, table.schema).i64(3, table.rows < 0 ? rows : table.rows);
    footer.list(4, groups);
    if (table.is_encrypted) {
        footer.nested(8, ThriftStruct());
    }
    const std::string end = footer.done();
    return bytes + end + u32(end.size()) + "PAR1";
}

/// A table of one column "text" and one row group.
inline Table text_table(Chunk chunk, std::int64_t rows, int repetition = kRequired) {
    return {
        {group("schema", kRequired, 1), leaf("text", repetition)}, {{rows, {std::move(chunk)}}}};
}

}  // namespace swarm::data::parquet::test
