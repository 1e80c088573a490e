#include "stacking/models/model_source.hpp"

#include "stacking/models/limits.hpp"
#include "stages/worker/tensor_checks.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::StageLayout;
using swarm::run::TensorSpec;

namespace {

Error refused(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, std::move(what)};
}

std::uint64_t row_bytes(const StoredTensor& tensor) {
    const BlockSize block = block_size(tensor.type);
    return tensor.columns() / block.values * block.bytes;
}

/// Number of rows that are read together: those of one head where the file stores them in another
/// order.
std::uint64_t rows_per_chunk(const StoredTensor& tensor) {
    if (tensor.interleaved_heads > 0) {
        return tensor.rows() / tensor.interleaved_heads;
    }
    return std::max<std::uint64_t>(1, kReadBytes / row_bytes(tensor));
}

/// Index in the model of the stored row `row`.
std::uint64_t model_row(const StoredTensor& tensor, std::uint64_t row) {
    if (tensor.interleaved_heads == 0) {
        return row;
    }
    const std::uint64_t head_rows = tensor.rows() / tensor.interleaved_heads;
    const std::uint64_t within = row % head_rows;
    return row - within + within % 2 * (head_rows / 2) + within / 2;
}

Error no_rows(std::string_view name, const StoredTensor& tensor, RowRange rows) {
    return refused(
        ErrorCode::Mismatch,
        printable(name) + " is " + shape_text(tensor.shape) + " and has no rows " +
            std::to_string(rows.first) + " to " + std::to_string(rows.first) + "+" +
            std::to_string(rows.count) + " of that size"
    );
}

Error with_name(std::string_view tensor, const Error& error) {
    return {error.code, error.reaction, printable(tensor) + ": " + error.detail};
}

}  // namespace

std::string shape_text(const std::vector<std::uint32_t>& shape) {
    std::string text = "(";
    for (const std::uint32_t size : shape) {
        text += (text.size() > 1 ? ", " : "") + std::to_string(size);
    }
    return text + ")";
}

Error not_finite(std::string_view tensor) {
    return refused(
        ErrorCode::NotFinite,
        printable(tensor) +
            " has a weight that is infinite or no number; the file is damaged, or "
            "the training that made it diverged"
    );
}

float scale_at(
    const WeightScales& scales, std::uint64_t columns, std::uint64_t row, std::uint64_t column
) {
    const std::uint64_t across = (columns + scales.block_columns - 1) / scales.block_columns;
    return scales.values[row / scales.block_rows * across + column / scales.block_columns];
}

void scale_row(const WeightScales& scales, std::uint64_t row, std::span<float> values) {
    if (scales.values.empty()) {
        return;
    }
    const std::uint64_t across = (values.size() + scales.block_columns - 1) / scales.block_columns;
    const std::uint64_t first = row / scales.block_rows * across;
    for (std::size_t column = 0; column < values.size(); ++column) {
        values[column] *= scales.values[first + column / scales.block_columns];
    }
}

void add_row(const LowRank& product, std::uint64_t row, std::span<float> values) {
    for (std::uint32_t rank = 0; rank < product.rank; ++rank) {
        const float factor = product.scale * product.out[row * product.rank + rank];
        const auto in = std::span(product.in).subspan(rank * values.size(), values.size());
        for (std::size_t column = 0; column < values.size(); ++column) {
            values[column] += factor * in[column];
        }
    }
}

Result<ModelSource> ModelSource::make(Architecture architecture, Tensors tensors, Files files) {
    SWARM_TRY(check(architecture));
    for (const TensorSpec& wanted : tensors_of(architecture)) {
        const auto found = tensors.find(wanted.name);
        if (found == tensors.end()) {
            return refused(
                ErrorCode::Malformed,
                "the model lacks the tensor " + wanted.name + "; it is not whole"
            );
        }
        if (found->second.shape != wanted.shape) {
            return refused(
                ErrorCode::Malformed,
                wanted.name + " is " + shape_text(found->second.shape) +
                    ", but the model's configuration makes it " + shape_text(wanted.shape)
            );
        }
        SWARM_ASSERT(found->second.file < files.size());
    }
    return ModelSource(std::move(architecture), std::move(tensors), std::move(files));
}

void ModelSource::set_adapter(std::string_view name, std::shared_ptr<const LowRank> adapter) {
    const auto found = tensors_.find(name);
    SWARM_ASSERT(found != tensors_.end());
    StoredTensor& tensor = found->second;
    SWARM_ASSERT(adapter != nullptr && tensor.adapter == nullptr);
    SWARM_ASSERT(adapter->out.size() == tensor.rows() * adapter->rank);
    SWARM_ASSERT(adapter->in.size() == tensor.columns() * adapter->rank);
    tensor.adapter = std::move(adapter);
}

Result<const StoredTensor*> ModelSource::find(std::string_view name, RowRange rows) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
        return refused(ErrorCode::NotFound, "the model has no tensor " + printable(name));
    }
    const StoredTensor& tensor = found->second;
    if (rows.first > tensor.rows() || rows.count > tensor.rows() - rows.first) {
        return no_rows(name, tensor, rows);
    }
    return &tensor;
}

template <class Body>
Result<> ModelSource::for_rows(const StoredTensor& tensor, RowRange rows, const Body& body) const {
    // A row never leaves its chunk, so the chunks of the range hold all of it.
    const std::uint64_t chunk_rows = rows_per_chunk(tensor);
    const std::uint64_t stored_row_bytes = row_bytes(tensor);
    const std::uint64_t end = rows.first + rows.count;
    std::vector<std::byte> room;
    for (std::uint64_t begin = rows.first / chunk_rows * chunk_rows; begin < end;
         begin += chunk_rows) {
        const bool whole = tensor.interleaved_heads > 0;
        const std::uint64_t from = whole ? begin : std::max(begin, rows.first);
        const std::uint64_t to = std::min(begin + chunk_rows, whole ? tensor.rows() : end);
        const std::uint64_t offset = tensor.offset + from * stored_row_bytes;
        SWARM_TRY(
            const auto chunk,
            files_[tensor.file]->view(offset, (to - from) * stored_row_bytes, room)
        );
        for (std::uint64_t row = from; row < to; ++row) {
            const std::uint64_t target = model_row(tensor, row);
            if (target >= rows.first && target < end) {
                body(
                    target - rows.first,
                    chunk.subspan((row - from) * stored_row_bytes, stored_row_bytes)
                );
            }
        }
    }
    return files_[tensor.file]->check_views();
}

Result<> ModelSource::read_rows(std::string_view name, RowRange rows, std::span<float> values)
    const {
    SWARM_TRY(const StoredTensor* const tensor, find(name, rows));
    const std::uint64_t columns = tensor->columns();
    if (values.size() != rows.count * columns) {
        return no_rows(name, *tensor, rows);
    }
    const auto decode = [&](std::uint64_t row, std::span<const std::byte> stored) {
        const auto place = values.subspan(row * columns, columns);
        decode_weights(tensor->type, stored, place);
        scale_row(tensor->scales, rows.first + row, place);
        if (tensor->adapter) {
            add_row(*tensor->adapter, rows.first + row, place);
        }
        if (tensor->added != 0) {
            for (float& value : place) {
                value += tensor->added;
            }
        }
    };
    if (auto read = for_rows(*tensor, rows, decode); read.has_error()) {
        return with_name(name, read.error());
    }
    if (auto finite = stages::check_finite(values); finite.has_error()) {
        return not_finite(name);
    }
    return {};
}

Result<std::span<const std::byte>> ModelSource::stored_rows(
    std::string_view name, RowRange rows, std::vector<std::byte>& room
) const {
    SWARM_TRY(const StoredTensor* const tensor, find(name, rows));
    const std::uint64_t each = row_bytes(*tensor);
    if (tensor->interleaved_heads == 0) {
        auto bytes =
            files_[tensor->file]->view(tensor->offset + rows.first * each, rows.count * each, room);
        return bytes ? std::move(bytes) : with_name(name, bytes.error());
    }
    room.resize(rows.count * each);
    const auto copy = [&](std::uint64_t row, std::span<const std::byte> stored) {
        std::copy_n(stored.begin(), each, room.begin() + static_cast<std::ptrdiff_t>(row * each));
    };
    if (auto read = for_rows(*tensor, rows, copy); read.has_error()) {
        return with_name(name, read.error());
    }
    return std::span<const std::byte>(room);
}

Result<> ModelSource::check_views(std::string_view name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
        return {};
    }
    const auto checked = files_[found->second.file]->check_views();
    return checked.has_error() ? Result<>(with_name(name, checked.error())) : checked;
}

Result<> ModelSource::check_there(std::string_view name, RowRange rows) const {
    SWARM_TRY(const StoredTensor* const tensor, find(name, rows));
    // Rows of a head are read together.
    const std::uint64_t unit = tensor->interleaved_heads > 0 ? rows_per_chunk(*tensor) : 1;
    const std::uint64_t first = rows.first / unit * unit;
    const std::uint64_t end = (rows.first + rows.count + unit - 1) / unit * unit;
    const std::uint64_t each = row_bytes(*tensor);
    const auto there =
        files_[tensor->file]->check_there(tensor->offset + first * each, (end - first) * each);
    return there.has_error() ? Result<>(with_name(name, there.error())) : there;
}

void ModelSource::fetch(std::string_view name, std::uint64_t from, std::uint64_t count) const {
    const StoredTensor& tensor = tensors_.find(name)->second;
    files_[tensor.file]->fetch(tensor.offset + from, count);
}

void ModelSource::forget(std::string_view name, RowRange rows) const {
    const StoredTensor& tensor = tensors_.find(name)->second;
    const std::uint64_t each = row_bytes(tensor);
    files_[tensor.file]->forget(tensor.offset + rows.first * each, rows.count * each);
}

Result<> ModelSource::read_stored(
    const StoredTensor& tensor, std::uint64_t from, std::span<std::byte> bytes
) const {
    SWARM_ASSERT(from <= tensor.bytes && bytes.size() <= tensor.bytes - from);
    return files_[tensor.file]->read(tensor.offset + from, bytes);
}

Result<std::vector<float>> ModelSource::read(std::string_view name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
        return refused(ErrorCode::NotFound, "the model has no tensor " + printable(name));
    }
    const StoredTensor& tensor = found->second;
    std::vector<float> values(tensor.rows() * tensor.columns());
    SWARM_TRY(read_rows(name, {0, tensor.rows()}, values));
    return values;
}

Result<std::vector<float>> ModelSource::read_stage(const StageLayout& layout) const {
    for (const TensorSpec& wanted : layout.tensors) {
        const auto found = tensors_.find(wanted.name);
        if (found == tensors_.end() || found->second.shape != wanted.shape) {
            return refused(
                ErrorCode::Mismatch,
                "the stage needs " + wanted.name + " as " + shape_text(wanted.shape) +
                    ", which this model does not have"
            );
        }
    }
    std::vector<float> values(layout.elements());
    std::span<float> left(values);
    for (const TensorSpec& wanted : layout.tensors) {
        const StoredTensor& tensor = tensors_.find(wanted.name)->second;
        const auto place = left.first(wanted.elements());
        SWARM_TRY(read_rows(wanted.name, {0, tensor.rows()}, place));
        left = left.subspan(place.size());
    }
    return values;
}

std::uint64_t ModelSource::stored_bytes(const StageLayout& layout) const {
    std::uint64_t bytes = 0;
    for (const TensorSpec& wanted : layout.tensors) {
        const auto found = tensors_.find(wanted.name);
        bytes += found == tensors_.end() ? 0 : found->second.bytes;
    }
    return bytes;
}

}  // namespace stacking::models
