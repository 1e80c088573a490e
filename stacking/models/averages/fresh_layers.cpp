#include "stacking/models/averages/fresh_layers.hpp"

#include "stacking/models/averages/computed_model.hpp"
#include "stacking/models/training/shared_layers.hpp"
#include "stages/worker/stage_state.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

namespace stacking::models {

using swarm::Result;
using swarm::run::TensorSpec;

namespace {

/// The rows of such a model. Rows of one tensor are asked for one after the other, so the tensor
/// that was drawn last is kept.
class FreshRows {
 public:
    FreshRows(std::shared_ptr<const ModelSource> seed, std::uint64_t number)
        : seed_(std::move(seed)), number_(number) {}

    Result<> read(std::string_view tensor, RowRange rows, std::span<float> values) {
        if (!layer_of_tensor(tensor)) {
            return seed_->read_rows(tensor, rows, values);
        }
        const StoredTensor& stored = seed_->tensors().find(tensor)->second;
        SWARM_ASSERT(values.size() == rows.count * stored.columns());
        const std::scoped_lock lock(mutex_);
        if (drawn_.name != tensor) {
            drawn_ = TensorSpec{std::string(tensor), stored.shape};
            values_.resize(drawn_.elements());
            stages::fill_initial(number_, drawn_, values_);
        }
        const auto from = static_cast<std::ptrdiff_t>(rows.first * stored.columns());
        std::copy_n(values_.begin() + from, values.size(), values.begin());
        return {};
    }

 private:
    std::shared_ptr<const ModelSource> seed_;
    std::uint64_t number_;
    std::mutex mutex_;
    TensorSpec drawn_;  // the tensor that `values_` has
    std::vector<float> values_;
};

}  // namespace

Result<ModelSource> with_fresh_layers(
    std::shared_ptr<const ModelSource> seed, std::uint64_t number
) {
    Architecture architecture = seed->architecture();
    const auto rows = std::make_shared<FreshRows>(std::move(seed), number);
    return computed_model(
        std::move(architecture),
        [rows](std::string_view tensor, RowRange range, std::span<float> values) {
            return rows->read(tensor, range, values);
        }
    );
}

}  // namespace stacking::models
