#include "swarm/cli/codec_choices.hpp"

#include "swarm/net/file_store.hpp"
#include "swarm/run/commit_log.hpp"

#include <filesystem>

namespace swarm::cli {
namespace {

Error unusable_codecs(const std::string& folder, const std::string& why) {
    return {ErrorCode::Usage, Reaction::Reject, "--codecs-from " + folder + ": " + why};
}

}  // namespace

Result<std::vector<run::CodecChange>> read_codec_choices(
    const std::string& folder, const run::RunConfig& config
) {
    if (folder.empty()) {
        return std::vector<run::CodecChange>();
    }
    if (!run::chooses_codecs(config)) {
        return unusable_codecs(folder, "this run's codec is " + config.codec + ", not auto");
    }
    if (!std::filesystem::exists(std::filesystem::path(folder) / "run.toml")) {
        return unusable_codecs(folder, "there is no run");
    }
    const Result<net::FileStore> store = net::FileStore::open(folder);
    if (!store) {
        return store.error();
    }
    const Result<std::vector<std::string>> records = store->load();
    if (!records) {
        return records.error();
    }
    const Result<run::RunHistory> history = run::replay_log(*records);
    if (!history) {
        return history.error();
    }
    const std::size_t legs = run::first_codecs(config).size();
    for (const run::CodecChange& change : history->codecs) {
        if (change.codecs.size() != legs) {
            return unusable_codecs(folder, "that run has another number of stages");
        }
    }
    return history->codecs;
}

}  // namespace swarm::cli
