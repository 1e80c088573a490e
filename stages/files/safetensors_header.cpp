#include "stages/files/safetensors_header.hpp"

#include "stages/files/strict_json.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace stages {

namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

static_assert(std::endian::native == std::endian::little, "the length is little-endian");

namespace {

constexpr std::size_t kAlignment = 8;
constexpr const char* kMetadata = "__metadata__";

Error damaged(const std::string& what) {
    return {
        ErrorCode::Malformed,
        Reaction::Reject,
        "safetensors: " + what + "; the file is damaged or not of this format"};
}

using Entry = SafetensorsEntry;

/// Bytes of one element; 0 for an unknown dtype.
std::uint64_t bytes_per_element(std::string_view dtype) {
    struct Size {
        std::string_view dtype;
        std::uint64_t bytes;
    };

    static constexpr Size kSizes[] = {
        {"BOOL", 1},
        {"U8", 1},
        {"I8", 1},
        {"F8_E4M3", 1},
        {"F8_E5M2", 1},
        {"U16", 2},
        {"I16", 2},
        {"F16", 2},
        {"BF16", 2},
        {"U32", 4},
        {"I32", 4},
        {"F32", 4},
        {"U64", 8},
        {"I64", 8},
        {"F64", 8}};
    for (const Size& size : kSizes) {
        if (size.dtype == dtype) {
            return size.bytes;
        }
    }
    return 0;
}

/// Reads a whole number from 0 to `largest`.
Result<std::uint64_t> to_count(const json::value& value, std::uint64_t largest) {
    std::uint64_t count = 0;
    if (value.is_int64() && value.get_int64() >= 0) {
        count = static_cast<std::uint64_t>(value.get_int64());
    } else if (value.is_uint64()) {
        count = value.get_uint64();
    } else {
        return damaged("a size is not a whole number");
    }
    if (count > largest) {
        return damaged("a size is too large");
    }
    return count;
}

const json::array* find_array(const json::object& object, const char* key) {
    const json::value* const value = object.if_contains(key);
    return value != nullptr ? value->if_array() : nullptr;
}

Result<> read_shape(const json::array& dimensions, Entry& entry) {
    std::uint64_t bytes = bytes_per_element(entry.dtype);
    for (const json::value& dimension : dimensions) {
        SWARM_TRY(const auto size, to_count(dimension, std::numeric_limits<std::uint32_t>::max()));
        if (size != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / size) {
            return damaged("the shape of " + entry.name + " overflows");
        }
        bytes *= size;
        entry.shape.push_back(static_cast<std::uint32_t>(size));
    }
    if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
        return damaged("the offsets of " + entry.name + " do not fit its shape");
    }
    return {};
}

Result<Entry> read_entry(std::string name, const json::value& value, std::uint64_t buffer_bytes) {
    const json::object* const object = value.if_object();
    if (object == nullptr) {
        return damaged("the entry of " + name + " is no object");
    }
    const json::value* const dtype = object->if_contains("dtype");
    const json::array* const shape = find_array(*object, "shape");
    const json::array* const offsets = find_array(*object, "data_offsets");
    if (dtype == nullptr || !dtype->is_string() || shape == nullptr || offsets == nullptr ||
        offsets->size() != 2 || object->size() != 3) {
        return damaged("the entry of " + name + " is not {dtype, shape, data_offsets}");
    }
    Entry entry;
    entry.name = std::move(name);
    entry.dtype = dtype->get_string().c_str();
    if (bytes_per_element(entry.dtype) == 0) {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            "safetensors: " + entry.name + " is of the unknown type " + entry.dtype};
    }
    for (const auto& [place, at] : {std::pair(&entry.begin, 0U), std::pair(&entry.end, 1U)}) {
        const auto offset = to_count((*offsets)[at], buffer_bytes);
        if (offset.has_error()) {
            return damaged("an offset of " + entry.name + " lies outside the file");
        }
        *place = *offset;
    }
    SWARM_TRY(read_shape(*shape, entry));
    return entry;
}

}  // namespace

Result<std::uint64_t> read_safetensors_length(
    std::span<const std::byte, kSafetensorsLengthBytes> bytes, std::uint64_t file_bytes
) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), bytes.size());
    if (length > kSafetensorsHeaderBytesMax) {
        return Error{
            ErrorCode::TooLarge,
            Reaction::Reject,
            "safetensors: a header of " + std::to_string(length) + " bytes; at most " +
                std::to_string(kSafetensorsHeaderBytesMax) + " are read"};
    }
    if (file_bytes < bytes.size() || length > file_bytes - bytes.size()) {
        return damaged("shorter than its header");
    }
    return length;
}

Result<std::vector<Entry>> parse_safetensors_header(
    std::string_view text, std::uint64_t buffer_bytes
) {
    const auto parsed = parse_strict_json(text);
    if (parsed.has_error()) {
        return damaged("the header is bad: " + parsed.error().detail);
    }
    const json::object* const header = parsed->if_object();
    if (header == nullptr) {
        return damaged("the header is no object");
    }
    std::vector<Entry> entries;
    for (const auto& member : *header) {
        if (member.key() == kMetadata) {
            continue;
        }
        SWARM_TRY(auto entry, read_entry(std::string(member.key()), member.value(), buffer_bytes));
        entries.push_back(std::move(entry));
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& left, const Entry& right) {
        return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
    });
    std::uint64_t next = 0;
    for (const Entry& entry : entries) {
        if (entry.begin != next) {
            return damaged("a hole or an overlap before " + entry.name);
        }
        next = entry.end;
    }
    if (next != buffer_bytes) {
        return damaged("bytes after the last tensor");
    }
    return entries;
}

std::string make_safetensors_header(
    std::span<const SafetensorsEntry> entries, std::string_view format
) {
    json::object header;
    if (!format.empty()) {
        header[kMetadata] = {{"format", json::string_view(format.data(), format.size())}};
    }
    for (const SafetensorsEntry& entry : entries) {
        SWARM_ASSERT(entry.name != kMetadata && !header.contains(entry.name));
        json::array shape(entry.shape.begin(), entry.shape.end());
        header[entry.name] = {
            {"dtype", entry.dtype},
            {"shape", std::move(shape)},
            {"data_offsets", {entry.begin, entry.end}}};
    }
    std::string text = json::serialize(header);
    text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
    const std::uint64_t length = text.size();
    std::string bytes(kSafetensorsLengthBytes, '\0');
    std::memcpy(bytes.data(), &length, kSafetensorsLengthBytes);
    return bytes + text;
}

}  // namespace stages
