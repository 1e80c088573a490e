#include "stacking/models/copies/file_manifest.hpp"

#include "stacking/models/limits.hpp"
#include "stacking/models/model_digest.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::protocol::kChunkBytes;
using swarm::protocol::kFileChunksMax;
using swarm::protocol::kManifestBytesMax;

namespace {

constexpr std::string_view kMagic = "swarm model files 1\n";
constexpr std::size_t kNameBytesMax = 200;

Error broken(std::string what) {
    return {ErrorCode::Malformed, Reaction::Reject, "manifest of a model: " + std::move(what)};
}

Error too_large(std::string what) {
    return {ErrorCode::TooLarge, Reaction::Reject, "manifest of a model: " + std::move(what)};
}

template <class Number>
void put(std::vector<std::byte>& out, Number number) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
        out.push_back(static_cast<std::byte>((number >> (8 * i)) & 0xffU));
    }
}

void put(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Takes values from the front. After the end all values are zero or empty, and ok() is false.
class Reader {
 public:
    explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

    std::span<const std::byte> take(std::size_t count) {
        ok_ = ok_ && count <= left_.size();
        const auto taken = left_.first(ok_ ? count : 0);
        left_ = left_.subspan(taken.size());
        return taken;
    }

    template <class Number>
    Number number() {
        Number value = 0;
        unsigned shift = 0;
        for (const std::byte byte : take(sizeof(Number))) {
            value = static_cast<Number>(value | std::to_integer<Number>(byte) << shift);
            shift += 8;
        }
        return value;
    }

    [[nodiscard]] std::size_t left() const { return left_.size(); }

    [[nodiscard]] bool ok() const { return ok_; }

 private:
    std::span<const std::byte> left_;
    bool ok_ = true;
};

Result<> read_files(Reader& from, FileManifest& manifest) {
    const auto count = from.number<std::uint32_t>();
    if (count == 0 || count > kModelFilesMax) {
        return too_large(std::to_string(count) + " files");
    }
    std::set<std::string> names;
    std::uint64_t chunks = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto name = from.take(from.number<std::uint8_t>());
        ManifestFile file;
        file.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
        file.size = from.number<std::uint64_t>();
        if (!from.ok() || !is_model_file_name(file.name) || !names.insert(file.name).second) {
            return broken("a file has no name that a model's file can have, or a second one has");
        }
        // The first comparison keeps the sum far from 2^64.
        if (file.size == 0 || chunks_of(file.size) > kFileChunksMax - chunks) {
            return too_large("file " + file.name + " is empty, or the files are too large");
        }
        chunks += chunks_of(file.size);
        manifest.files.push_back(std::move(file));
    }
    return {};
}

Result<> read_begins(Reader& from, FileManifest& manifest) {
    const auto count = from.number<std::uint32_t>();
    if (count > kTensorsMax) {
        return too_large(std::to_string(count) + " tensors");
    }
    std::pair<std::uint32_t, std::uint64_t> upto{0, 0};
    for (std::uint32_t i = 0; i < count && from.ok(); ++i) {
        TensorBegin begin;
        begin.file = from.number<std::uint32_t>();
        begin.offset = from.number<std::uint64_t>();
        const auto bytes = from.take(from.number<std::uint8_t>());
        begin.bytes.assign(bytes.begin(), bytes.end());
        const bool follows = std::pair(begin.file, begin.offset) >= upto;
        if (!follows || begin.file >= manifest.files.size() || bytes.empty() ||
            bytes.size() > kSampleBytes || begin.offset > manifest.files[begin.file].size ||
            bytes.size() > manifest.files[begin.file].size - begin.offset) {
            return broken("a tensor begins outside its file, or before the one that it follows");
        }
        upto = {begin.file, begin.offset + bytes.size()};
        manifest.begins.push_back(std::move(begin));
    }
    return {};
}

}  // namespace

std::uint64_t chunks_of(std::uint64_t file_bytes) {
    return file_bytes / kChunkBytes + (file_bytes % kChunkBytes == 0 ? 0 : 1);
}

bool is_model_file_name(std::string_view name) {
    const auto is_plain = [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
               (letter >= '0' && letter <= '9') || letter == '.' || letter == '-' || letter == '_';
    };
    const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
    return name.size() <= kNameBytesMax && !name.empty() && name.front() != '.' &&
           std::all_of(name.begin(), name.end(), is_plain) &&
           (has_weights(name) || ends(".json") || ends(".jinja") || ends(".model"));
}

bool has_weights(std::string_view name) {
    return name.ends_with(".gguf") || name.ends_with(".safetensors");
}

Result<FileManifest> FileManifest::decode(std::span<const std::byte> bytes) {
    if (bytes.size() > kManifestBytesMax) {
        return too_large(std::to_string(bytes.size()) + " bytes");
    }
    Reader from(bytes);
    const auto magic = from.take(kMagic.size());
    if (!from.ok() || std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) {
        return broken("it does not begin as one");
    }
    FileManifest manifest;
    SWARM_TRY(read_files(from, manifest));
    SWARM_TRY(read_begins(from, manifest));
    const std::size_t chunks = manifest.first_chunk(manifest.files.size());
    if (!from.ok() || from.left() != chunks * sizeof(swarm::Digest)) {
        return broken("it has not a hash for each of " + std::to_string(chunks) + " chunks");
    }
    manifest.chunks.resize(chunks);
    for (swarm::Digest& chunk : manifest.chunks) {
        std::ranges::copy(from.take(chunk.bytes.size()), chunk.bytes.begin());
    }
    return manifest;
}

std::vector<std::byte> FileManifest::encode() const {
    std::vector<std::byte> out;
    put(out, std::as_bytes(std::span(kMagic)));
    put(out, static_cast<std::uint32_t>(files.size()));
    for (const ManifestFile& file : files) {
        SWARM_ASSERT(is_model_file_name(file.name));
        put(out, static_cast<std::uint8_t>(file.name.size()));
        put(out, std::as_bytes(std::span(file.name)));
        put(out, file.size);
    }
    put(out, static_cast<std::uint32_t>(begins.size()));
    for (const TensorBegin& begin : begins) {
        put(out, begin.file);
        put(out, begin.offset);
        put(out, static_cast<std::uint8_t>(begin.bytes.size()));
        put(out, std::span<const std::byte>(begin.bytes));
    }
    for (const swarm::Digest& chunk : chunks) {
        put(out, std::span<const std::byte>(chunk.bytes));
    }
    return out;
}

std::uint32_t FileManifest::first_chunk(std::size_t file) const {
    std::uint64_t chunk = 0;
    for (std::size_t i = 0; i < file; ++i) {
        chunk += chunks_of(files[i].size);
    }
    return static_cast<std::uint32_t>(chunk);
}

FileRange FileManifest::place_of(std::uint32_t chunk) const {
    std::uint32_t file = 0;
    std::uint64_t within = chunk;
    while (within >= chunks_of(files[file].size)) {
        within -= chunks_of(files[file].size);
        ++file;
    }
    const std::uint64_t offset = within * kChunkBytes;
    return {file, offset, std::min<std::uint64_t>(kChunkBytes, files[file].size - offset)};
}

}  // namespace stacking::models
