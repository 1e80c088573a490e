#include "stages/state_fetch.hpp"

#include "swarm/base/check.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace stages {

using swarm::Digest;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::node::Payload;

namespace {

constexpr std::size_t kDigestBytes = sizeof(Digest::bytes);

Error mismatch(std::string detail) {
    return {ErrorCode::Mismatch, Reaction::Reject, std::move(detail) + "; ask another donor"};
}

std::uint32_t chunk_count(const swarm::run::StageLayout& layout) {
    constexpr std::uint64_t kChunk = swarm::protocol::kChunkBytes;
    return static_cast<std::uint32_t>((12 * layout.elements() + kChunk - 1) / kChunk);
}

}  // namespace

StateSnapshot::StateSnapshot(StageState state)
    : state_(std::move(state)), manifest_(state_.manifest()) {}

Result<Payload> StateSnapshot::read(std::optional<std::uint32_t> chunk) const {
    if (!chunk) {
        std::vector<std::byte> bytes;
        for (const Digest& digest : manifest_) {
            bytes.insert(bytes.end(), digest.bytes.begin(), digest.bytes.end());
        }
        swarm::protocol::TensorEnvelope envelope;
        envelope.shape = {static_cast<std::uint32_t>(bytes.size())};
        return Payload(std::move(envelope), std::move(bytes));
    }
    if (*chunk >= manifest_.size()) {
        return mismatch("there is no state chunk " + std::to_string(*chunk));
    }
    return state_.chunk(*chunk);
}

StateDownload::StateDownload(
    swarm::run::StageLayout layout, swarm::ParameterVersion version, std::optional<Digest> expected
)
    : layout_(std::move(layout)),
      version_(version),
      expected_(expected),
      total_(chunk_count(layout_)) {}

Result<> StateDownload::take_manifest(const Payload& payload) {
    if (has_manifest()) {
        return {};
    }
    const std::span<const std::byte> bytes = payload.bytes();
    if (bytes.size() != total_ * kDigestBytes) {
        return mismatch(
            "a state manifest of " + std::to_string(bytes.size()) + " bytes, not " +
            std::to_string(total_ * kDigestBytes)
        );
    }
    std::vector<Digest> manifest(total_);
    for (std::size_t i = 0; i < manifest.size(); ++i) {
        std::memcpy(manifest[i].bytes.data(), bytes.data() + i * kDigestBytes, kDigestBytes);
    }
    if (expected_ && manifest_hash(manifest) != *expected_) {
        return mismatch("a state manifest whose hash is not that of the log");
    }
    manifest_ = std::move(manifest);
    chunks_.resize(total_);
    ask_all_again();
    return {};
}

std::optional<std::uint32_t> StateDownload::next_to_ask() {
    if (wanted_.empty()) {
        return {};
    }
    return wanted_.extract(wanted_.begin()).value();
}

void StateDownload::ask_again(std::uint32_t chunk) {
    if (chunk < chunks_.size() && chunks_[chunk].empty()) {
        wanted_.insert(chunk);
    }
}

void StateDownload::ask_all_again() {
    for (std::uint32_t chunk = 0; chunk < chunks_.size(); ++chunk) {
        ask_again(chunk);
    }
}

Result<> StateDownload::take_chunk(std::uint32_t chunk, const Payload& payload) {
    if (chunk >= chunks_.size()) {
        return mismatch("state chunk " + std::to_string(chunk) + ", which was not asked for");
    }
    if (!chunks_[chunk].empty()) {
        return {};
    }
    if (payload.empty() || swarm::sha256(payload.bytes()) != manifest_[chunk]) {
        ask_again(chunk);
        return mismatch("state chunk " + std::to_string(chunk) + " does not fit the manifest");
    }
    chunks_[chunk] = payload;
    wanted_.erase(chunk);
    ++here_;
    return {};
}

Result<StageState> StateDownload::finish() {
    SWARM_ASSERT(complete());
    auto state = StageState::from_chunks(layout_, version_, chunks_);
    chunks_.clear();
    manifest_.clear();
    return state;
}

}  // namespace stages
