#include "stacking/models/averages/model_average.hpp"

#include "stacking/models/averages/model_difference.hpp"
#include "stacking/models/limits.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::TensorSpec;

namespace {

/// A tensor in the file that is never written.
struct AveragedTensor {
    std::string name;
    std::uint64_t begin = 0;  // offset of its first byte
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;

    [[nodiscard]] std::uint64_t row_bytes() const { return columns * sizeof(float); }
};

/// The file that an average would be: all tensors as fp32, one after the other, computed when they
/// are read.
class AverageBytes final : public ByteSource {
 public:
    AverageBytes(
        std::vector<AveragePart> parts, std::vector<AveragedTensor> tensors, std::uint64_t size
    )
        : parts_(std::move(parts)), tensors_(std::move(tensors)), size_(size) {}

    [[nodiscard]] std::uint64_t size() const override { return size_; }

    [[nodiscard]] Result<> read(std::uint64_t offset, std::span<std::byte> bytes) const override {
        if (offset > size_ || bytes.size() > size_ - offset) {
            return Error{
                ErrorCode::Malformed, Reaction::Reject, "the average has no bytes of that place"};
        }
        while (!bytes.empty()) {
            SWARM_TRY(const std::size_t taken, read_some(offset, bytes));
            bytes = bytes.subspan(taken);
            offset += taken;
        }
        return {};
    }

 private:
    /// Fills the beginning of `bytes` from rows of one tensor. Returns the number of bytes.
    [[nodiscard]] Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> bytes)
        const {
        const auto next = std::ranges::upper_bound(tensors_, offset, {}, &AveragedTensor::begin);
        const AveragedTensor& tensor = *std::prev(next);
        const std::uint64_t row_bytes = tensor.row_bytes();
        const std::uint64_t first = (offset - tensor.begin) / row_bytes;
        const std::uint64_t skipped = (offset - tensor.begin) % row_bytes;
        const std::uint64_t wanted = (skipped + bytes.size() + row_bytes - 1) / row_bytes;
        const std::uint64_t at_once = std::max<std::uint64_t>(1, kReadBytes / row_bytes);
        const std::uint64_t rows = std::min({wanted, at_once, tensor.rows - first});
        SWARM_TRY(const std::vector<float> values, average(tensor, {first, rows}));
        const std::size_t taken = std::min<std::uint64_t>(bytes.size(), rows * row_bytes - skipped);
        std::memcpy(
            bytes.data(), std::as_bytes(std::span(values)).subspan(skipped, taken).data(), taken
        );
        return taken;
    }

    [[nodiscard]] Result<std::vector<float>> average(const AveragedTensor& tensor, RowRange rows)
        const {
        std::vector<float> values(rows.count * tensor.columns);
        std::vector<double> sums(values.size());
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            SWARM_TRY(parts_[i].model->read_rows(tensor.name, rows, values));
            const double weight = parts_[i].weight;
            for (std::size_t k = 0; k < sums.size(); ++k) {
                const double product = weight * static_cast<double>(values[k]);
                sums[k] = i == 0 ? product : sums[k] + product;  // 0 + -0 would lose the sign
            }
        }
        for (std::size_t k = 0; k < sums.size(); ++k) {
            values[k] = static_cast<float>(sums[k]);
        }
        return values;
    }

    std::vector<AveragePart> parts_;       // weights above 0, whose sum is 1
    std::vector<AveragedTensor> tensors_;  // by offset
    std::uint64_t size_;
};

Error bad_weights(const char* why) {
    return {ErrorCode::Usage, Reaction::Reject, std::string("the weights of an average: ") + why};
}

/// The first member's, within the positions that all can read.
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

}  // namespace

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

    ModelSource::Tensors tensors;
    std::vector<AveragedTensor> averaged;
    std::uint64_t size = 0;
    for (const TensorSpec& spec : tensors_of(architecture)) {
        StoredTensor stored{spec.shape};
        stored.bytes = spec.elements() * sizeof(float);
        if (architecture.tied_embeddings && spec.name == "head.weight") {
            stored.offset = tensors.find("embed.weight")->second.offset;
        } else {
            stored.offset = size;
            averaged.push_back({spec.name, size, stored.rows(), stored.columns()});
            size += stored.bytes;
        }
        tensors.emplace(spec.name, std::move(stored));
    }
    ModelSource::Files files;
    files.push_back(std::make_unique<AverageBytes>(std::move(parts), std::move(averaged), size));
    return ModelSource::make(std::move(architecture), std::move(tensors), std::move(files));
}

}  // namespace stacking::models
