#include "stacking/models/averages/fisher_average.hpp"

#include "stacking/models/averages/computed_model.hpp"
#include "stacking/models/averages/model_average.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::TensorSpec;

namespace {

/// Where a tensor's information lies in each diagonal, and what is the least that counts.
struct Informed {
    std::uint64_t begin = 0;
    std::uint64_t elements = 0;
    double floor = 0;
};

using InformedTensors = std::map<std::string, Informed, std::less<>>;

double information(const FisherPart& part, const Informed& tensor, std::uint64_t k) {
    return std::max(static_cast<double>(part.diagonal[tensor.begin + k]), tensor.floor);
}

/// Sums of information x value over sums of information.
class FisherRows {
 public:
    FisherRows(std::vector<FisherPart> parts, InformedTensors tensors)
        : parts_(std::move(parts)), tensors_(std::move(tensors)) {}

    [[nodiscard]] Result<> read(std::string_view tensor, RowRange rows, std::span<float> values)
        const {
        const Informed& informed = tensors_.find(tensor)->second;
        const std::uint64_t columns = rows.count > 0 ? values.size() / rows.count : 0;
        const std::uint64_t first = rows.first * columns;
        std::vector<double> all(values.size());
        for (const FisherPart& part : parts_) {
            for (std::size_t k = 0; k < all.size(); ++k) {
                all[k] += information(part, informed, first + k);
            }
        }
        std::vector<double> sums(values.size());
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            SWARM_TRY(parts_[i].model->read_rows(tensor, rows, values));
            for (std::size_t k = 0; k < sums.size(); ++k) {
                const double weight = information(parts_[i], informed, first + k) / all[k];
                const double product = weight * static_cast<double>(values[k]);
                sums[k] = i == 0 ? product : sums[k] + product;  // 0 + -0 would lose the sign
            }
        }
        for (std::size_t k = 0; k < sums.size(); ++k) {
            values[k] = static_cast<float>(sums[k]);
        }
        return {};
    }

    [[nodiscard]] std::vector<double> mean_weights() const {
        std::vector<double> sums(parts_.size());
        double values = 0;
        for (const auto& [name, tensor] : tensors_) {
            for (std::uint64_t k = 0; k < tensor.elements; ++k) {
                double all = 0;
                for (const FisherPart& part : parts_) {
                    all += information(part, tensor, k);
                }
                for (std::size_t i = 0; i < parts_.size(); ++i) {
                    sums[i] += information(parts_[i], tensor, k) / all;
                }
            }
            values += static_cast<double>(tensor.elements);
        }
        for (double& sum : sums) {
            sum /= values;
        }
        return sums;
    }

 private:
    std::vector<FisherPart> parts_;
    InformedTensors tensors_;  // each tensor that is read
};

double floor_of(const std::vector<FisherPart>& parts, std::uint64_t begin, std::uint64_t elements) {
    double sum = 0;
    for (const FisherPart& part : parts) {
        for (const float value : std::span(part.diagonal).subspan(begin, elements)) {
            sum += static_cast<double>(value);
        }
    }
    const double mean = sum / (static_cast<double>(elements) * static_cast<double>(parts.size()));
    return mean > 0 ? std::scalbn(1.0, std::ilogb(kFisherFloor * mean)) : 1;
}

InformedTensors informed_tensors(
    const std::vector<FisherPart>& parts, std::span<const TensorSpec> tensors
) {
    InformedTensors informed;
    std::uint64_t begin = 0;
    for (const TensorSpec& spec : tensors) {
        const std::uint64_t elements = spec.elements();
        for (const FisherPart& part : parts) {
            SWARM_ASSERT(elements <= part.diagonal.size() - begin);
        }
        informed.emplace(spec.name, Informed{begin, elements, floor_of(parts, begin, elements)});
        begin += elements;
    }
    for (const FisherPart& part : parts) {
        SWARM_ASSERT(part.diagonal.size() == begin);
    }
    return informed;
}

/// Each tensor that is read has a diagonal.
Result<> check_informed(const Architecture& architecture, const InformedTensors& tensors) {
    for (const TensorSpec& spec : tensors_of(architecture)) {
        if (architecture.tied_embeddings && spec.name == swarm::run::kHeadTensor) {
            continue;
        }
        const auto found = tensors.find(spec.name);
        if (found == tensors.end() || found->second.elements != spec.elements()) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                "no Fisher information about the tensor " + spec.name};
        }
    }
    return {};
}

}  // namespace

Result<FisherAverage> fisher_average_of(
    std::vector<FisherPart> parts, std::span<const TensorSpec> tensors
) {
    SWARM_ASSERT(!parts.empty() && parts.size() <= kAveragedMax);
    std::vector<AveragePart> members;
    for (const FisherPart& part : parts) {
        members.push_back({part.model});
    }
    SWARM_TRY(Architecture architecture, common_architecture(members));
    InformedTensors informed = informed_tensors(parts, tensors);
    SWARM_TRY(check_informed(architecture, informed));
    const auto rows = std::make_shared<const FisherRows>(std::move(parts), std::move(informed));
    SWARM_TRY(
        ModelSource model,
        computed_model(
            std::move(architecture),
            [rows](std::string_view tensor, RowRange range, std::span<float> values) {
                return rows->read(tensor, range, values);
            }
        )
    );
    return FisherAverage{std::move(model), rows->mean_weights()};
}

}  // namespace stacking::models
