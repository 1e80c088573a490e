#include "stacking/tokenizer_fetch.hpp"

#include "swarm/base/digest.hpp"
#include "swarm/protocol/limits.hpp"

namespace stacking {

namespace protocol = swarm::protocol;

std::uint32_t TokenizerFetch::next_chunk() const {
    return static_cast<std::uint32_t>(file_.size() / protocol::kChunkBytes);
}

protocol::Fetch TokenizerFetch::question() const {
    protocol::Fetch fetch;
    fetch.chunk = next_chunk();
    fetch.tokenizer = true;
    return fetch;
}

bool TokenizerFetch::take(const protocol::Chunk& chunk, std::span<const std::byte> bytes) {
    if (!is_asking() || chunk.chunk != next_chunk()) {
        return false;  // the answer to a question that was repeated
    }
    if (bytes.size() > protocol::kChunkBytes ||
        file_.size() + bytes.size() > protocol::kTokenizerBytesMax) {
        failure_ = "the coordinator sends a tokenizer that is too large";
        return true;
    }
    file_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (bytes.size() < protocol::kChunkBytes) {
        whole_ = to_hex(swarm::sha256(std::as_bytes(std::span(file_)))) == sha256_;
        failure_ = whole_ ? "" : "the coordinator sends another tokenizer than its run file names";
    }
    return true;
}

bool TokenizerFetch::take(const protocol::ChunkRefused& refused) {
    if (!is_asking() || refused.chunk != next_chunk()) {
        return false;
    }
    failure_ = "the coordinator does not have the tokenizer of its run";
    return true;
}

}  // namespace stacking
