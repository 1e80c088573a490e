#include "swarm/cli/judge/judged_seed.hpp"

#include "stacking/composition/losses.hpp"
#include "swarm/base/durable_folder.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/model_folder.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/judge/judged_alignment.hpp"
#include "swarm/cli/judge/judged_bytes.hpp"
#include "swarm/cli/judge/judged_exits.hpp"
#include "swarm/cli/judge/judged_training.hpp"
#include "swarm/cli/runs/run_summary.hpp"
#include "swarm/cli/stack/average_members.hpp"
#include "swarm/cli/stack/clusters.hpp"
#include "swarm/cli/stack/member_files.hpp"
#include "swarm/cli/stack/mix.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/train/train.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::composition::StackFile;
using stacking::composition::StackMode;

constexpr std::uint64_t kTextBytesMax = 1ULL << 30;
constexpr std::size_t kScoredMax = 16'384;    // tokens of a domain
constexpr std::size_t kBeginningPart = 8;     // part of a held-out text by which members are chosen
constexpr const char* kElsewhere = "choose another folder";
constexpr const char* kAlignedFolder = "aligned";

Result<> write_text_file(const fs::path& file, const std::string& text) {
    return write_durably(file, std::as_bytes(std::span(text)), kElsewhere);
}

std::string numbered(const char* name, std::size_t number) {
    return name + std::to_string(number + 1) + ".txt";
}

StackFile one_member(const fs::path& model) {
    StackFile stack;
    stack.members = {{fs::absolute(model).string(), 1, {}}};
    return stack;
}

double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The tokens by which members are chosen.
std::span<const stacking::TokenId> beginning_of(const std::vector<stacking::TokenId>& held_out) {
    return std::span(held_out).first(
        std::min<std::size_t>(kJudgedWindow, held_out.size() / kBeginningPart)
    );
}

/// The tokens behind them, which are scored.
std::span<const stacking::TokenId> scored_of(const std::vector<stacking::TokenId>& held_out) {
    const auto rest = std::span(held_out).subspan(beginning_of(held_out).size());
    return rest.first(std::min(kScoredMax, rest.size()));
}

}  // namespace

Result<> JudgedSeed::prepare() {
    const fs::path texts = folder_ / "texts";
    std::error_code ignored;
    if (fs::exists(texts, ignored)) {
        return {};
    }
    std::vector<std::string> trained;
    std::vector<std::string> held_out;
    for (const std::string& source : options_.sources) {
        SWARM_TRY(const std::string text, read_file(source, kTextBytesMax));
        const auto cut = cut_text(text);
        if (!cut) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                source + " is too short: a tenth of it must be " +
                    std::to_string(kHeldOutBytesLeast) + " bytes at least"};
        }
        trained.emplace_back(cut->train);
        held_out.emplace_back(cut->held_out);
    }
    SWARM_TRY(DurableFolder written, DurableFolder::begin(texts, kElsewhere));
    std::string all;
    const auto dealt = deal_paragraphs(trained, trained.size(), seed_);
    for (std::size_t i = 0; i < trained.size(); ++i) {
        all += trained[i] + "\n\n";
        SWARM_TRY(write_text_file(written.draft() / numbered("domain-", i), trained[i]));
        SWARM_TRY(write_text_file(written.draft() / numbered("held-", i), held_out[i]));
        SWARM_TRY(write_text_file(written.draft() / numbered("dealt-", i), dealt[i]));
    }
    SWARM_TRY(write_text_file(written.draft() / "all.txt", all));
    return written.finish();
}

fs::path JudgedSeed::text_of(const Training& training) const {
    const fs::path texts = folder_ / "texts";
    switch (training.text) {
        case JudgedText::Domain:
            return texts / numbered("domain-", training.number);
        case JudgedText::Dealt:
            return texts / numbered("dealt-", training.number);
        case JudgedText::Cluster:
            return folder_ / "clusters" / numbered("cluster-", training.number);
        case JudgedText::All:
            break;
    }
    return texts / "all.txt";
}

Result<> JudgedSeed::make_clusters() {
    std::error_code ignored;
    StackClustersOptions options;
    options.folder = (folder_ / "clusters").string();
    if (fs::exists(options.folder, ignored)) {
        return {};
    }
    for (std::size_t i = 0; i < options_.sources.size(); ++i) {
        options.paths.push_back(fs::absolute(folder_ / "texts" / numbered("domain-", i)).string());
    }
    options.clusters = static_cast<std::uint32_t>(options_.sources.size());
    options.seed = seed_;
    SWARM_TRY(write_clusters(options));
    return {};
}

Result<bool> JudgedSeed::train_one(const Training& training) {
    const fs::path folder = folder_ / training.name;
    const auto remember = [&]() -> Result<bool> {
        SWARM_TRY(const RunFiles run, read_run_files(folder));
        const run::RunConfig& config = run.config;
        tokens_per_batch_ = std::uint64_t{config.microbatches} * config.batch *
                            config.model.context / training.batches;
        return true;
    };
    std::error_code ignored;
    if (fs::exists(folder, ignored)) {
        if (summarise_run(folder).standing == RunStanding::Done) {
            return remember();
        }
        fs::remove_all(folder, ignored);
    }
    if (!may_begin_()) {
        return false;
    }
    SWARM_TRY(
        const TrainOptions wanted,
        training_options({options_, folder_, seed_, training, fs::absolute(text_of(training))})
    );
    exit_code_ = train(wanted);
    if (exit_code_ != kDone) {
        return ended(training.name);
    }
    return remember();
}

Error JudgedSeed::ended(const std::string& name) const {
    return {ErrorCode::Unsupported, Reaction::Fatal, "the training " + name + " has ended"};
}

Result<JudgedSeed::Measured> JudgedSeed::measure(const StackFile& stack) const {
    const auto choice = stacking::llama::WeightChoice::as_is();
    SWARM_TRY(OpenStack opened, OpenStack::open(folder_ / "stack.toml", stack, choice));
    opened.compute_with(make_workers(threads_to_answer({})));
    Measured measured;
    std::uint64_t tokens = 0;
    Duration took{};
    for (std::size_t i = 0; i < options_.sources.size(); ++i) {
        SWARM_TRY(
            const auto text, opened.read_tokens((folder_ / "texts" / numbered("held-", i)).string())
        );
        SWARM_TRY(const auto reader, opened.reader(beginning_of(text)));
        const TimePoint began = clock_now();
        const std::uint32_t window = std::min(kJudgedWindow, opened.context());
        SWARM_TRY(const auto loss, measure_loss(*reader, scored_of(text), window));
        took += clock_now() - began;
        measured.losses.push_back(loss.nats_per_token);
        tokens += loss.tokens;
    }
    const double seconds = std::chrono::duration<double>(took).count();
    measured.tokens_per_s = static_cast<double>(tokens) / std::max(seconds, 1e-9);
    return measured;
}

Result<EarlyExits> JudgedSeed::early_exits(const std::string& name) const {
    const fs::path folder = folder_ / name;
    SWARM_TRY(const RunFiles run, read_run_files(folder));
    SWARM_TRY(JudgedExits judged, JudgedExits::open(folder, run.config.train.exits));
    for (std::size_t i = 0; i < options_.sources.size(); ++i) {
        SWARM_TRY(const auto text, judged.read_tokens(folder_ / "texts" / numbered("held-", i)));
        SWARM_TRY(judged.add(scored_of(text)));
    }
    return judged.sums();
}

Result<JudgedSeed::Measured> JudgedSeed::alone(const std::string& name) {
    const auto found = alone_.find(name);
    if (found != alone_.end()) {
        return found->second;
    }
    SWARM_TRY(Measured measured, measure(one_member(folder_ / name)));
    alone_[name] = measured;
    return measured;
}

std::vector<std::string> JudgedSeed::members_of(const Recipe& recipe) const {
    std::vector<std::string> names;
    for (const Training& training : recipe.trainings) {
        names.push_back((folder_ / training.name).string());
    }
    if (recipe.aligned_steps > 0) {
        names.front() = (folder_ / kAlignedFolder).string();
    }
    if (names.empty()) {
        names.push_back((folder_ / kJudgedBase).string());
    }
    return names;
}

/// Trains the first member towards what the second one wants to read, if the recipe does. Returns
/// false when this may not begin.
Result<bool> JudgedSeed::align(const Recipe& recipe) {
    if (recipe.aligned_steps == 0) {
        return true;
    }
    const fs::path here = fs::absolute(folder_);
    const JudgedAlignment wanted{
        here / recipe.trainings[0].name,
        here / recipe.trainings[1].name,
        here / kAlignedFolder,
        recipe.aligned_steps * tokens_per_batch_,
        seed_,
        options_.threads};
    if (is_aligned(wanted)) {
        return true;
    }
    if (!may_begin_()) {
        return false;
    }
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < options_.sources.size(); ++i) {
        texts.push_back((here / "texts" / numbered("domain-", i)).string());
    }
    SWARM_TRY(const RunFiles run, read_run_files(wanted.first));
    exit_code_ = align_judged(wanted, run.config, texts);
    if (exit_code_ != kDone) {
        return ended(kAlignedFolder);
    }
    return true;
}

/// Makes one model of the members and trains it, if the recipe does. Returns false when the
/// training may not begin.
Result<bool> JudgedSeed::tune(const Recipe& recipe) {
    if (!recipe.merging) {
        return true;
    }
    const Merging& merging = *recipe.merging;
    const fs::path folder = folder_ / merging.tuning.from;
    std::error_code ignored;
    if (fs::exists(folder, ignored)) {
        return train_one(merging.tuning);
    }
    Console console;
    if (!merging.experts) {
        const fs::path file = folder_ / (recipe.name + ".toml");
        SWARM_TRY(const StackFile chain, stack_of_members(recipe));
        SWARM_TRY(write_stack(file, chain));
        SWARM_TRY(write_joined({file.string(), folder.string()}, console));
    } else {
        SWARM_TRY(write_mixture(
            {members_of(recipe),
             folder.string(),
             merging.experts->top,
             merging.experts->copies,
             seed_},
            console
        ));
    }
    return train_one(merging.tuning);
}

Result<> JudgedSeed::write_average(const Recipe& recipe, const fs::path& folder) const {
    const std::vector<std::string> names = members_of(recipe);
    SWARM_TRY(const AverageMembers members, open_members(names));
    std::vector<std::size_t> all(names.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const std::vector<double> weights(names.size(), 1 / static_cast<double>(names.size()));
    SWARM_TRY(const auto model, members.average(all, weights));
    SWARM_TRY(DurableFolder written, DurableFolder::begin(folder, kElsewhere));
    Console console;
    SWARM_TRY(write_model_folder(model, &members.tokenizer, written.draft(), console));
    return written.finish();
}

/// The members, without what their combination adds.
Result<StackFile> JudgedSeed::stack_of_members(const Recipe& recipe) const {
    StackFile stack;
    const bool is_chain =
        recipe.combination == Combination::Chain || (recipe.merging && !recipe.merging->experts);
    stack.mode = is_chain ? StackMode::Chain : StackMode::Ensemble;
    for (const std::string& folder : members_of(recipe)) {
        auto& member = stack.members.emplace_back();
        member.model = fs::absolute(folder).string();
        if (recipe.cuts_first_layer && stack.members.size() > 1) {
            SWARM_TRY(const RunFiles run, read_run_files(folder));
            const std::uint32_t last = run.config.model.layers - 1;
            member.layers = {std::min(1U, last), last};  // one layer stays where there is one
        }
    }
    return stack;
}

/// The stack that the recipe makes of its trainings, which are done.
Result<StackFile> JudgedSeed::stack_of(const Recipe& recipe) {
    if (recipe.combination == Combination::Average) {
        const fs::path folder = folder_ / recipe.name;
        std::error_code ignored;
        if (!fs::exists(folder, ignored)) {
            SWARM_TRY(write_average(recipe, folder));
        }
        return one_member(folder);
    }
    if (recipe.merging) {
        return one_member(folder_ / recipe.merging->tuning.name);
    }
    SWARM_TRY(StackFile stack, stack_of_members(recipe));
    stack.clusters = recipe.combination == Combination::ByCluster ? "clusters/clusters.json" : "";
    if (recipe.combination == Combination::Best) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < recipe.trainings.size(); ++i) {
            SWARM_TRY(const Measured own, alone(recipe.trainings[i].name));
            SWARM_TRY(const Measured least, alone(recipe.trainings[best].name));
            best = mean_of(own.losses) < mean_of(least.losses) ? i : best;
        }
        return one_member(folder_ / recipe.trainings[best].name);
    }
    return stack;
}

Result<std::uint64_t> JudgedSeed::parameters_of(const Recipe& recipe) const {
    const Training& trained = recipe.merging ? recipe.merging->tuning : recipe.trainings.front();
    SWARM_TRY(const RunFiles run, read_run_files(folder_ / trained.name));
    return parameters_per_token(recipe, run.config);
}

Result<double> JudgedSeed::sent_bytes(const Recipe& recipe, const std::vector<Training>& trainings)
    const {
    const std::size_t machines = options_.sources.size();
    SWARM_TRY(double bytes, reduced_bytes(folder_, trainings, machines));
    if (recipe.aligned_steps > 0) {
        const std::uint64_t tokens = recipe.aligned_steps * tokens_per_batch_;
        const fs::path member = folder_ / recipe.trainings.front().name;
        SWARM_TRY(const double more, aligned_bytes(member, tokens, machines));
        bytes += more;
    }
    return bytes;
}

Result<std::optional<Judged>> JudgedSeed::judge(const Recipe& recipe) {
    const JudgedSteps steps{options_.base_steps, options_.steps};
    const std::vector<Training> trainings = trainings_of(recipe, steps);
    if (recipe.combination == Combination::ByCluster) {
        SWARM_TRY(make_clusters());
    }
    const std::size_t tuned = recipe.merging ? 1 : 0;  // begins with a model that is not there yet
    for (const Training& training : std::span(trainings).first(trainings.size() - tuned)) {
        SWARM_TRY(const bool done, train_one(training));
        if (!done) {
            return std::optional<Judged>();
        }
    }
    for (const auto add : {&JudgedSeed::align, &JudgedSeed::tune}) {
        SWARM_TRY(const bool done, (this->*add)(recipe));
        if (!done) {
            return std::optional<Judged>();
        }
    }
    Judged judged;
    judged.best_member = std::numeric_limits<double>::infinity();
    for (const std::string& member : members_of(recipe)) {
        SWARM_TRY(const Measured own, alone(fs::path(member).filename().string()));
        judged.best_member = std::min(judged.best_member, mean_of(own.losses));
    }
    SWARM_TRY(const StackFile stack, stack_of(recipe));
    SWARM_TRY(Measured measured, measure(stack));
    judged.losses = std::move(measured.losses);
    judged.tokens_per_s = measured.tokens_per_s;
    SWARM_TRY(judged.parameters, parameters_of(recipe));
    SWARM_TRY(judged.sent_bytes, sent_bytes(recipe, trainings));
    if (recipe.merging && recipe.merging->tuning.exit_parts > 1) {
        SWARM_TRY(judged.early, early_exits(recipe.merging->tuning.name));
    }
    return std::optional(std::move(judged));
}

}  // namespace swarm::cli
