// The coordinator as a donor: its answers to FETCH, for chunks of the checkpoint from which the run
// goes on, and of the file of the run's tokenizer.
#include "swarm/coordinator/coordinator.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/state_chunk.hpp"

#include <algorithm>

namespace swarm::coordinator {

/// A client asks for the next chunk when it has the one before, so one chunk is under way.
void Coordinator::give_tokenizer(PeerId peer, const protocol::Fetch& fetch, node::Turn turn) {
    const std::uint64_t from = fetch.chunk.value_or(0) * protocol::kChunkBytes;
    if (options_.tokenizer.empty() || from > options_.tokenizer.size()) {
        const protocol::ChunkRefused refused{fetch.version, fetch.stage, fetch.chunk, false};
        return context_.peer_streams.post(peer, refused, {}, turn);
    }
    const auto file = std::as_bytes(std::span(options_.tokenizer)).subspan(from);
    const auto chunk = file.first(std::min<std::size_t>(file.size(), protocol::kChunkBytes));
    const auto size = static_cast<std::uint32_t>(chunk.size());
    node::Payload payload(
        {protocol::Dtype::Bytes, protocol::CodecId::None, {size}},
        std::vector<std::byte>(chunk.begin(), chunk.end())
    );
    const protocol::Chunk answer{fetch.version, fetch.stage, fetch.chunk};
    context_.peer_streams.post(peer, answer, std::move(payload), turn);
}

void Coordinator::take(PeerId peer, const protocol::Fetch& fetch, node::Turn turn) {
    if (fetch.tokenizer) {
        return give_tokenizer(peer, fetch, turn);
    }
    const bool have = options_.resume && options_.resume->version.step == fetch.version.step &&
                      fetch.stage.value < options_.resume->chunks.size();
    const protocol::ChunkRefused refused{fetch.version, fetch.stage, fetch.chunk, false};
    if (!have) {
        context_.peer_streams.post(peer, refused, {}, turn);
        return;
    }
    const std::vector<node::Payload>& chunks = options_.resume->chunks[fetch.stage.value];
    const protocol::Chunk answer{fetch.version, fetch.stage, fetch.chunk};
    if (!fetch.chunk) {
        std::vector<std::byte> manifest;
        for (const node::Payload& chunk : chunks) {
            const Digest digest = sha256(chunk.bytes());
            manifest.insert(manifest.end(), digest.bytes.begin(), digest.bytes.end());
        }
        const auto size = static_cast<std::uint32_t>(manifest.size());
        node::Payload payload(
            {protocol::Dtype::Bytes, protocol::CodecId::None, {size}}, std::move(manifest)
        );
        context_.peer_streams.post(peer, answer, std::move(payload), turn);
    } else if (*fetch.chunk < chunks.size()) {
        context_.peer_streams.post(peer, answer, run::pack_chunk(chunks[*fetch.chunk]), turn);
    } else {
        context_.peer_streams.post(peer, refused, {}, turn);
    }
}

}  // namespace swarm::coordinator
