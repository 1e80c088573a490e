#include "stages/server/snapshots.hpp"

#include "swarm/run/state_chunk.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
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

/// The state for a newcomer of mode sparse: the shared weights, with this replica's moments.
StageState with_weights(StageState state, std::span<const float> weights) {
    state.set_weights(weights);
    return state;
}

}  // namespace

Snapshots::Snapshot* Snapshots::find(ParameterVersion version) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Snapshot& kept) {
        return kept.version == version;
    });
    return found == kept_.end() ? nullptr : &*found;
}

bool Snapshots::has_room() const {
    return kept_.size() < kSnapshotsMax && context_.memory.has_room_for_snapshots(kept_.size() + 1);
}

void Snapshots::divide_memory(node::Turn turn) {
    const auto room = context_.memory.graph_room_bytes(kept_.size());
    if (room && context_.worker) {
        context_.device.submit(turn, 0, [worker = context_.worker, bytes = *room] {
            worker->set_graph_room(bytes);
        });
    }
}

void Snapshots::forget_idle(node::Turn turn) {
    const auto forgotten = [&](const Snapshot& kept) {
        return kept.used_at + kForgottenAfter <= turn.now;
    };
    if (std::erase_if(kept_, forgotten) > 0) {
        divide_memory(turn);
    }
}

void Snapshots::forget_all(node::Turn turn) {
    owed_.reset();
    if (!kept_.empty()) {
        kept_.clear();
        divide_memory(turn);
    }
}

void Snapshots::freeze(ParameterVersion version, node::Turn turn) {
    if (find(version) != nullptr) {
        return;
    }
    owed_ = version;
    if (!has_room()) {
        const auto idlest =
            std::min_element(kept_.begin(), kept_.end(), [](const Snapshot& a, const Snapshot& b) {
                return a.used_at < b.used_at;
            });
        if (idlest == kept_.end() || idlest->used_at + kInUseFor > turn.now) {
            return;
        }
        kept_.erase(idlest);
    }
    owed_.reset();
    kept_.push_back({version, turn.now, nullptr, {}});
    divide_memory(turn);

    struct Frozen {
        std::shared_ptr<const StageState> state;
        std::vector<swarm::Digest> manifest;
    };

    context_.device.submit_for<Frozen>(
        turn,
        0,
        [worker = context_.worker, replica = context_.replica](Frozen& frozen) {
            frozen.state = std::make_shared<const StageState>(
                replica ? with_weights(worker->state(), *replica->shared()) : worker->state()
            );
            frozen.manifest = frozen.state->manifest();
        },
        [this, version](Frozen& frozen, node::Turn) {
            Snapshot* const found = find(version);
            if (found != nullptr && frozen.state->version() == version) {
                found->state = std::move(frozen.state);
                found->manifest = std::move(frozen.manifest);
            }
        }
    );
}

bool Snapshots::spend(Pace pace, TimePoint now) {
    if (spent_until_ > now + kBurst) {
        return false;
    }
    spent_until_ =
        std::max(spent_until_, now) + (pace == Pace::Full ? kPerChunk : kPerChunkBesideReduction);
    return true;
}

void Snapshots::on(PeerId from, const protocol::Fetch& fetch, Pace pace, node::Turn turn) {
    if (owed_ == fetch.version && context_.version == fetch.version && !context_.applying) {
        freeze(fetch.version, turn);  // there may be room meanwhile
    }
    Snapshot* const found = find(fetch.version);
    const bool ready =
        found != nullptr && found->state && context_.worker && fetch.stage == context_.stage();
    const bool chunk_exists = ready && (!fetch.chunk || *fetch.chunk < found->state->chunk_count());
    if (!chunk_exists) {
        // The commit that orders this snapshot may still be on its way, or on the device.
        const bool soon = context_.version && fetch.stage == context_.stage() &&
                          fetch.version.gen == context_.version->gen &&
                          fetch.version.step + 1 >= context_.version->step && !ready;
        ServerContext::send(
            from, protocol::ChunkRefused{fetch.version, fetch.stage, fetch.chunk, soon}, {}, turn
        );
        return;
    }
    found->used_at = turn.now;
    if (!spend(pace, turn.now)) {
        ServerContext::send(
            from, protocol::ChunkRefused{fetch.version, fetch.stage, fetch.chunk, true}, {}, turn
        );
        return;
    }
    node::Payload payload = fetch.chunk ? swarm::run::pack_chunk(found->state->chunk(*fetch.chunk))
                                        : manifest_payload(found->manifest);
    ServerContext::send(
        from, protocol::Chunk{fetch.version, fetch.stage, fetch.chunk}, std::move(payload), turn
    );
}

}  // namespace stages
