#include "swarm/cli/train/run_changes.hpp"

#include "swarm/run/partition.hpp"
#include "swarm/run/run_file/config_changes.hpp"

#include <algorithm>
#include <utility>

namespace swarm::cli {
namespace {

using run::KeyChange;
using run::NewValue;

constexpr const char* kCorpusDigest = "run.corpus_sha256";

Error refused(std::string detail) {
    return {ErrorCode::Mismatch, Reaction::Reject, std::move(detail)};
}

/// The changes as a person hears them: a text is named with its digest.
std::vector<KeyChange> changes_of(const run::RunConfig& was, const run::RunConfig& now) {
    std::vector<KeyChange> changes = run::changes_between(was, now);
    if (was.corpus_sha256.empty() || was.corpus_sha256 == now.corpus_sha256) {
        std::erase_if(changes, [](const KeyChange& one) { return one.key == kCorpusDigest; });
        return changes;
    }
    const auto text = [](const run::RunConfig& config) {
        return (config.corpus.empty() ? "the demo corpus" : config.corpus) + " with SHA-256 " +
               config.corpus_sha256;
    };
    std::erase_if(changes, [](const KeyChange& one) { return one.key == "run.corpus"; });
    for (KeyChange& change : changes) {
        if (change.key == kCorpusDigest) {
            change = {"run.corpus", text(was), text(now), change.rule};
        }
    }
    return changes;
}

/// "run.stages was 3, is 4; run.codec was "none", is "int8"": all changes under the rule.
std::string list_of(const std::vector<KeyChange>& changes, NewValue rule) {
    std::string list;
    for (const KeyChange& change : changes) {
        if (change.rule == rule) {
            list += (list.empty() ? "" : "; ") + change.key + " was " + change.was + ", is " +
                    change.now;
        }
    }
    return list;
}

bool is_changed(const std::vector<KeyChange>& changes, const std::string& key) {
    return std::ranges::any_of(changes, [&](const KeyChange& one) { return one.key == key; });
}

/// Versions of mode sparse count exchanges, too, so their numbers in the log, and the place of the
/// next exchange, are those of one mode, one sync_every and, after a shorter last round, one number
/// of steps.
bool breaks_versions(
    const std::vector<KeyChange>& changes, const run::RunConfig& was, const RunProgress& progress
) {
    if (is_changed(changes, "run.mode") || is_changed(changes, "run.sync_every")) {
        return true;
    }
    const bool sparse = was.mode == run::SyncMode::Sparse;
    return sparse && is_changed(changes, "run.steps") && progress.steps == was.steps &&
           progress.steps % run::steps_between_syncs(was) != 0;
}

/// True when no state that a live peer holds is of use to the run.
bool sends_peers_back(const run::RunConfig& was, const run::RunConfig& now) {
    return run::peer_settings(was) != run::peer_settings(now) ||
           run::layers_of(run::partition(was)) != run::layers_of(run::partition(now));
}

/// Says what the run pays for the changes; empty: nothing.
std::string price(const RunProgress& progress) {
    if (progress.checkpoint == progress.steps) {
        return "";
    }
    return " (the run then goes back from step " + std::to_string(progress.steps) +
           " to the checkpoint of step " + std::to_string(*progress.checkpoint) + ")";
}

}  // namespace

Result<std::vector<std::string>> judge_changes(
    const run::RunConfig& was,
    const run::RunConfig& now,
    const RunProgress& progress,
    const ResumeRequest& request
) {
    const std::vector<KeyChange> changes = changes_of(was, now);
    const std::string run = "the run in " + request.folder;
    const std::string never = list_of(changes, NewValue::Never);
    if (progress.steps > 0 && !never.empty()) {
        return refused(
            run + " cannot go on with another model, seed or tokenizer: " + never +
            "; leave that as it was, or begin another run with another --dir"
        );
    }
    const bool by_peers = progress.has_commits && !request.single;
    if (by_peers && breaks_versions(changes, was, progress)) {
        return refused(
            run + " counts its exchanges as it was begun: " + list_of(changes, NewValue::Asked) +
            "; leave that as it was, or begin another run with another --dir"
        );
    }
    const bool goes_back = by_peers && sends_peers_back(was, now);
    const std::string asked = list_of(changes, NewValue::Asked);
    if (goes_back && !progress.checkpoint) {
        return refused(
            run + " has no checkpoint from which its peers could begin with other settings: " +
            asked + "; resume it as it was"
        );
    }
    if (progress.steps > 0 && !asked.empty() && !request.accept_changes) {
        return refused(
            run + " was trained otherwise: " + asked +
            "; go on with the new values by "
            "--accept-changes" +
            (goes_back ? price(progress) : "") + ", or leave them as they were"
        );
    }
    std::vector<std::string> lines;
    for (const KeyChange& change : changes) {
        lines.push_back(change.key + ": was " + change.was + ", now " + change.now);
    }
    return lines;
}

}  // namespace swarm::cli
