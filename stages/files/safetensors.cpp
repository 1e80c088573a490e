#include "stages/files/safetensors.hpp"

#include "stages/files/safetensors_header.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace stages {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

static_assert(
    std::endian::native == std::endian::little, "values are written as they lie in memory"
);

std::vector<std::byte> write_safetensors(std::span<const NamedTensor> tensors) {
    std::vector<SafetensorsEntry> entries;
    std::uint64_t offset = 0;
    for (const NamedTensor& tensor : tensors) {
        const std::uint64_t end = offset + tensor.values.size_bytes();
        entries.push_back({tensor.name, "F32", tensor.shape, offset, end});
        offset = end;
    }
    const std::string header = make_safetensors_header(entries, "");
    std::vector<std::byte> file(header.size() + offset);
    std::memcpy(file.data(), header.data(), header.size());
    auto place = file.begin() + static_cast<std::ptrdiff_t>(header.size());
    for (const NamedTensor& tensor : tensors) {
        const auto bytes = std::as_bytes(tensor.values);
        place = std::copy(bytes.begin(), bytes.end(), place);
    }
    return file;
}

Result<Safetensors> Safetensors::parse(std::span<const std::byte> file) {
    if (file.size() < kSafetensorsLengthBytes) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            "safetensors: shorter than its header length; the file is damaged"};
    }
    SWARM_TRY(
        const auto length,
        read_safetensors_length(file.first<kSafetensorsLengthBytes>(), file.size())
    );
    const auto header = file.subspan(kSafetensorsLengthBytes, length);
    const auto buffer = file.subspan(kSafetensorsLengthBytes + length);
    SWARM_TRY(
        const auto entries,
        parse_safetensors_header(
            {reinterpret_cast<const char*>(header.data()), header.size()}, buffer.size()
        )
    );
    for (const SafetensorsEntry& entry : entries) {
        if (entry.dtype != "F32") {
            return Error{
                ErrorCode::Unsupported,
                Reaction::Reject,
                "safetensors: " + entry.name + " is " + entry.dtype +
                    "; only F32 can be read here, convert the file"};
        }
    }
    Safetensors parsed;
    parsed.values_.resize(buffer.size() / sizeof(float));
    std::copy(
        buffer.begin(), buffer.end(), std::as_writable_bytes(std::span(parsed.values_)).begin()
    );
    for (const SafetensorsEntry& entry : entries) {
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
