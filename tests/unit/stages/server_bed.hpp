// A context with a worker, and a device that runs a turn's work at once, for the tests of a stage
// server's parts.
#pragma once

#include "stages/server/server_context.hpp"
#include "tests/start.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <utility>
#include <variant>
#include <vector>

namespace stages::test {

inline constexpr PeerId kCoordinator{{1}};
using swarm::test::kStart;

struct Bed {
    ServerContext context;
    node::Outbox out;

    Bed(PeerId self, const swarm::run::RunConfig& config, std::uint32_t stage) {
        context.self = self;
        context.coordinator = kCoordinator;
        context.control_up = true;
        context.config = config;
        context.layout = swarm::run::partition(config)[stage];
        context.version = ParameterVersion{0, 0};
        context.worker = make_worker(config, make_noise_compute, stage);
        context.roster = swarm::run::Roster(config.stages);
    }

    node::Turn at(TimePoint now = kStart) { return {now, out}; }

    /// Runs all work that was submitted, and the continuations. Returns the messages sent.
    std::vector<node::Send> settle(TimePoint now = kStart) {
        std::vector<node::Send> sends;
        while (!out.actions.empty()) {
            for (node::Action& action : std::exchange(out.actions, {})) {
                if (auto* compute = std::get_if<node::Compute>(&action)) {
                    compute->work->run();
                    if (compute->answered) {
                        context.device.done(compute->job, at(now));
                    }
                } else if (auto* send = std::get_if<node::Send>(&action)) {
                    sends.push_back(std::move(*send));
                }
            }
        }
        return sends;
    }
};

template <class Body>
std::vector<Body> bodies(const std::vector<node::Send>& sends, PeerId to) {
    std::vector<Body> found;
    for (const node::Send& send : sends) {
        if (const auto* body = std::get_if<Body>(&send.message.body);
            body != nullptr && send.peer == to) {
            found.push_back(*body);
        }
    }
    return found;
}

}  // namespace stages::test
