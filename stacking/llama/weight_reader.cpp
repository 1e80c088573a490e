#include "stacking/llama/weight_reader.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <new>
#include <utility>

namespace stacking::llama {

using kernels::JoinedMatrix;
using kernels::kPanelOutputs;
using kernels::PackedMatrix;
using models::RowRange;
using models::StoredTensor;
using swarm::Error;
using swarm::Result;

namespace {

constexpr std::size_t kReadFloats = 1U << 17;      // 512 KiB, half of a usual second cache
constexpr std::uint64_t kSlabBytes = 16U << 20;    // Bytes of a file that are mapped at once
constexpr std::uint64_t kAheadBytes = 128U << 20;  // a disk takes some 0.1 s for them
constexpr std::size_t kWorkPerWeight = 4;          // packing costs more than a multiply-add

PackedMatrix make(const StoredTensor& tensor, std::size_t outputs, WeightChoice choice) {
    if (keeps_stored(tensor, choice)) {
        return {tensor.type, outputs, tensor.columns()};
    }
    return {choice.format().value_or(kernels::WeightFormat::Fp32), outputs, tensor.columns()};
}

/// Whether the inputs that a packed scale is for have one scale.
bool has_whole_groups(const StoredTensor& tensor) {
    const std::uint32_t columns = tensor.scales.block_columns;
    return columns >= tensor.columns() || columns % kernels::kF8Group == 0;
}

/// Rows of a slab, in whole panels.
std::uint64_t rows_of_slab(const StoredTensor& tensor) {
    const std::uint64_t row_bytes = std::max<std::uint64_t>(1, tensor.bytes / tensor.rows());
    return std::max<std::uint64_t>(1, kSlabBytes / row_bytes / kPanelOutputs) * kPanelOutputs;
}

/// Writes the scales of rows, one for each group of inputs.
void find_scales(const StoredTensor& tensor, RowRange rows, std::vector<float>& scales) {
    const std::size_t groups = (tensor.columns() + kernels::kF8Group - 1) / kernels::kF8Group;
    scales.resize(rows.count * groups);
    for (std::size_t i = 0; i < scales.size(); ++i) {
        scales[i] = scale_at(
            tensor.scales, tensor.columns(), rows.first + i / groups, i % groups * kernels::kF8Group
        );
    }
}

/// The first error of a slab, by rows, whichever thread comes first.
class FirstError {
 public:
    void note(std::uint64_t row, Error error) {
        const std::lock_guard lock(mutex_);
        if (!error_ || row < row_) {
            row_ = row;
            error_ = std::move(error);
        }
    }

    void note_no_memory() { no_memory_ = true; }

    /// REQUIRES: the threads have ended.
    std::optional<Error> take() {
        if (no_memory_) {
            throw std::bad_alloc();
        }
        return std::move(error_);
    }

 private:
    std::mutex mutex_;
    std::uint64_t row_ = 0;
    std::optional<Error> error_;
    std::atomic<bool> no_memory_{false};
};

}  // namespace

bool keeps_stored(const StoredTensor& tensor, WeightChoice choice) {
    const auto fits = [](float scale) { return std::fabs(scale) < kernels::kF8ScaleMax; };
    const bool plain = tensor.scales.values.empty() ||
                       (tensor.type == models::WeightType::F8_E4M3 && has_whole_groups(tensor) &&
                        std::ranges::all_of(tensor.scales.values, fits));
    return !choice.format() && PackedMatrix::keeps(tensor.type) && plain &&
           tensor.adapter == nullptr && tensor.added == 0;
}

WeightReader::WeightReader(
    const models::ModelSource& source, WeightChoice choice, swarm::Workers& workers
)
    : source_(source), choice_(choice), workers_(workers), rooms_(workers.threads()) {}

void WeightReader::expect(const swarm::run::StageLayout& layout) {
    std::uint64_t bytes = 0;
    for (const swarm::run::TensorSpec& wanted : layout.tensors) {
        const auto found = source_.tensors().find(wanted.name);
        if (found != source_.tensors().end()) {
            expected_.push_back(wanted.name);
            begins_.emplace(wanted.name, bytes);
            bytes += found->second.bytes;
        }
    }
}

void WeightReader::fetch_behind(std::string_view name, std::uint64_t row) {
    const auto found = begins_.find(name);
    if (found == begins_.end()) {
        return;
    }
    const StoredTensor& here = source_.tensors().find(name)->second;
    const std::uint64_t wanted = found->second + here.bytes / here.rows() * row + kAheadBytes;
    while (next_fetched_ < expected_.size()) {
        const std::string& next = expected_[next_fetched_];
        const std::uint64_t begin = begins_.find(next)->second;
        const std::uint64_t bytes = stored(next).bytes;
        const std::uint64_t end = std::min(bytes, wanted - std::min(wanted, begin));
        if (end > fetched_bytes_) {
            source_.fetch(next, fetched_bytes_, end - fetched_bytes_);
            fetched_bytes_ = end;
        }
        if (fetched_bytes_ < bytes) {
            return;
        }
        ++next_fetched_;
        fetched_bytes_ = 0;
    }
}

std::vector<float> WeightReader::vector(const std::string& name) {
    auto values = source_.read(name);
    if (!values) {
        fail(values.error());
        return {};
    }
    return std::move(*values);
}

std::vector<float> WeightReader::vector_if(const std::string& name) {
    return source_.tensors().contains(name) ? vector(name) : std::vector<float>();
}

JoinedMatrix WeightReader::matrix(std::initializer_list<std::string> names) {
    JoinedMatrix joined;
    for (const auto* name = names.begin(); name != names.end();) {
        const auto* const end = std::find_if(name + 1, names.end(), [&](const auto& other) {
            return !has_format_of(*name, other);
        });
        std::size_t outputs = 0;
        for (const auto* each = name; each != end; ++each) {
            outputs += stored(*each).rows();
        }
        PackedMatrix packed = make(stored(*name), outputs, choice_);
        for (std::size_t first = 0; name != end; ++name) {
            add({*name, stored(*name), first, packed, keeps_stored(stored(*name), choice_)});
            first += stored(*name).rows();
        }
        joined.add(std::move(packed));
    }
    return joined;
}

JoinedMatrix WeightReader::exact_matrix(const std::string& name) {
    const WeightChoice usual = std::exchange(choice_, kernels::WeightFormat::Fp32);
    JoinedMatrix exact = matrix({name});
    choice_ = usual;
    return exact;
}

bool WeightReader::has_format_of(const std::string& left, const std::string& right) const {
    return choice_.format() ||
           (stored(left).type == stored(right).type &&
            keeps_stored(stored(left), choice_) == keeps_stored(stored(right), choice_));
}

void WeightReader::add(const Target& target) {
    const std::uint64_t rows = target.tensor.rows();
    const std::uint64_t at_once = rows_of_slab(target.tensor);
    for (std::uint64_t row = 0; row < rows && !fault_;) {
        // A slab ends with a panel of the packed matrix.
        const std::uint64_t begin = target.first + row;
        const std::uint64_t end = (begin / kPanelOutputs * kPanelOutputs) + at_once - target.first;
        const RowRange slab{row, std::min(rows, end) - row};
        fetch_behind(target.name, row);
        add_slab(target, slab);
        source_.forget(target.name, slab);
        row += slab.count;
    }
}

void WeightReader::add_slab(const Target& target, RowRange rows) {
    if (const auto there = source_.check_there(target.name, rows); there.has_error()) {
        return fail(there.error());
    }
    const std::size_t begin = target.first + rows.first;
    const std::size_t end = begin + rows.count;
    const std::size_t first_panel = begin / kPanelOutputs;
    const std::size_t panels = (end + kPanelOutputs - 1) / kPanelOutputs - first_panel;
    const std::size_t work = kPanelOutputs * target.packed.inputs() * kWorkPerWeight;
    FirstError first_error;
    workers_.split(panels, work, [&](swarm::UnitRange units, std::size_t thread) {
        for (std::size_t unit = units.begin; unit < units.end; ++unit) {
            const std::size_t panel = (first_panel + unit) * kPanelOutputs;
            const std::size_t from = std::max(begin, panel);
            const std::size_t to = std::min(end, panel + kPanelOutputs);
            const RowRange part{from - target.first, to - from};
            try {
                const auto added = add_rows(target, part, rooms_[thread]);
                if (added.has_error()) {
                    first_error.note(part.first, added.error());
                }
            } catch (const std::bad_alloc&) {
                first_error.note_no_memory();
            }
        }
    });
    if (auto error = first_error.take()) {
        fail(std::move(*error));
    } else if (const auto good = source_.check_views(target.name); good.has_error()) {
        fail(good.error());
    }
}

Result<> WeightReader::add_rows(const Target& target, RowRange rows, Room& room) {
    if (target.keeps) {
        SWARM_TRY(const auto bytes, source_.stored_rows(target.name, rows, room.bytes));
        if (!target.tensor.scales.values.empty()) {
            find_scales(target.tensor, rows, room.values);
            const bool good =
                target.packed.add_scaled(target.first + rows.first, bytes, room.values);
            return good ? Result<>() : models::not_finite(target.name);
        }
        if (!target.packed.add_stored(target.first + rows.first, bytes)) {
            return models::not_finite(target.name);
        }
        return {};
    }
    const std::size_t inputs = target.packed.inputs();
    const std::uint64_t at_once = std::max<std::uint64_t>(1, kReadFloats / inputs);
    for (std::uint64_t done = 0; done < rows.count; done += at_once) {
        const RowRange part{rows.first + done, std::min(at_once, rows.count - done)};
        room.values.resize(part.count * inputs);
        SWARM_TRY(source_.read_rows(target.name, part, room.values));
        target.packed.add_rows(target.first + part.first, room.values);
    }
    return {};
}

void WeightReader::fail(Error error) {
    if (!fault_) {
        fault_ = std::move(error);
    }
}

}  // namespace stacking::llama
