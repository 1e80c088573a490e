#include "stages/files/best_checkpoint.hpp"

#include "swarm/base/durable_file.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <span>

namespace stages {

std::optional<BestCheckpoint> read_best_checkpoint(const std::filesystem::path& run) {
    std::ifstream file(run / kBestCheckpointFile);
    BestCheckpoint best;
    std::string number;
    if (!(file >> best.name >> number)) {
        return std::nullopt;
    }
    const char* const end = number.data() + number.size();
    const auto [at, error] = std::from_chars(number.data(), end, best.loss);
    const bool is_whole = error == std::errc() && at == end && std::isfinite(best.loss);
    return is_whole ? std::optional(best) : std::nullopt;
}

swarm::Result<> write_best_checkpoint(
    const std::filesystem::path& run, const BestCheckpoint& best
) {
    char number[40];
    std::snprintf(number, sizeof number, "%.17g", best.loss);
    const std::string line = best.name + " " + number + "\n";
    const std::span<const std::byte> bytes = std::as_bytes(std::span(line));
    return swarm::write_durably(
        run / kBestCheckpointFile, std::span(&bytes, 1), "the best checkpoint may be pruned"
    );
}

}  // namespace stages
