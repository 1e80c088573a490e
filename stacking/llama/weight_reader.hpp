// Reads tensors of a model and packs them for the kernels, over the threads.
// Invariant: threads get panels, so the packed bytes do not depend on their number. A matrix is
// taken in slabs whose pages are given back, so a file that is mapped costs one slab of memory; and
// the system is asked for what follows while a slab is packed, so the disk does not wait.
// Threading: one thread, that of the caller; `workers` compute. Errors: those of ModelSource are
// kept, and the first one is the fault; after it every value is zero. std::bad_alloc is thrown.
// Cost: reads each row once. A thread keeps the rows of a panel as fp32 where they are converted.
#pragma once

#include "stacking/kernels/joined_matrix.hpp"
#include "stacking/llama/weight_choice.hpp"
#include "stacking/models/model_source.hpp"
#include "swarm/base/workers.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::llama {

/// Whether the tensor's weights stay as they are stored.
bool keeps_stored(const models::StoredTensor& tensor, WeightChoice choice);

class WeightReader {
 public:
    WeightReader(const models::ModelSource& source, WeightChoice choice, swarm::Workers& workers);

    /// Says which tensors will be read, roughly in their order. Without it nothing is asked for
    /// ahead of time.
    void expect(const swarm::run::StageLayout& layout);

    std::vector<float> vector(const std::string& name);

    /// Returns an empty list when the model has no such tensor.
    std::vector<float> vector_if(const std::string& name);

    /// Reads the named tensors as one matrix, one below the other. Neighbours of one format share
    /// their panels.
    kernels::JoinedMatrix matrix(std::initializer_list<std::string> names);

    /// Reads a matrix as fp32, whatever the others are.
    kernels::JoinedMatrix exact_matrix(const std::string& name);

    [[nodiscard]] const std::optional<swarm::Error>& fault() const { return fault_; }

 private:
    /// Memory in which a thread converts rows.
    struct Room {
        std::vector<float> values;
        std::vector<std::byte> bytes;
    };

    /// Where a tensor goes: its rows are outputs from `first` on.
    struct Target {
        const std::string& name;
        const models::StoredTensor& tensor;
        std::size_t first;
        kernels::PackedMatrix& packed;
        bool keeps;  // the weights stay as they are stored
    };

    [[nodiscard]] const models::StoredTensor& stored(const std::string& name) const {
        return source_.tensors().find(name)->second;
    }

    [[nodiscard]] bool has_format_of(const std::string& left, const std::string& right) const;
    void add(const Target& target);
    void add_slab(const Target& target, models::RowRange rows);
    [[nodiscard]] swarm::Result<> add_rows(const Target& target, models::RowRange rows, Room& room);
    /// Asks for the tensors behind this row of the named one.
    void fetch_behind(std::string_view name, std::uint64_t row);
    void fail(swarm::Error error);

    const models::ModelSource& source_;
    WeightChoice choice_;
    swarm::Workers& workers_;
    std::vector<Room> rooms_;  // by thread
    // The expected tensors in their order, and where each begins if all were in one file.
    std::vector<std::string> expected_;
    std::map<std::string, std::uint64_t, std::less<>> begins_;
    std::size_t next_fetched_ = 0;     // place in expected_
    std::uint64_t fetched_bytes_ = 0;  // bytes of the tensor in that place
    std::optional<swarm::Error> fault_;
};

}  // namespace stacking::llama
