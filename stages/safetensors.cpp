#include "stages/safetensors.hpp"

#include "stages/strict_json.hpp"
#include "swarm/base/check.hpp"

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

static_assert(
    std::endian::native == std::endian::little, "values are written as they lie in memory"
);

namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kAlignment = 8;
constexpr std::uint64_t kHeaderBytesMax = 16ULL << 20;
constexpr const char* kMetadata = "__metadata__";

Error malformed(const std::string& what) {
    return {
        ErrorCode::Malformed,
        Reaction::Reject,
        "safetensors: " + what + "; the file is damaged or not of this format"};
}

/// One entry of the header, checked on its own.
struct Entry {
    std::string name;
    std::vector<std::uint32_t> shape;
    std::uint64_t begin = 0;  // in the buffer, in bytes
    std::uint64_t end = 0;
};

/// A number that is a whole one from 0 to `largest`.
Result<std::uint64_t> to_count(const json::value& value, std::uint64_t largest) {
    std::uint64_t count = 0;
    if (value.is_int64() && value.get_int64() >= 0) {
        count = static_cast<std::uint64_t>(value.get_int64());
    } else if (value.is_uint64()) {
        count = value.get_uint64();
    } else {
        return malformed("a size is not a whole number");
    }
    if (count > largest) {
        return malformed("a size is too large");
    }
    return count;
}

const json::array* find_array(const json::object& object, const char* key) {
    const json::value* const value = object.if_contains(key);
    return value != nullptr ? value->if_array() : nullptr;
}

Result<> read_shape(const json::array& dimensions, Entry& entry) {
    std::uint64_t bytes = sizeof(float);
    for (const json::value& dimension : dimensions) {
        const auto size = to_count(dimension, std::numeric_limits<std::uint32_t>::max());
        if (size.has_error()) {
            return size.error();
        }
        if (*size != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / *size) {
            return malformed("the shape of " + entry.name + " overflows");
        }
        bytes *= *size;
        entry.shape.push_back(static_cast<std::uint32_t>(*size));
    }
    if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
        return malformed("the offsets of " + entry.name + " do not fit its shape");
    }
    return {};
}

Result<Entry> read_entry(std::string name, const json::value& value, std::uint64_t buffer_bytes) {
    const json::object* const object = value.if_object();
    if (object == nullptr) {
        return malformed("the entry of " + name + " is no object");
    }
    const json::value* const dtype = object->if_contains("dtype");
    const json::array* const shape = find_array(*object, "shape");
    const json::array* const offsets = find_array(*object, "data_offsets");
    if (dtype == nullptr || !dtype->is_string() || shape == nullptr || offsets == nullptr ||
        offsets->size() != 2 || object->size() != 3) {
        return malformed("the entry of " + name + " is not {dtype, shape, data_offsets}");
    }
    if (dtype->get_string() != "F32") {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            "safetensors: " + name + " is " + std::string(dtype->get_string().c_str()) +
                "; only F32 can be read, convert the file"};
    }
    Entry entry;
    entry.name = std::move(name);
    for (const auto& [place, at] : {std::pair(&entry.begin, 0U), std::pair(&entry.end, 1U)}) {
        const auto offset = to_count((*offsets)[at], buffer_bytes);
        if (offset.has_error()) {
            return malformed("an offset of " + entry.name + " lies outside the file");
        }
        *place = *offset;
    }
    if (const auto fits = read_shape(*shape, entry); fits.has_error()) {
        return fits.error();
    }
    return entry;
}

Result<std::vector<Entry>> read_header(std::string_view text, std::uint64_t buffer_bytes) {
    const auto parsed = parse_strict_json(text);
    if (parsed.has_error()) {
        return malformed("the header is bad: " + parsed.error().detail);
    }
    const json::object* const header = parsed->if_object();
    if (header == nullptr) {
        return malformed("the header is no object");
    }
    std::vector<Entry> entries;
    for (const auto& member : *header) {
        if (member.key() == kMetadata) {
            continue;
        }
        auto entry = read_entry(std::string(member.key()), member.value(), buffer_bytes);
        if (entry.has_error()) {
            return entry.error();
        }
        entries.push_back(std::move(*entry));
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& left, const Entry& right) {
        return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
    });
    std::uint64_t next = 0;
    for (const Entry& entry : entries) {
        if (entry.begin != next) {
            return malformed("a hole or an overlap before " + entry.name);
        }
        next = entry.end;
    }
    if (next != buffer_bytes) {
        return malformed("bytes after the last tensor");
    }
    return entries;
}

}  // namespace

std::vector<std::byte> write_safetensors(std::span<const NamedTensor> tensors) {
    json::object header;
    std::uint64_t offset = 0;
    for (const NamedTensor& tensor : tensors) {
        SWARM_ASSERT(tensor.name != kMetadata && !header.contains(tensor.name));
        const std::uint64_t end = offset + tensor.values.size_bytes();
        json::array shape(tensor.shape.begin(), tensor.shape.end());
        header[tensor.name] = {
            {"dtype", "F32"}, {"shape", std::move(shape)}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = json::serialize(header);
    text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');

    std::vector<std::byte> file(kLengthBytes + text.size() + offset);
    const std::uint64_t length = text.size();
    std::memcpy(file.data(), &length, kLengthBytes);
    std::memcpy(file.data() + kLengthBytes, text.data(), text.size());
    auto place = file.begin() + static_cast<std::ptrdiff_t>(kLengthBytes + text.size());
    for (const NamedTensor& tensor : tensors) {
        const auto bytes = std::as_bytes(tensor.values);
        place = std::copy(bytes.begin(), bytes.end(), place);
    }
    return file;
}

Result<Safetensors> Safetensors::parse(std::span<const std::byte> file) {
    if (file.size() < kLengthBytes) {
        return malformed("shorter than its header length");
    }
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), kLengthBytes);
    if (length > kHeaderBytesMax) {
        return Error{
            ErrorCode::TooLarge,
            Reaction::Reject,
            "safetensors: a header of " + std::to_string(length) + " bytes; at most " +
                std::to_string(kHeaderBytesMax) + " are read"};
    }
    if (length > file.size() - kLengthBytes) {
        return malformed("shorter than its header");
    }
    const auto header = file.subspan(kLengthBytes, length);
    const auto buffer = file.subspan(kLengthBytes + length);
    const auto entries =
        read_header({reinterpret_cast<const char*>(header.data()), header.size()}, buffer.size());
    if (entries.has_error()) {
        return entries.error();
    }
    Safetensors parsed;
    parsed.values_.resize(buffer.size() / sizeof(float));
    std::copy(
        buffer.begin(), buffer.end(), std::as_writable_bytes(std::span(parsed.values_)).begin()
    );
    for (const Entry& entry : *entries) {
        const std::size_t begin = entry.begin / sizeof(float);
        const std::size_t count = (entry.end - entry.begin) / sizeof(float);
        const auto values = std::span<const float>(parsed.values_).subspan(begin, count);
        parsed.tensors_.emplace(entry.name, NamedTensor{entry.name, entry.shape, values});
    }
    return parsed;
}

const NamedTensor* Safetensors::find(std::string_view name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace stages
