#include "swarm/cli/setup/data_rows.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>
#include <system_error>

namespace swarm::cli {

Result<std::unique_ptr<DataRows>> DataRows::open(
    const std::filesystem::path& folder, const run::RunConfig& config
) {
    SWARM_TRY(auto data, data::DataSet::open(folder, data::Check::Everything));
    std::unique_ptr<DataRows> rows(new DataRows(std::move(data)));
    SWARM_TRY(rows->samples_, data::Samples::make(rows->data_, config.model.context, config.seed));
    return rows;
}

// A run that goes on in a later epoch has told of it before: the first sample of a source that this
// process reads says in which one it is.
void DataRows::note_epoch(std::uint64_t number) const {
    const data::SamplePlace place = samples_->place(number);
    const bool has_weights = samples_->mixture().has_value();
    const auto [known, is_first] = epochs_.try_emplace(has_weights ? place.source : 0, place.epoch);
    if (is_first || place.epoch <= known->second) {
        return;
    }
    known->second = place.epoch;
    const std::string what =
        has_weights ? "source " + data_.manifest().sources[place.source].name : "the data";
    repeats_.push_back(
        what + " has been read whole; its samples come again, time " +
        std::to_string(place.epoch + 1)
    );
}

std::vector<std::string> DataRows::take_repeats() {
    return std::exchange(repeats_, {});
}

void DataRows::read(std::uint64_t number, std::span<std::uint32_t> ids) const {
    note_epoch(number);
    if (const Result<> read = samples_->read(number, ids); !read) {
        std::fill(ids.begin(), ids.end(), 0U);
        if (!failure_) {
            failure_ = read.error();
        }
    }
}

std::uint64_t DataRows::tokens() const {
    std::uint64_t tokens = 0;
    for (const data::ManifestSource& source : data_.manifest().sources) {
        tokens += source.tokens;
    }
    return tokens;
}

std::uint64_t DataRows::text_bytes() const {
    std::uint64_t bytes = 0;
    for (const data::ManifestSource& source : data_.manifest().sources) {
        bytes += source.text_bytes;
    }
    return bytes;
}

bool is_data_folder(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored);
}

}  // namespace swarm::cli
