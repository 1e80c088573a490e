#include "stacking/models/averages/model_average.hpp"

#include "stacking/models/averages/computed_model.hpp"
#include "stacking/models/averages/model_difference.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

/// The sums of the members' rows.
class AveragedRows {
 public:
    /// `parts`: weights above 0, whose sum is 1.
    explicit AveragedRows(std::vector<AveragePart> parts) : parts_(std::move(parts)) {}

    [[nodiscard]] Result<> operator()(
        std::string_view tensor, RowRange rows, std::span<float> values
    ) const {
        std::vector<double> sums(values.size());
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            SWARM_TRY(parts_[i].model->read_rows(tensor, rows, values));
            const double weight = parts_[i].weight;
            for (std::size_t k = 0; k < sums.size(); ++k) {
                const double product = weight * static_cast<double>(values[k]);
                sums[k] = i == 0 ? product : sums[k] + product;  // 0 + -0 would lose the sign
            }
        }
        for (std::size_t k = 0; k < sums.size(); ++k) {
            values[k] = static_cast<float>(sums[k]);
        }
        return {};
    }

 private:
    std::vector<AveragePart> parts_;
};

Error bad_weights(const char* why) {
    return {ErrorCode::Usage, Reaction::Reject, std::string("the weights of an average: ") + why};
}

}  // namespace

Result<Architecture> common_architecture(const std::vector<AveragePart>& parts) {
    Architecture common = parts.front().model->architecture();
    common.name = "average of " + std::to_string(parts.size()) + " models";
    for (const AveragePart& part : parts) {
        const Architecture& own = part.model->architecture();
        if (const auto found = difference_of(own, parts.front().model->architecture())) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                "members of an average differ in " + found->what + ": " + found->first + " and " +
                    found->second};
        }
        common.model.context = std::min(common.model.context, own.model.context);
    }
    return common;
}

Result<std::vector<double>> normalised(std::span<const double> weights) {
    for (const double weight : weights) {
        if (!std::isfinite(weight) || weight < 0) {
            return bad_weights("each is a finite number of at least 0");
        }
    }
    const double largest = weights.empty() ? 0 : *std::ranges::max_element(weights);
    if (largest == 0) {
        return bad_weights("one is above 0");
    }
    std::vector<double> shares;
    double sum = 0;
    for (const double weight : weights) {
        shares.push_back(weight / largest);  // so that the sum is finite
        sum += shares.back();
    }
    for (double& share : shares) {
        share /= sum;
    }
    return shares;
}

Result<ModelSource> average_of(std::vector<AveragePart> parts) {
    SWARM_ASSERT(!parts.empty() && parts.size() <= kAveragedMax);
    SWARM_TRY(Architecture architecture, common_architecture(parts));
    std::vector<double> weights;
    for (const AveragePart& part : parts) {
        weights.push_back(part.weight);
    }
    SWARM_TRY(weights, normalised(weights));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i].weight = weights[i];
    }
    std::erase_if(parts, [](const AveragePart& part) { return part.weight == 0; });
    return computed_model(std::move(architecture), AveragedRows(std::move(parts)));
}

}  // namespace stacking::models
