// A model on disk: its architecture, and any rows of any tensor as fp32, read on demand.
// Tensors have the project's names, by global layer index: "embed.weight", "layers.17.attn.wq",
// "head.norm", "head.weight" (swarm/run/partition.hpp). Matrices are (out, in), row-major, with q
// and k in rotate-half order, whatever order the file has; a tied model has a head.weight, too.
// Invariant: each tensor that the architecture needs exists with its shape, inside its file.
// Threading: const and any thread. Cost: reads the byte ranges of the requested rows; besides the
// result it holds kReadBytes, or one head of q or k, of a source that is not mapped.
// Errors: NotFound (tensor), Mismatch (rows, shape), NotFinite, StorageFailed; Reject: the caller
// refuses the model.
#pragma once

#include "stacking/models/architecture.hpp"
#include "stacking/models/byte_source.hpp"
#include "stacking/models/weight_type.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::models {

/// Factors of blocks of weights.
struct WeightScales {
    std::uint32_t block_rows = 0;
    std::uint32_t block_columns = 0;
    std::vector<float> values{};  // (blocks of rows, blocks of columns); empty: there are none
};

/// The scale of a weight of a tensor with so many columns. REQUIRES: there are scales.
float scale_at(
    const WeightScales& scales, std::uint64_t columns, std::uint64_t row, std::uint64_t column
);

/// Multiplies the weights of a row of a tensor by their scales.
void scale_row(const WeightScales& scales, std::uint64_t row, std::span<float> values);

/// The product of two small matrices that is added to a tensor: an adapter.
struct LowRank {
    std::uint32_t rank = 0;
    float scale = 0;           // factor of the product
    std::vector<float> out{};  // (rows of the tensor, rank)
    std::vector<float> in{};   // (rank, columns of the tensor)
};

/// Adds the product's row to the weights of a row of a tensor, rank by rank.
void add_row(const LowRank& product, std::uint64_t row, std::span<float> values);

struct StoredTensor {
    std::vector<std::uint32_t> shape;  // row-major
    WeightType type = WeightType::F32;
    std::size_t file = 0;      // index of the file
    std::uint64_t offset = 0;  // bytes from the start of the file
    std::uint64_t bytes = 0;
    /// Number of heads whose h rows are stored as x0, x(h/2), x1, x(h/2 + 1), ...; 0: the rows are
    /// stored in order.
    std::uint32_t interleaved_heads = 0;
    float added = 0;        // to every stored value: norms of Gemma are stored less one
    WeightScales scales{};  // each weight is multiplied by that of its block
    std::shared_ptr<const LowRank> adapter{};  // null: there is none

    /// Number of rows; a vector is one row.
    [[nodiscard]] std::uint64_t rows() const { return shape.size() < 2 ? 1 : shape.front(); }

    [[nodiscard]] std::uint64_t columns() const { return shape.back(); }
};

/// "(8, 12)": for refusals.
std::string shape_text(const std::vector<std::uint32_t>& shape);

struct RowRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

/// The error of a tensor that holds an infinity or NaN.
swarm::Error not_finite(std::string_view tensor);

class ModelSource {
 public:
    using Tensors = std::map<std::string, StoredTensor, std::less<>>;
    using Files = std::vector<std::unique_ptr<ByteSource>>;

    /// Returns Malformed or Unsupported when the tensors do not fit the architecture.
    static swarm::Result<ModelSource> make(Architecture architecture, Tensors tensors, Files files);

    [[nodiscard]] const Architecture& architecture() const { return architecture_; }

    [[nodiscard]] const Tensors& tensors() const { return tensors_; }

    /// Adds the product to a tensor, whose rows are read with it from now on. REQUIRES: the tensor
    /// exists, the product has its size, and no other was added.
    void set_adapter(std::string_view name, std::shared_ptr<const LowRank> adapter);

    /// `values`: room for rows.count x columns values.
    [[nodiscard]] swarm::Result<> read_rows(
        std::string_view name, RowRange rows, std::span<float> values
    ) const;
    [[nodiscard]] swarm::Result<std::vector<float>> read(std::string_view name) const;

    /// Returns rows in the model's order as they are stored: in their place where a file is mapped
    /// and has that order, else in `room`. Whether they are numbers is not checked. Whoever has
    /// used them asks check_views() before trusting what came of them.
    [[nodiscard]] swarm::Result<std::span<const std::byte>> stored_rows(
        std::string_view name, RowRange rows, std::vector<std::byte>& room
    ) const;
    [[nodiscard]] swarm::Result<> check_views(std::string_view name) const;
    /// Returns the error that reading these rows would have, as far as it is known without reading.
    [[nodiscard]] swarm::Result<> check_there(std::string_view name, RowRange rows) const;

    /// Asks for stored bytes of a tensor that are wanted soon. REQUIRES: the tensor exists.
    void fetch(std::string_view name, std::uint64_t from, std::uint64_t count) const;
    /// Gives the memory of rows back that were read. REQUIRES: the tensor exists.
    void forget(std::string_view name, RowRange rows) const;

    /// Reads all tensors of a stage into one flat list in the layout's order, which is the argument
    /// of StageCompute::use_weights().
    [[nodiscard]] swarm::Result<std::vector<float>> read_stage(const swarm::run::StageLayout& layout
    ) const;

    /// Reads the tensor's stored bytes, from the `from`-th on.
    [[nodiscard]] swarm::Result<> read_stored(
        const StoredTensor& tensor, std::uint64_t from, std::span<std::byte> bytes
    ) const;

    /// Number of bytes that read_stage() would read from the files.
    [[nodiscard]] std::uint64_t stored_bytes(const swarm::run::StageLayout& layout) const;

 private:
    ModelSource(Architecture architecture, Tensors tensors, Files files)
        : architecture_(std::move(architecture)),
          tensors_(std::move(tensors)),
          files_(std::move(files)) {}

    [[nodiscard]] swarm::Result<const StoredTensor*> find(std::string_view name, RowRange rows)
        const;
    /// Calls body(row from rows.first on, stored bytes) for each row, in the order of the file.
    template <class Body>
    [[nodiscard]] swarm::Result<> for_rows(
        const StoredTensor& tensor, RowRange rows, const Body& body
    ) const;

    Architecture architecture_;
    Tensors tensors_;
    Files files_;
};

}  // namespace stacking::models
