// Stand-ins for the parts of a mixture: a lender of all experts, whose outputs are its inputs; and
// a trunk in front of any compute, each of whose calls stops once, at expert 1 of a layer.
#pragma once

#include "stacking/expert_compute.hpp"

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace swarm::fuzz {

class AnyLender final : public stacking::ExpertLender {
 public:
    [[nodiscard]] std::uint32_t width() const override { return 4; }

    [[nodiscard]] bool holds(const stacking::LayerExpert& /*which*/) const override { return true; }

    [[nodiscard]] Result<std::vector<float>> run(
        const stacking::LayerExpert& /*which*/, std::span<const float> rows
    ) override {
        return std::vector<float>(rows.begin(), rows.end());
    }
};

class StoppingTrunk final : public stacking::ExpertTrunk {
 public:
    StoppingTrunk(std::shared_ptr<stacking::SessionCompute> compute, std::uint32_t layer)
        : compute_(std::move(compute)), layer_(layer) {}

    [[nodiscard]] Result<stacking::TrunkStep> begin(
        std::span<const stacking::SessionRow> rows,
        const stacking::StageInput& input,
        std::span<const stacking::LackingExperts* const> lacking
    ) override {
        const auto out = compute_->run_layers(rows, input);
        if (!out) {
            return out.error();
        }
        out_ = *out;
        if (lacking.front()->contains({layer_, 1})) {
            return stacking::TrunkStep(out_);
        }
        stacking::ExpertVisit visit{1};
        visit.rows.resize(rows.size());
        std::iota(visit.rows.begin(), visit.rows.end(), 0U);
        visit.values = out_;
        return stacking::TrunkStep(stacking::ExpertStop{layer_, {visit}});
    }

    [[nodiscard]] stacking::TrunkStep go_on(std::span<const std::vector<float>> /*outputs*/
    ) override {
        return out_;
    }

 private:
    std::shared_ptr<stacking::SessionCompute> compute_;
    std::uint32_t layer_;
    std::vector<float> out_;
};

}  // namespace swarm::fuzz
