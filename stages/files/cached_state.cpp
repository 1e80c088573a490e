#include "stages/files/cached_state.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <istream>
#include <string_view>
#include <utility>

namespace stages {
namespace {

namespace protocol = swarm::protocol;
using swarm::Digest;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::node::Payload;

constexpr std::string_view kMagic = "swrmstt1";
constexpr std::size_t kNumbers = 9;
constexpr std::uint64_t kStateBytesMax = protocol::kChunkBytes * protocol::kChunksMax;

Error unusable(const std::string& where) {
    return {ErrorCode::Malformed, Reaction::Reject, "the cached state is damaged: " + where};
}

Payload as_payload(std::vector<std::byte> bytes) {
    protocol::TensorEnvelope envelope;
    envelope.shape = {static_cast<std::uint32_t>(bytes.size())};
    return {std::move(envelope), std::move(bytes)};
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

void append_number(std::vector<std::byte>& to, std::uint64_t number) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
        to.push_back(static_cast<std::byte>(number >> shift & 0xffU));
    }
}

std::uint64_t number_at(std::span<const std::byte> bytes) {
    std::uint64_t number = 0;
    for (unsigned i = 0; i < 8; ++i) {
        number |= std::uint64_t{std::to_integer<std::uint8_t>(bytes[i])} << (8 * i);
    }
    return number;
}

Digest digest_at(std::span<const std::byte> bytes) {
    Digest digest;
    std::copy_n(bytes.begin(), digest.bytes.size(), digest.bytes.begin());
    return digest;
}

/// Appends `count` bytes of the file; false when the file ends before.
bool read_some(std::istream& file, std::uint64_t count, std::vector<std::byte>& to) {
    const std::size_t begin = to.size();
    to.resize(begin + count);
    file.read(reinterpret_cast<char*>(to.data() + begin), static_cast<std::streamsize>(count));
    return static_cast<bool>(file);
}

}  // namespace

std::vector<Payload> to_file(const CachedState& state) {
    std::uint64_t state_bytes = 0;
    std::vector<std::byte> manifest;
    for (const Payload& chunk : state.chunks) {
        state_bytes += chunk.bytes().size();
        append(manifest, swarm::sha256(chunk.bytes()).bytes);
    }
    std::vector<std::byte> head;
    append(head, std::as_bytes(std::span(kMagic)));
    for (const std::uint64_t word : state.coordinator.words) {
        append_number(head, word);
    }
    append_number(head, state.version.gen);
    append_number(head, state.version.step);
    append_number(head, state.stage.value);
    append_number(head, state.run_file.size());
    append_number(head, state_bytes);
    append(head, std::as_bytes(std::span(state.run_file)));
    append(head, manifest);
    append(head, swarm::sha256(head).bytes);
    std::vector<Payload> parts{as_payload(std::move(head))};
    parts.insert(parts.end(), state.chunks.begin(), state.chunks.end());
    return parts;
}

std::vector<Payload> to_chunks(std::span<const float> values) {
    std::vector<Payload> chunks;
    const std::span<const std::byte> bytes = std::as_bytes(values);
    for (std::size_t begin = 0; begin < bytes.size(); begin += protocol::kChunkBytes) {
        const auto rest = bytes.subspan(begin);
        const auto chunk = rest.first(std::min<std::size_t>(protocol::kChunkBytes, rest.size()));
        chunks.push_back(as_payload({chunk.begin(), chunk.end()}));
    }
    return chunks;
}

std::optional<std::vector<float>> to_values(const CachedState& state, std::uint64_t count) {
    std::uint64_t bytes = 0;
    for (const Payload& chunk : state.chunks) {
        bytes += chunk.bytes().size();
    }
    if (bytes % sizeof(float) != 0 || bytes / sizeof(float) != count) {
        return std::nullopt;
    }
    std::vector<float> values(count);
    std::span<std::byte> to = std::as_writable_bytes(std::span(values));
    for (const Payload& chunk : state.chunks) {
        std::ranges::copy(chunk.bytes(), to.begin());
        to = to.subspan(chunk.bytes().size());
    }
    return values;
}

swarm::Result<CachedState> parse_cached_state(std::istream& file) {
    constexpr std::size_t kDigestBytes = sizeof(Digest::bytes);
    std::vector<std::byte> head;
    const std::uint64_t fixed = kMagic.size() + 8 * kNumbers;
    if (!read_some(file, fixed, head) ||
        !std::equal(kMagic.begin(), kMagic.end(), head.begin(), [](char a, std::byte b) {
            return static_cast<std::byte>(a) == b;
        })) {
        return unusable("it does not begin as one");
    }
    std::array<std::uint64_t, kNumbers> numbers{};
    for (std::size_t i = 0; i < kNumbers; ++i) {
        numbers[i] = number_at(std::span(head).subspan(kMagic.size() + 8 * i));
    }
    const auto [word0, word1, word2, word3, gen, step, stage, run_bytes, state_bytes] = numbers;
    if (run_bytes > protocol::kRunFileBytesMax || state_bytes > kStateBytesMax) {
        return unusable("its sizes are none");
    }
    const std::uint64_t chunks = (state_bytes + protocol::kChunkBytes - 1) / protocol::kChunkBytes;
    if (!read_some(file, run_bytes + (chunks + 1) * kDigestBytes, head)) {
        return unusable("it is cut short");
    }
    const std::span<const std::byte> whole(head);
    const std::size_t manifest = fixed + run_bytes;
    const std::size_t sealed = manifest + chunks * kDigestBytes;
    if (swarm::sha256(whole.first(sealed)) != digest_at(whole.subspan(sealed))) {
        return unusable("its head has another hash");
    }
    CachedState state;
    state.coordinator = {{word0, word1, word2, word3}};
    state.version = {static_cast<std::uint32_t>(gen), step};
    state.stage = {static_cast<std::uint32_t>(stage)};
    const auto text = whole.subspan(fixed, run_bytes);
    state.run_file.assign(reinterpret_cast<const char*>(text.data()), text.size());
    for (std::uint64_t i = 0; i < chunks; ++i) {
        std::vector<std::byte> chunk;
        const std::uint64_t rest = state_bytes - i * protocol::kChunkBytes;
        const bool read = read_some(file, std::min(protocol::kChunkBytes, rest), chunk);
        const auto hash = digest_at(whole.subspan(manifest + i * kDigestBytes));
        if (!read || swarm::sha256(chunk) != hash) {
            return unusable("chunk " + std::to_string(i) + " has another hash");
        }
        state.chunks.push_back(as_payload(std::move(chunk)));
    }
    return state;
}

swarm::Result<CachedState> read_cached_state(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return Error{
            ErrorCode::NotFound, Reaction::Reject, "there is no cached state at " + path.string()};
    }
    return parse_cached_state(file);
}

}  // namespace stages
