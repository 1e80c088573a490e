#include "swarm/cli/train/run_directory.hpp"

#include "stages/files/checkpoint.hpp"
#include "stages/files/checkpoint_manifest.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/setup/base_model.hpp"
#include "swarm/cli/setup/run_setup.hpp"
#include "swarm/coordinator/commit_log.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/versions.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <system_error>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

/// Name of the file with the configuration that the last process of the run went on with.
constexpr const char* kLastRunFileName = "last-run.toml";

/// The folder must be locked.
Result<> write_file(RunDirectory& directory, const std::string& name, const std::string& content) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(content));
    const Result<> written = directory.store->write_file(name, std::span(&bytes, 1));
    if (!written) {
        Error error = written.error();
        error.detail += "; or choose another folder with --dir";
        return error;
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

ResumeRequest request_of(const RunDirectory& directory, const TrainOptions& options) {
    return {directory.path.string(), options.accept_changes, options.single};
}

/// Judges all changes but that of the text, which is not loaded yet.
Result<> judge_settings(const RunDirectory& directory, const TrainOptions& options) {
    run::RunConfig now = directory.config;
    now.corpus = directory.last->corpus;
    now.corpus_sha256 = directory.last->corpus_sha256;
    if (now.train.document_end.empty()) {  // the text tells it
        now.train.document_end = directory.last->train.document_end;
    }
    SWARM_TRY(
        judge_changes(*directory.last, now, directory.progress, request_of(directory, options))
    );
    return {};
}

Result<> find_checkpoint(RunDirectory& directory, const TrainOptions& options) {
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
    const auto old = stages::checkpoints_to_prune(
        directory.path, found->folder.filename().string(), directory.config
    );
    if (!old.empty()) {
        directory.notices.push_back(
            "the next checkpoint removes " + std::to_string(old.size()) +
            " older ones: run.checkpoint_keep is " +
            std::to_string(directory.config.checkpoint_keep) + ", and 0 keeps all"
        );
    }
    directory.progress.checkpoint = found->checkpoint.version.step;
    directory.progress.steps = std::max(directory.progress.steps, found->checkpoint.version.step);
    SWARM_TRY(judge_settings(directory, options));  // states of other shapes cannot be restored
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

/// Runs of earlier versions have no last-run.toml: their run.toml is all that is known of them.
Result<run::RunConfig> read_last_run(const fs::path& folder) {
    std::error_code ignored;
    const bool is_known = fs::exists(folder / kLastRunFileName, ignored);
    const fs::path file = folder / (is_known ? kLastRunFileName : kRunFileName);
    SWARM_TRY(const std::string text, read_file(file, protocol::kRunFileBytesMax));
    return run::parse_run(text, file.string());
}

/// A resumed run keeps its first tokenizer, because its weights were trained on the tokens of that
/// one.
Result<> find_tokenizer(RunDirectory& directory) {
    const run::RunConfig& begun = *directory.last;
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
    if (!run::has_tokenizer_file(config.tokenizer)) {
        return {};
    }
    std::error_code ignored;
    fs::path path = directory.path / stages::kTokenizerFile;
    if (const fs::path other = directory.path / stages::kTokenizerJsonFile;
        fs::exists(other, ignored)) {
        path = other;
    }
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

/// The folder that --dir names, else runs/NAME, with the name that the run file says.
Result<fs::path> folder_of(const TrainOptions& options) {
    if (!options.directory.empty()) {
        return fs::path(options.directory);
    }
    if (options.resume && options.run_file.empty()) {
        return fs::path("runs") / run::RunConfig{}.name;
    }
    SWARM_TRY(const run::RunConfig config, resolve_run(options.run_file, options.run));
    return fs::path("runs") / config.name;
}

/// A run that goes on has its settings in its folder, unless the command line names a file.
fs::path run_file_of(const TrainOptions& options, const RunDirectory& directory) {
    return options.resume && options.run_file.empty() ? directory.path / kRunFileName
                                                      : fs::path(options.run_file);
}

/// The run file of a person does not know how the run has cut its layers itself.
void keep_measured_split(RunDirectory& directory) {
    const run::RunConfig& last = *directory.last;
    run::RunConfig& now = directory.config;
    const bool measured =
        last.split == run::SplitMode::Measured && now.split == run::SplitMode::Measured;
    if (measured && last.stages == now.stages && last.model.layers == now.model.layers) {
        now.layers_per_stage = last.layers_per_stage;
    }
}

/// Counts the steps of the log.
Result<> read_log(RunDirectory& directory) {
    SWARM_TRY(const std::vector<std::string> records, directory.store->load());
    const Result<coordinator::RunHistory> history = coordinator::replay_log(records);
    if (!history) {
        return Error{history.error().code, Reaction::Reject, history.error().detail};
    }
    const std::uint64_t version = history->version.step;
    directory.progress = {run::steps_before(*directory.last, version), std::nullopt, version > 0};
    return {};
}

/// Returns the path of `file` as the run.toml in `folder` names it, which is absolute, empty or
/// relative as `written` is.
std::string path_from(const fs::path& folder, const std::string& written, const fs::path& file) {
    if (written.empty() || fs::path(written).is_absolute()) {
        return written;
    }
    std::error_code failed;
    const fs::path relative = fs::relative(file, fs::absolute(folder), failed);
    return failed || relative.empty() ? fs::absolute(file).string() : relative.string();
}

/// Finds the digest of the text that a run of an earlier version was trained on, which pinned none,
/// where another file is named now. The same file by another path is no change.
void recall_corpus(RunDirectory& directory) {
    run::RunConfig& last = *directory.last;
    const run::RunConfig& now = directory.config;
    const fs::path before = find_corpus(last.corpus, directory.path).path;
    std::error_code ignored;
    if (fs::equivalent(before, find_corpus(now.corpus, directory.path).path, ignored)) {
        last.corpus = now.corpus;
        last.corpus_sha256 = last.corpus_sha256.empty() ? now.corpus_sha256 : last.corpus_sha256;
    } else if (last.corpus_sha256.empty()) {
        const Result<std::string> digest = digest_of_file(before);
        last.corpus_sha256 = digest ? *digest : "not known";
    }
}

/// Loads the texts of eval.texts and names them as the run.toml in the run's folder does.
Result<> load_eval_texts(RunDirectory& directory, const TrainOptions& options, TrainingText& text) {
    std::vector<std::string>& names = directory.config.eval.texts;
    const fs::path folder = held_out_folder(run_file_of(options, directory), options.run);
    std::vector<fs::path> paths;
    for (const std::string& name : names) {
        paths.push_back(folder / name);  // an absolute path stays as it is
    }
    SWARM_TRY(text.held_out, load_held_out(directory.config, paths, text.tokenizer));
    for (std::size_t i = 0; i < names.size(); ++i) {
        names[i] = path_from(directory.path, names[i], paths[i]);
    }
    return {};
}

bool is_zero(const node::Payload& chunk) {
    return std::ranges::all_of(chunk.bytes(), [](std::byte value) { return value == std::byte{}; });
}

}  // namespace

Result<> write_run_files(RunDirectory& directory) {
    if (!directory.store) {
        SWARM_TRY(directory.store, net::FileStore::open(directory.path));
        SWARM_TRY(expect_no_run(directory.path));  // another process may have begun one meanwhile
    }
    if (!directory.tokenizer.empty()) {
        // The tokenizer comes first, so that no run.toml is without its tokenizer.
        const char* const name = stages::tokenizer_file_name(directory.tokenizer);
        SWARM_TRY(write_file(directory, name, directory.tokenizer));
    }
    const std::string text = run::to_toml(directory.config);
    SWARM_TRY(write_file(directory, kRunFileName, text));
    return write_file(directory, kLastRunFileName, text);
}

Result<RunDirectory> open_run_directory(const TrainOptions& options) {
    RunDirectory directory;
    if (!options.resume) {
        SWARM_TRY(directory.config, resolve_run(options.run_file, options.run));
    }
    SWARM_TRY(directory.path, folder_of(options));
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
    SWARM_TRY(directory.config, resolve_run(run_file_of(options, directory), options.run));
    SWARM_TRY(directory.last, read_last_run(directory.path));
    if (!options.run_file.empty()) {
        keep_measured_split(directory);
    }
    if (!options.single) {  // one process goes on from checkpoints alone
        SWARM_TRY(read_log(directory));
    }
    SWARM_TRY(find_tokenizer(directory));
    SWARM_TRY(find_checkpoint(directory, options));
    directory.ended = read_patience_end(directory.path);
    if (directory.ended && directory.ended->step != directory.progress.steps) {
        directory.ended.reset();  // the run has gone on since
    }
    return directory;
}

Result<> load_first_states(RunDirectory& directory) {
    run::RunConfig& config = directory.config;
    // Without a digest the model was named anew, and the checkpoint of step 0 is of another one.
    const bool is_later =
        !directory.resumed.empty() &&
        (directory.resumed.front().version() != ParameterVersion{} || !config.init_sha256.empty());
    if (config.init.empty() || is_later || directory.progress.has_commits) {
        return {};
    }
    SWARM_TRY(BaseModel base, open_base_model(config, {}));
    SWARM_TRY(directory.resumed, first_states(base, config));
    directory.replicas.assign(directory.resumed.size(), {});
    directory.tokenizer = std::move(base.tokenizer);
    directory.begins = true;
    return {};
}

Result<> write_first_checkpoint(RunDirectory& directory) {
    if (!std::exchange(directory.begins, false)) {
        return {};
    }
    std::vector<const stages::StageState*> states;
    for (const stages::StageState& state : directory.resumed) {
        states.push_back(&state);
    }
    SWARM_TRY(
        stages::write_checkpoint(directory.path, directory.config, states, directory.tokenizer)
    );
    return {};
}

Result<TrainingText> load_run_text(RunDirectory& directory, const TrainOptions& options) {
    run::RunConfig& config = directory.config;
    const CorpusFile found =
        find_corpus(config.corpus, corpus_folder(run_file_of(options, directory), options.run));
    if (!found.notice.empty()) {
        directory.notices.push_back(found.notice);
    }
    const std::string written = config.corpus;
    if (!written.empty()) {
        config.corpus = found.path.string();
    }
    const std::string pinned = config.corpus_sha256;
    if (directory.last) {
        config.corpus_sha256.clear();  // settle_changes() compares it
    }
    SWARM_TRY(TrainingText text, load_text(config, std::move(directory.tokenizer)));
    if (text.corpus.empty() && !text.rows) {  // the model reads no text
        config.corpus = written;
        config.corpus_sha256 = pinned;
        return text;
    }
    SWARM_TRY(load_eval_texts(directory, options, text));
    config.corpus = path_from(directory.path, written, found.path);
    if (directory.last) {
        recall_corpus(directory);
    }
    return text;
}

Result<std::vector<std::string>> settle_changes(
    const RunDirectory& directory, const TrainOptions& options
) {
    if (!directory.last) {
        return std::vector<std::string>();
    }
    return judge_changes(
        *directory.last, directory.config, directory.progress, request_of(directory, options)
    );
}

std::optional<run::RunState> as_run_state(std::vector<stages::StageState> stages) {
    if (stages.empty()) {
        return std::nullopt;
    }
    run::RunState state{stages.front().version(), {}};
    // The moments of a model that was never trained are zeros; a chunk of them is kept once.
    std::map<std::size_t, node::Payload> zeros;  // by size
    for (stages::StageState& stage : stages) {
        std::vector<node::Payload>& chunks = state.chunks.emplace_back();
        for (std::uint32_t i = 0; i < stage.chunk_count(); ++i) {
            node::Payload chunk = stage.chunk(i);
            if (is_zero(chunk)) {
                chunk = zeros.try_emplace(chunk.bytes().size(), chunk).first->second;
            }
            chunks.push_back(std::move(chunk));
        }
        stage = stages::StageState(run::StageLayout{});  // a large model is here once, not twice
    }
    return state;
}

}  // namespace swarm::cli
