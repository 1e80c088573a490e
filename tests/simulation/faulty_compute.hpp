// The oracle model of a test, with a switch: in some steps one stage makes one microbatch
// non-finite, in a forward, a loss or a backward. It is the same in a simulated run and in one
// process. The caller that runs the steps writes the number of the step to `step_now`: a
// StageCompute is not told it.
#pragma once

#include "sim/run/run_world.hpp"
#include "stages/single/single_run.hpp"
#include "tests/wrapped_compute.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace sim {

struct Fault {
    std::set<std::uint64_t> steps;
    std::uint32_t stage = 0;
    std::uint32_t microbatch = 0;
    swarm::protocol::Leg leg = swarm::protocol::Leg::Forward;  // for the tail: its loss
    std::uint64_t step_now = 0;

    [[nodiscard]] bool hits(std::uint32_t at_stage, std::uint32_t id, swarm::protocol::Leg at_leg)
        const {
        return steps.contains(step_now) && at_stage == stage && id == microbatch && at_leg == leg;
    }
};

class FaultyCompute final : public stages::test::WrappedCompute {
 public:
    FaultyCompute(
        std::unique_ptr<stages::StageCompute> inner,
        std::uint32_t stage,
        std::shared_ptr<const Fault> fault
    )
        : WrappedCompute(std::move(inner)), stage_(stage), fault_(std::move(fault)) {}

    stages::Result<stages::StageTensor> forward(
        stages::GraphKey key,
        const stages::StageTensor* input,
        std::span<const std::uint32_t> tokens,
        stages::Graph graph
    ) override {
        auto output = WrappedCompute::forward(key, input, tokens, graph);
        if (output && fault_->hits(stage_, key.microbatch.value, Leg::Forward)) {
            std::vector<float> values(output->values.begin(), output->values.end());
            values.front() = kNaN;
            return stages::make_host_tensor(output->shape, std::move(values));
        }
        return output;
    }

    stages::Result<TailOutput> forward_tail(
        const stages::StageTensor* input,
        std::span<const std::uint32_t> tokens,
        std::span<float> gradient
    ) override {
        auto output = WrappedCompute::forward_tail(input, tokens, gradient);
        if (output && fault_->hits(stage_, tokens.front(), Leg::Forward)) {
            output->loss = std::numeric_limits<double>::quiet_NaN();
        }
        return output;
    }

    stages::Result<stages::StageTensor> backward(
        stages::GraphKey key, const stages::StageTensor& by_output, std::span<float> gradient
    ) override {
        auto output = WrappedCompute::backward(key, by_output, gradient);
        if (output && fault_->hits(stage_, key.microbatch.value, Leg::Backward)) {
            gradient.front() = kNaN;
        }
        return output;
    }

 private:
    using Leg = swarm::protocol::Leg;
    static constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

    std::uint32_t stage_;
    std::shared_ptr<const Fault> fault_;
};

inline stages::MakeCompute with_fault(
    std::shared_ptr<const Fault> fault, stages::MakeCompute make = &stages::make_oracle_compute
) {
    return
        [fault, make](const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout) {
            return std::make_unique<FaultyCompute>(make(config, layout), layout.stage.value, fault);
        };
}

struct FaultyReference {
    Reference run;
    std::vector<std::uint64_t> skipped;
};

/// The reference of one process with the same fault, for `steps` steps.
inline FaultyReference train_single(
    const swarm::run::RunConfig& config, Fault fault, std::uint64_t steps
) {
    const auto shared = std::make_shared<Fault>(std::move(fault));
    stages::SingleRun run(config, with_fault(shared), {});
    FaultyReference found;
    for (std::uint64_t step = 0; step < steps; ++step) {
        shared->step_now = step;
        const auto record = run.step();
        found.run.losses.push_back(record->loss);
        if (record->skipped) {
            found.skipped.push_back(step);
        }
    }
    found.run.weights_sha256 = run.weights_sha256();
    return found;
}

/// A world whose peers share the fault, and learn the step from the launches of the coordinator.
class FaultyWorld {
 public:
    FaultyWorld(RunWorldOptions options, const Fault& fault)
        : fault_(std::make_shared<Fault>(fault)), run_(with(std::move(options), fault_)) {
        run_.observe_sends([fault = fault_](PeerId, const node::Send& send) {
            const auto* const launch = std::get_if<swarm::protocol::Forward>(&send.message.body);
            if (launch && launch->path.empty()) {
                fault->step_now = launch->version.step;
            }
        });
    }

    [[nodiscard]] RunWorld& run() { return run_; }

    [[nodiscard]] std::vector<std::uint64_t> skipped() const {
        std::vector<std::uint64_t> steps;
        for (const node::StepSkipped& skip : run_.skipped()) {
            steps.push_back(skip.step);
        }
        return steps;
    }

 private:
    static RunWorldOptions with(RunWorldOptions options, const std::shared_ptr<Fault>& fault) {
        options.make_compute = with_fault(fault, options.make_compute);
        return options;
    }

    std::shared_ptr<Fault> fault_;
    RunWorld run_;
};

}  // namespace sim
