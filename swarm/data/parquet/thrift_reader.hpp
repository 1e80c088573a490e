// Reads a value of Thrift's compact protocol, in which Parquet writes its footer and its page
// headers. A caller walks over the fields of a struct and takes or skips each:
//    ThriftFields fields(in);
//    while (fields.next()) { if (fields.id() == 3) rows = in.i64(fields.type()); else in.skip(..) }
// Invariant: the reader keeps the first fault. After it each value is zero or empty and no field
// follows, so a caller may take many and then ask ok(). Lengths are held against the bytes left.
// Threading: one thread. Errors: ok(). Cost: nothing is allocated; texts are views.
// Source: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace swarm::data::parquet {

enum class ThriftType : std::uint8_t {
    Stop = 0,
    True = 1,
    False = 2,
    I8 = 3,
    I16 = 4,
    I32 = 5,
    I64 = 6,
    Double = 7,
    Binary = 8,
    List = 9,
    Set = 10,
    Map = 11,
    Struct = 12,
    Uuid = 13,
};

class ThriftReader {
 public:
    explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

    [[nodiscard]] bool ok() const { return ok_; }

    /// Whether the fault is that the bytes end too early.
    [[nodiscard]] bool has_ended() const { return has_ended_; }

    [[nodiscard]] std::size_t position() const { return position_; }

    void fail() { ok_ = false; }

    /// Each of these takes the value of a field of this type; another type is a fault.
    std::int32_t i32(ThriftType type);
    std::int64_t i64(ThriftType type);
    bool boolean(ThriftType type);
    std::string_view binary(ThriftType type);
    /// Returns how many elements of this type follow.
    std::size_t list(ThriftType type, ThriftType element);

    void skip(ThriftType type);

 private:
    friend class ThriftFields;

    struct ListHeader {
        std::size_t count = 0;
        ThriftType element = ThriftType::Stop;
    };

    std::uint8_t byte();
    std::uint64_t varint();
    std::int64_t zigzag();
    std::string_view take(std::uint64_t bytes);
    ListHeader list_header();
    void skip(ThriftType type, unsigned depth);
    void skip_elements(ListHeader list, unsigned depth);
    void skip_map(unsigned depth);

    std::string_view bytes_;
    std::size_t position_ = 0;
    bool ok_ = true;
    bool has_ended_ = false;
};

/// Walks over the fields of the struct that follows.
class ThriftFields {
 public:
    explicit ThriftFields(ThriftReader& in, ThriftType type = ThriftType::Struct);

    /// Goes on to the next field; false at the end of the struct, and after a fault.
    bool next();

    [[nodiscard]] int id() const { return id_; }

    [[nodiscard]] ThriftType type() const { return type_; }

 private:
    ThriftReader& in_;
    int id_ = 0;
    ThriftType type_ = ThriftType::Stop;
};

}  // namespace swarm::data::parquet
