// Small parts of the worlds that reproduce golden figures: a job of a given length, a tensor that
// stands for a larger one, worlds with one latency.
#pragma once

#include "sim/world.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sim::golden {

class Work final : public node::Job {
 public:
    explicit Work(double work_units) : work_units_(work_units) {}

    void run() override {}

    [[nodiscard]] double work_units() const override { return work_units_; }

 private:
    double work_units_;
};

inline double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

/// A tensor of one byte; WorldOptions.extra_bytes counts the rest.
inline node::Payload tensor() {
    return {{}, std::vector<std::byte>(1)};
}

/// Makes a Forward or a Backward of the microbatch, with a tensor.
template <class Leg>
node::Send leg_to(PeerId to, swarm::MicrobatchId id) {
    Leg leg;
    leg.microbatch = id;
    return {to, {.body = std::move(leg)}, tensor()};
}

/// Every frame takes `latency` one way; a tensor counts `tensor_bytes` besides its frame.
inline WorldOptions world_options(Duration latency, std::uint64_t tensor_bytes) {
    WorldOptions options;
    options.network.latency_min = latency;
    options.network.latency_max = latency;
    options.extra_bytes = [tensor_bytes](PeerId, const node::Send& send) {
        return send.payload.empty() ? 0 : tensor_bytes;
    };
    return options;
}

}  // namespace sim::golden
