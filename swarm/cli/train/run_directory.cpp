#include "swarm/cli/train/run_directory.hpp"

#include "stages/files/checkpoint.hpp"
#include "stages/files/checkpoint_manifest.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/try.hpp"
#include "swarm/base/write_error.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/common/run_setup.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/partition.hpp"

#include <cerrno>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

Result<> write_file(const fs::path& path, const std::string& content) {
    constexpr const char* kElsewhere = "choose another folder with --dir";
    const fs::path draft = path.string() + ".draft";
    SWARM_TRY(make_folder_of(path, kElsewhere));
    std::error_code error;
    errno = 0;
    std::ofstream out(draft, std::ios::binary);
    out << content;
    out.close();
    if (out) {
        fs::rename(draft, path, error);
    }
    if (!out || error) {
        const int code = out ? error.value() : errno;
        fs::remove(draft, error);
        return write_error(path, code, kElsewhere);
    }
    return {};
}

bool holds_run(const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / kRunFileName, ignored);
}

Result<> expect_no_run(const fs::path& folder) {
    if (!holds_run(folder)) {
        return {};
    }
    return Error{
        ErrorCode::Usage,
        Reaction::Reject,
        folder.string() + " holds a run already; go on with --resume, or choose another --dir"};
}

/// Replicas that the checkpoint lacks join as newcomers do; those that the run lacks are lost.
Result<> find_replicas(const stages::Checkpoint& checkpoint, RunDirectory& directory) {
    for (const run::StageLayout& layout : run::partition(directory.config)) {
        SWARM_TRY(auto found, stages::restore_replicas(checkpoint, layout));
        directory.replicas.push_back(std::move(found));
    }
    const std::size_t held = directory.replicas.front().size();
    const std::uint32_t wanted = run::replicas_alone(directory.config);
    if (held != wanted) {
        directory.notices.push_back(
            "the checkpoint has " + std::to_string(held) + " replicas of each stage, the run " +
            std::to_string(wanted) +
            (held < wanted ? ": the others join with empty error buffers"
                           : ": what the others had not sent is lost")
        );
    }
    return {};
}

Result<> find_checkpoint(RunDirectory& directory) {
    Result<stages::FoundCheckpoint> found = stages::find_latest(directory.path);
    if (!found) {
        if (found.error().code == ErrorCode::NotFound) {
            directory.notices.push_back(
                found.error().detail + ": going on with what peers still hold, else from the start"
            );
            return {};
        }
        return found.error();
    }
    if (!found->notices.empty()) {
        std::string passed_over;
        for (const std::string& notice : found->notices) {
            passed_over += notice + "; ";
        }
        directory.notices.push_back(
            passed_over + "going on from " + found->folder.string() + ", the newest that is whole"
        );
    }
    if (found->checkpoint.config.model.tied_embeddings != directory.config.model.tied_embeddings) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            found->folder.string() + " is of a run with another model.tied_embeddings"};
    }
    SWARM_TRY(
        directory.resumed,
        stages::restore_stages(found->checkpoint, run::partition(directory.config))
    );
    return directory.config.mode == run::SyncMode::Sparse
               ? find_replicas(found->checkpoint, directory)
               : Result<>();
}

/// A resumed run keeps its first tokenizer, because its weights were trained on the tokens of that
/// one.
Result<> find_tokenizer(RunDirectory& directory) {
    const fs::path run_file = directory.path / kRunFileName;
    SWARM_TRY(const std::string text, read_file(run_file, protocol::kRunFileBytesMax));
    SWARM_TRY(const run::RunConfig begun, run::parse_run(text, run_file.string()));
    run::RunConfig& config = directory.config;
    const std::string& digest = begun.tokenizer_sha256;
    if (config.tokenizer != begun.tokenizer ||
        (!config.tokenizer_sha256.empty() && config.tokenizer_sha256 != digest)) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            "the run in " + directory.path.string() + " was begun with the tokenizer " +
                begun.tokenizer + "; it cannot go on with " +
                (config.tokenizer == begun.tokenizer ? "another one" : config.tokenizer)};
    }
    config.tokenizer_sha256 = digest;
    if (!run::sentencepiece_tokens(config.tokenizer)) {
        return {};
    }
    const fs::path path = directory.path / stages::kTokenizerFile;
    Result<std::string> file = read_file(path, stages::kTokenizerBytesMax);
    if (!file || to_hex(sha256(std::as_bytes(std::span(*file)))) != digest) {
        return Error{
            file ? ErrorCode::Mismatch : file.error().code,
            Reaction::Reject,
            (file ? path.string() + " is not the tokenizer of this run" : file.error().detail) +
                "; each of its checkpoints has a copy"};
    }
    directory.tokenizer = std::move(*file);
    return {};
}

}  // namespace

Result<> write_run_files(RunDirectory& directory) {
    if (!directory.store) {
        SWARM_TRY(directory.store, net::FileStore::open(directory.path));
        SWARM_TRY(expect_no_run(directory.path));  // another process may have begun one meanwhile
    }
    if (!directory.tokenizer.empty()) {
        // The tokenizer comes first, so that no run.toml is without its tokenizer.
        const fs::path path = directory.path / stages::kTokenizerFile;
        SWARM_TRY(write_file(path, directory.tokenizer));
    }
    return write_file(directory.path / kRunFileName, run::to_toml(directory.config));
}

Result<RunDirectory> open_run_directory(const TrainOptions& options) {
    RunDirectory directory;
    fs::path run_file = options.run_file;
    if (options.resume && run_file.empty()) {
        directory.path =
            options.directory.empty() ? fs::path("runs") / "run" : fs::path(options.directory);
        run_file = directory.path / kRunFileName;
    }
    SWARM_TRY(directory.config, resolve_run(run_file, options.run));
    directory.path = options.directory.empty() ? fs::path("runs") / directory.config.name
                                               : fs::path(options.directory);
    if (!options.resume) {
        SWARM_TRY(expect_no_run(directory.path));
        return directory;
    }
    if (!holds_run(directory.path)) {
        return Error{
            ErrorCode::NotFound,
            Reaction::Reject,
            "nothing to resume in " + directory.path.string() + "; name the folder with --dir"};
    }
    SWARM_TRY(directory.store, net::FileStore::open(directory.path));
    SWARM_TRY(find_tokenizer(directory));
    SWARM_TRY(find_checkpoint(directory));
    return directory;
}

std::optional<run::RunState> as_run_state(const std::vector<stages::StageState>& stages) {
    if (stages.empty()) {
        return std::nullopt;
    }
    run::RunState state{stages.front().version(), {}};
    for (const stages::StageState& stage : stages) {
        std::vector<node::Payload>& chunks = state.chunks.emplace_back();
        for (std::uint32_t i = 0; i < stage.chunk_count(); ++i) {
            chunks.push_back(stage.chunk(i));
        }
    }
    return state;
}

}  // namespace swarm::cli
