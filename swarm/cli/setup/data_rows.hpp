// A folder of `swarm data build` as the rows that a run trains on.
// Invariant: row n is sample n of swarm/data, a function of (data, context, seed, n). So a replay,
// a resumed run, --single and another machine read the same tokens, and an epoch has each sample
// once, however often the run was ended.
// Threading: one thread. Memory: the ids are mapped, so data may be larger than memory.
// Errors (Reject): those of DataSet::open and Samples::make.
// Cost: opening reads all bytes, about 1 GB/s.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/data_set.hpp"
#include "swarm/data/samples.hpp"
#include "swarm/run/batch_plan.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {

class DataRows : public run::SampleRows {
 public:
    /// The ids are those of the data's tokenizer: whether the model has them, its owner asks
    /// data().check_fits(). Mismatch: a source is shorter than a context.
    static Result<std::unique_ptr<DataRows>> open(
        const std::filesystem::path& folder, const run::RunConfig& config
    );

    void read(std::uint64_t number, std::span<std::uint32_t> ids) const override;

    /// Says why a row could not be read, which became zeros: a shard was changed under the run,
    /// which must end before it counts the step.
    [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

    /// Says of each source that has been read whole since the last call that its samples come
    /// again; a run without weights has one source in this sense. Each epoch is told once.
    [[nodiscard]] std::vector<std::string> take_repeats();

    [[nodiscard]] const data::DataSet& data() const { return data_; }

    [[nodiscard]] const data::Samples& samples() const { return *samples_; }

    [[nodiscard]] std::uint64_t tokens() const;
    [[nodiscard]] std::uint64_t text_bytes() const;

 private:
    explicit DataRows(data::DataSet data) : data_(std::move(data)) {}

    void note_epoch(std::uint64_t number) const;

    data::DataSet data_;
    std::optional<data::Samples> samples_;  // refer to data_
    mutable std::optional<Error> failure_;  // the first one
    mutable std::map<std::size_t, std::uint64_t> epochs_;  // newest one, by source
    mutable std::vector<std::string> repeats_;             // not told yet
};

/// Whether a corpus is a folder. DataRows::open() says whether data was built there.
bool is_data_folder(const std::filesystem::path& path);

}  // namespace swarm::cli
