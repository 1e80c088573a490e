#include "stacking/models/averages/computed_model.hpp"

#include "stacking/models/limits.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
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
struct ComputedTensor {
    std::string name;
    std::uint64_t begin = 0;  // offset of its first byte
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;

    [[nodiscard]] std::uint64_t row_bytes() const { return columns * sizeof(float); }
};

/// The file that the model would be: all tensors as fp32, one after the other.
class ComputedBytes final : public ByteSource {
 public:
    ComputedBytes(RowsOf rows, std::vector<ComputedTensor> tensors, std::uint64_t size)
        : rows_(std::move(rows)), tensors_(std::move(tensors)), size_(size) {}

    [[nodiscard]] std::uint64_t size() const override { return size_; }

    [[nodiscard]] Result<> read(std::uint64_t offset, std::span<std::byte> bytes) const override {
        if (offset > size_ || bytes.size() > size_ - offset) {
            return Error{
                ErrorCode::Malformed, Reaction::Reject, "the model has no bytes of that place"};
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
        const auto next = std::ranges::upper_bound(tensors_, offset, {}, &ComputedTensor::begin);
        const ComputedTensor& tensor = *std::prev(next);
        const std::uint64_t row_bytes = tensor.row_bytes();
        const std::uint64_t first = (offset - tensor.begin) / row_bytes;
        const std::uint64_t skipped = (offset - tensor.begin) % row_bytes;
        const std::uint64_t wanted = (skipped + bytes.size() + row_bytes - 1) / row_bytes;
        const std::uint64_t at_once = std::max<std::uint64_t>(1, kReadBytes / row_bytes);
        const std::uint64_t rows = std::min({wanted, at_once, tensor.rows - first});
        std::vector<float> values(rows * tensor.columns);
        SWARM_TRY(rows_(tensor.name, {first, rows}, values));
        const std::size_t taken = std::min<std::uint64_t>(bytes.size(), rows * row_bytes - skipped);
        std::memcpy(
            bytes.data(), std::as_bytes(std::span(values)).subspan(skipped, taken).data(), taken
        );
        return taken;
    }

    RowsOf rows_;
    std::vector<ComputedTensor> tensors_;  // by offset
    std::uint64_t size_;
};

}  // namespace

Result<ModelSource> computed_model(Architecture architecture, RowsOf rows) {
    ModelSource::Tensors tensors;
    std::vector<ComputedTensor> computed;
    std::uint64_t size = 0;
    for (const TensorSpec& spec : tensors_of(architecture)) {
        StoredTensor stored{spec.shape};
        stored.bytes = spec.elements() * sizeof(float);
        if (architecture.tied_embeddings && spec.name == swarm::run::kHeadTensor) {
            stored.offset = tensors.find(swarm::run::kEmbeddingTensor)->second.offset;
        } else {
            stored.offset = size;
            computed.push_back({spec.name, size, stored.rows(), stored.columns()});
            size += stored.bytes;
        }
        tensors.emplace(spec.name, std::move(stored));
    }
    ModelSource::Files files;
    files.push_back(std::make_unique<ComputedBytes>(std::move(rows), std::move(computed), size));
    return ModelSource::make(std::move(architecture), std::move(tensors), std::move(files));
}

}  // namespace stacking::models
