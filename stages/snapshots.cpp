#include "stages/snapshots.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stages {
namespace {

node::Payload manifest_payload(const std::vector<swarm::Digest>& manifest) {
    std::vector<std::byte> bytes;
    bytes.reserve(manifest.size() * sizeof(swarm::Digest));
    for (const swarm::Digest& digest : manifest) {
        bytes.insert(bytes.end(), digest.bytes.begin(), digest.bytes.end());
    }
    const auto size = static_cast<std::uint32_t>(bytes.size());
    return {{protocol::Dtype::Bytes, protocol::CodecId::None, {size}}, std::move(bytes)};
}

}  // namespace

void Snapshots::freeze(ParameterVersion version, node::Turn turn) {
    const auto same = [&](const Snapshot& kept) { return kept.version == version; };
    if (std::any_of(kept_.begin(), kept_.end(), same)) {
        return;
    }
    if (kept_.size() == kSnapshotsMax) {
        kept_.pop_front();
    }
    kept_.push_back({version, nullptr, {}});

    struct Frozen {
        std::shared_ptr<const StageState> state;
        std::vector<swarm::Digest> manifest;
    };

    context_.device.submit_for<Frozen>(
        turn,
        0,
        [worker = context_.worker](Frozen& frozen) {
            frozen.state = std::make_shared<const StageState>(worker->state());
            frozen.manifest = frozen.state->manifest();
        },
        [this, version](Frozen& frozen, node::Turn) {
            const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Snapshot& kept) {
                return kept.version == version;
            });
            if (found != kept_.end() && frozen.state->version() == version) {
                found->state = std::move(frozen.state);
                found->manifest = std::move(frozen.manifest);
            }
        }
    );
}

void Snapshots::on(PeerId from, const protocol::Fetch& fetch, node::Turn turn) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Snapshot& kept) {
        return kept.version == fetch.version;
    });
    const bool ready =
        found != kept_.end() && found->state && context_.worker && fetch.stage == context_.stage();
    const bool chunk_exists = ready && (!fetch.chunk || *fetch.chunk < found->state->chunk_count());
    if (!chunk_exists) {
        // The commit that orders it may still be on its way, or on the device.
        const bool soon = context_.version && fetch.stage == context_.stage() &&
                          fetch.version.gen == context_.version->gen &&
                          fetch.version.step + 1 >= context_.version->step && !ready;
        ServerContext::send(
            from, protocol::ChunkRefused{fetch.version, fetch.stage, fetch.chunk, soon}, {}, turn
        );
        return;
    }
    node::Payload payload =
        fetch.chunk ? found->state->chunk(*fetch.chunk) : manifest_payload(found->manifest);
    ServerContext::send(
        from, protocol::Chunk{fetch.version, fetch.stage, fetch.chunk}, std::move(payload), turn
    );
}

}  // namespace stages
