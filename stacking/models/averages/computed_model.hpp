// A model without a file: its tensors are fp32 and computed when their rows are read.
// Invariant: the same function of rows makes the same bytes, in whatever pieces they are read.
// Threading: that of the function, which any thread may call. Errors: those of the function, and of
// ModelSource::make(). Cost: a read computes the rows that it touches, at most about kReadBytes of
// them at a time.
#pragma once

#include "stacking/models/model_source.hpp"

#include <functional>
#include <span>
#include <string_view>

namespace stacking::models {

/// Computes these rows of a tensor into `values`, which has room for all of them.
using RowsOf =
    std::function<swarm::Result<>(std::string_view tensor, RowRange rows, std::span<float> values)>;

/// `rows` is asked for each tensor of the architecture but the head of a tied model.
swarm::Result<ModelSource> computed_model(Architecture architecture, RowsOf rows);

}  // namespace stacking::models
