#include "swarm/cli/train/patience_end.hpp"

#include "swarm/base/durable_file.hpp"
#include "swarm/cli/common/files.hpp"

#include <cstddef>
#include <span>
#include <sstream>

namespace swarm::cli {
namespace {

constexpr std::size_t kPatienceEndBytesMax = 4096;

}  // namespace

std::optional<PatienceEnd> read_patience_end(const std::filesystem::path& run) {
    Result<std::string> text = read_file(run / kPatienceEndFile, kPatienceEndBytesMax);
    if (!text || !text->ends_with('\n')) {
        return std::nullopt;
    }
    std::istringstream line(*text);
    PatienceEnd end;
    if (!(line >> end.step >> end.patience >> std::ws) || !std::getline(line, end.reason)) {
        return std::nullopt;
    }
    return end;
}

Result<> write_patience_end(const std::filesystem::path& run, const PatienceEnd& end) {
    const std::string line =
        std::to_string(end.step) + " " + std::to_string(end.patience) + " " + end.reason + "\n";
    const std::span<const std::byte> bytes = std::as_bytes(std::span(line));
    return write_durably(
        run / kPatienceEndFile,
        std::span(&bytes, 1),
        "a later --resume may train on, because it cannot know of the end"
    );
}

std::string to_text(const PatienceEnd& end, std::uint32_t patience) {
    const std::string ended =
        "eval.patience ended the run after step " + std::to_string(end.step) + ": " + end.reason;
    return patience == end.patience
               ? ended + "; it goes on with another value, such as --set eval.patience=0"
               : ended + "; it goes on, because eval.patience was " + std::to_string(end.patience) +
                     " and is " + std::to_string(patience);
}

}  // namespace swarm::cli
