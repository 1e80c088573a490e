#include "stacking/models/averages/model_chain.hpp"

#include "stacking/models/averages/computed_model.hpp"
#include "stacking/models/averages/model_difference.hpp"
#include "stacking/models/limits.hpp"
#include "stacking/models/training/shared_layers.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::kEmbeddingTensor;

namespace {

/// One layer like every other: what differs between the parts is not compared.
Architecture of_one_layer(Architecture architecture) {
    architecture.model.layers = 1;
    architecture.traits.layers.clear();
    architecture.tied_embeddings = false;
    return architecture;
}

Result<bool> stays_tied(const std::vector<ChainPart>& parts) {
    const bool tied = std::ranges::all_of(parts, [](const ChainPart& part) {
        return part.model->architecture().tied_embeddings;
    });
    if (!tied || parts.front().model == parts.back().model) {
        return tied;
    }
    return have_equal(*parts.front().model, *parts.back().model, kEmbeddingTensor);
}

Result<Architecture> chain_architecture(const std::vector<ChainPart>& parts) {
    Architecture chain = parts.front().model->architecture();
    chain.name = "chain of " + std::to_string(parts.size()) + " models";
    chain.model.layers = 0;
    chain.traits.layers.clear();
    bool windows = false;
    for (const ChainPart& part : parts) {
        const Architecture& own = part.model->architecture();
        SWARM_ASSERT(part.first < part.end && part.end <= own.model.layers);
        const auto found =
            difference_of(of_one_layer(parts.front().model->architecture()), of_one_layer(own));
        if (found) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                "members of a chain differ in " + found->what + ": " + found->first + " and " +
                    found->second};
        }
        chain.model.context = std::min(chain.model.context, own.model.context);
        for (std::uint32_t layer = part.first; layer < part.end; ++layer) {
            chain.traits.layers.push_back(own.attention_of(layer));
            windows = windows || chain.traits.layers.back() != LayerAttention{};
        }
    }
    chain.model.layers = static_cast<std::uint32_t>(chain.traits.layers.size());
    if (!windows) {
        chain.traits.layers.clear();
    }
    SWARM_TRY(chain.tied_embeddings, stays_tied(parts));
    SWARM_TRY(check(chain));
    return chain;
}

/// A tensor of the chain as one of a part.
struct PartTensor {
    const ModelSource* model = nullptr;
    std::string name;
};

PartTensor part_tensor(const std::vector<ChainPart>& parts, std::string_view tensor) {
    const auto layer = layer_of_tensor(tensor);
    if (!layer) {
        const ChainPart& end = tensor == kEmbeddingTensor ? parts.front() : parts.back();
        return {end.model.get(), std::string(tensor)};
    }
    std::uint32_t rest = *layer;
    auto part = parts.begin();
    while (rest >= part->end - part->first) {
        rest -= part->end - part->first;
        ++part;
    }
    const std::size_t dot = tensor.find('.', tensor.find('.') + 1);
    return {
        part->model.get(),
        "layers." + std::to_string(part->first + rest) + std::string(tensor.substr(dot))};
}

}  // namespace

Result<bool> have_equal(const ModelSource& one, const ModelSource& other, std::string_view tensor) {
    const StoredTensor& stored = one.tensors().find(tensor)->second;
    if (stored.shape != other.tensors().find(tensor)->second.shape) {
        return false;
    }
    const std::uint64_t at_once =
        std::max<std::uint64_t>(1, kReadBytes / (stored.columns() * sizeof(float)));
    std::vector<float> left;
    std::vector<float> right;
    for (std::uint64_t row = 0; row < stored.rows(); row += at_once) {
        const RowRange rows{row, std::min(at_once, stored.rows() - row)};
        left.resize(rows.count * stored.columns());
        right.resize(left.size());
        SWARM_TRY(one.read_rows(tensor, rows, left));
        SWARM_TRY(other.read_rows(tensor, rows, right));
        if (std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) != 0) {
            return false;
        }
    }
    return true;
}

Result<ModelSource> chain_of(std::vector<ChainPart> parts) {
    SWARM_ASSERT(!parts.empty());
    SWARM_TRY(Architecture architecture, chain_architecture(parts));
    return computed_model(
        std::move(architecture),
        [parts =
             std::move(parts)](std::string_view tensor, RowRange rows, std::span<float> values) {
            const PartTensor own = part_tensor(parts, tensor);
            return own.model->read_rows(own.name, rows, values);
        }
    );
}

}  // namespace stacking::models
