#include "swarm/data/parquet/thrift_reader.hpp"

#include "swarm/data/limits.hpp"

#include <limits>

namespace swarm::data::parquet {
namespace {

constexpr unsigned kVarintBitsMax = 63;  // the shift of a tenth byte
constexpr std::uint8_t kTypeBits = 0x0F;
constexpr std::size_t kLongList = 15;  // the count follows as a varint

bool is_boolean(ThriftType type) {
    return type == ThriftType::True || type == ThriftType::False;
}

}  // namespace

std::uint8_t ThriftReader::byte() {
    const std::string_view one = take(1);
    return one.empty() ? 0 : static_cast<std::uint8_t>(one[0]);
}

std::string_view ThriftReader::take(std::uint64_t bytes) {
    if (!ok_) {
        return {};
    }
    if (bytes > bytes_.size() - position_) {
        ok_ = false;
        has_ended_ = true;
        return {};
    }
    const std::string_view taken = bytes_.substr(position_, bytes);
    position_ += bytes;
    return taken;
}

std::uint64_t ThriftReader::varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift <= kVarintBitsMax && ok_; shift += 7) {
        const std::uint8_t next = byte();
        value |= std::uint64_t{next & 0x7FU} << shift;
        if ((next & 0x80U) == 0) {
            return value;
        }
    }
    fail();
    return 0;
}

std::int64_t ThriftReader::zigzag() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

std::int64_t ThriftReader::i64(ThriftType type) {
    if (type != ThriftType::I64 && type != ThriftType::I32 && type != ThriftType::I16) {
        fail();
        return 0;
    }
    return zigzag();
}

std::int32_t ThriftReader::i32(ThriftType type) {
    const std::int64_t value = i64(type);
    if (value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max()) {
        fail();
        return 0;
    }
    return static_cast<std::int32_t>(value);
}

bool ThriftReader::boolean(ThriftType type) {
    if (!is_boolean(type)) {
        fail();
    }
    return type == ThriftType::True;
}

std::string_view ThriftReader::binary(ThriftType type) {
    if (type != ThriftType::Binary) {
        fail();
        return {};
    }
    const std::uint64_t bytes = varint();
    return take(bytes);
}

ThriftReader::ListHeader ThriftReader::list_header() {
    const std::uint8_t head = byte();
    ListHeader list{std::size_t{head} >> 4, static_cast<ThriftType>(head & kTypeBits)};
    if (list.count == kLongList) {
        list.count = varint();
    }
    // Each element has a byte at least.
    if (list.count > bytes_.size() - position_) {
        has_ended_ = ok_;
        fail();
    }
    return ok_ ? list : ListHeader{};
}

std::size_t ThriftReader::list(ThriftType type, ThriftType element) {
    if (type != ThriftType::List) {
        fail();
        return 0;
    }
    const ListHeader list = list_header();
    if (list.count > 0 && list.element != element) {
        fail();
        return 0;
    }
    return list.count;
}

void ThriftReader::skip(ThriftType type) {
    skip(type, 0);
}

void ThriftReader::skip_elements(ListHeader list, unsigned depth) {
    for (std::size_t i = 0; i < list.count && ok_; ++i) {
        // A boolean is its type in a field, and a byte in a list.
        skip(is_boolean(list.element) ? ThriftType::I8 : list.element, depth);
    }
}

void ThriftReader::skip_map(unsigned depth) {
    const std::uint64_t count = varint();
    if (count == 0) {
        return;
    }
    const std::uint8_t types = byte();
    const auto key = static_cast<ThriftType>(types >> 4);
    const auto value = static_cast<ThriftType>(types & kTypeBits);
    for (std::uint64_t i = 0; i < count && ok_; ++i) {
        skip_elements({1, key}, depth);
        skip_elements({1, value}, depth);
    }
}

void ThriftReader::skip(ThriftType type, unsigned depth) {
    if (depth > kThriftDepthMax) {
        fail();
        return;
    }
    switch (type) {
        case ThriftType::True:
        case ThriftType::False:
            return;
        case ThriftType::I8:
            byte();
            return;
        case ThriftType::I16:
        case ThriftType::I32:
        case ThriftType::I64:
            varint();
            return;
        case ThriftType::Double:
            take(8);
            return;
        case ThriftType::Uuid:
            take(16);
            return;
        case ThriftType::Binary:
            binary(type);
            return;
        case ThriftType::List:
        case ThriftType::Set:
            skip_elements(list_header(), depth + 1);
            return;
        case ThriftType::Map:
            skip_map(depth + 1);
            return;
        case ThriftType::Struct: {
            ThriftFields fields(*this);
            while (fields.next()) {
                skip(fields.type(), depth + 1);
            }
            return;
        }
        case ThriftType::Stop:
            break;
    }
    fail();
}

ThriftFields::ThriftFields(ThriftReader& in, ThriftType type) : in_(in) {
    if (type != ThriftType::Struct) {
        in_.fail();
    }
}

bool ThriftFields::next() {
    const std::uint8_t head = in_.byte();
    type_ = static_cast<ThriftType>(head & kTypeBits);
    if (!in_.ok() || type_ == ThriftType::Stop) {
        return false;
    }
    const int step = head >> 4;
    const std::int64_t id = step > 0 ? id_ + step : in_.zigzag();
    if (id < 0 || id > std::numeric_limits<std::int16_t>::max()) {
        in_.fail();
    }
    id_ = static_cast<int>(id);
    return in_.ok();
}

}  // namespace swarm::data::parquet
