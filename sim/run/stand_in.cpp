#include "sim/run/stand_in.hpp"

#include "swarm/run/state_chunk.hpp"
#include "swarm/run/step_time.hpp"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

using swarm::run::StageLayout;

constexpr std::uint64_t kSumsPerSlice = swarm::protocol::kSliceBytesMax / sizeof(std::int64_t);
/// Elements of the oracle for each slice of the model: slices differ by one element at most.
constexpr std::uint64_t kElementsPerSlice = 16;
/// Least number of elements, which are cut into slices for each member of a stage.
constexpr std::uint64_t kElementsMin = 512;
/// Bytes of a part that travels as byte planes on slow lines (stages/server/reduction.hpp).
constexpr double kPackedBytesMin = 64U << 10;

}  // namespace

void stand_for(const Pipeline& pipeline, swarm::run::RunConfig& config) {
    const std::uint64_t parameters = pipeline.parameters();
    if (parameters == 0) {
        return;
    }
    const std::uint64_t slices = (parameters + kSumsPerSlice - 1) / kSumsPerSlice;
    const std::uint64_t elements = std::max(kElementsMin, slices * kElementsPerSlice);
    config.model.width = static_cast<std::uint32_t>(std::min(elements, parameters));
    config.model.stands_for = parameters;
}

FrameWeights::FrameWeights(
    const Pipeline& pipeline,
    const swarm::run::RunConfig& config,
    const std::vector<FleetPeer>& fleet
)
    : pipeline_(pipeline), layout_(swarm::run::partition(config).front()), fleet_(fleet) {
    const auto own = static_cast<double>(layout_.elements());
    const auto parameters = static_cast<double>(pipeline.parameters());
    const double counters = pipeline.microbatches;
    per_sum_ = parameters > 0 ? (parameters + counters) / (own + counters) : 0;
    per_state_ = parameters / own;
    share_bytes_ =
        parameters > 0 ? static_cast<double>(swarm::run::bytes_of_share(pipeline.parameters())) : 0;
}

std::uint64_t FrameWeights::extra_bytes(PeerId from, const node::Send& send) const {
    if (send.payload.empty()) {
        return 0;
    }
    const auto& body = send.message.body;
    if (std::holds_alternative<swarm::protocol::Forward>(body) ||
        std::holds_alternative<swarm::protocol::Backward>(body)) {
        return pipeline_.activation_bytes;
    }
    double bytes = 0;
    if (const auto* const part = std::get_if<swarm::protocol::Part>(&body)) {
        bytes = bytes_of(from, send.peer, send.payload, part->gathered);
    } else if (const auto* const chunk = std::get_if<swarm::protocol::Chunk>(&body)) {
        bytes = bytes_of(*chunk);
    }
    const auto own = static_cast<double>(send.payload.bytes().size());
    return static_cast<std::uint64_t>(std::llround(std::max(0.0, bytes - own)));
}

double FrameWeights::bytes_of(PeerId from, PeerId to, const node::Payload& part, bool values)
    const {
    if (!pipeline_.reductions) {
        return 0;
    }
    if (pipeline_.is_sparse()) {
        return share_bytes_;
    }
    const double elements = static_cast<double>(part.envelope().elements()) * per_sum_;
    if (values) {
        return elements * sizeof(float);
    }
    const bool is_small = elements * sizeof(std::int64_t) < kPackedBytesMin;
    const double line = is_small ? 0 : line_between(from, to);
    return elements * swarm::run::bytes_of_sum(line);
}

double FrameWeights::bytes_of(const swarm::protocol::Chunk& chunk) const {
    if (!chunk.chunk) {
        return 0;  // the list of digests is as long as the model's
    }
    const std::uint64_t state_bytes =
        swarm::run::MemoryPlan::kStateBytesPerParameter * layout_.elements();
    const std::uint64_t most = layout_.chunk_bytes_max;
    if (*chunk.chunk >= swarm::run::chunk_count(state_bytes, most)) {
        return 0;  // a liar's
    }
    const std::uint64_t raw = swarm::run::chunk_bytes(state_bytes, *chunk.chunk, most);
    return static_cast<double>(raw) * per_state_ * swarm::run::kPackedStateShare;
}

// The slower end of a line counts; 0 stands for no bound. Whoever is not of the fleet has none: the
// coordinator, and the id 0, which names nobody.
double FrameWeights::line_between(PeerId from, PeerId to) const {
    const auto rate = [&](PeerId peer, std::uint64_t FleetPeer::*end) {
        const std::uint64_t number = peer.words[0];
        const bool is_in_fleet = number > 0 && number <= fleet_.size();
        return is_in_fleet ? static_cast<double>(fleet_[number - 1].*end) : 0.0;
    };
    const double up = rate(from, &FleetPeer::up_bytes_per_s);
    const double down = rate(to, &FleetPeer::down_bytes_per_s);
    return up == 0 || down == 0 ? std::max(up, down) : std::min(up, down);
}

}  // namespace sim
