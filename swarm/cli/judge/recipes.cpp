#include "swarm/cli/judge/recipes.hpp"

#include "swarm/run/partition.hpp"
#include "swarm/run/training/mixture.hpp"

#include <algorithm>
#include <utility>

namespace swarm::cli {
namespace {

constexpr std::size_t kTenth = 10;
constexpr std::size_t kLineNear = 400;  // bytes in which the end of a line is looked for
constexpr std::uint64_t kTunedPart =
    4;  // one part of so many of the members' steps tunes a mixture
constexpr std::size_t kTopMost = 2;
constexpr std::uint32_t kLoopEvery = 4;  // steps from one looped step to the next
constexpr const char* kJoinedChain = "chain-whole-begin";
constexpr const char* kLargeBatch = "-large-batch";

std::vector<Training> members(
    const std::string& name, std::size_t count, JudgedText text, std::uint64_t steps
) {
    std::vector<Training> trainings;
    for (std::size_t i = 0; i < count; ++i) {
        trainings.push_back({name + "-" + std::to_string(i + 1), text, i, steps});
    }
    return trainings;
}

std::vector<Training> frozen_members(
    const std::string& name, std::size_t count, std::uint64_t steps
) {
    std::vector<Training> trainings = members(name, count, JudgedText::Domain, steps);
    for (Training& one : trainings) {
        one.freeze = "embed,head";
    }
    return trainings;
}

/// Members that share nothing: each gets its part of the base's steps, too.
std::vector<Training> members_apart(std::size_t count, JudgedSteps steps) {
    std::vector<Training> trainings =
        members("apart", count, JudgedText::Domain, steps.member + steps.base / count);
    for (Training& one : trainings) {
        one.from = "";
    }
    return trainings;
}

Training dense(const std::string& name, std::uint64_t steps) {
    return {name, JudgedText::All, 0, steps};
}

/// The training in as many steps as a member makes, each on a batch per domain. So do machines that
/// train one model together without sharing a batch.
Training large_batch(Training training, std::size_t domains) {
    training.name += kLargeBatch;
    training.steps /= domains;
    training.batches = static_cast<std::uint32_t>(domains);
    return training;
}

/// A mixture of members that are trained for a part of their steps; the other steps of all members
/// tune it.
Recipe mixture(
    const std::string& name,
    const std::string& about,
    std::size_t top,
    std::size_t domains,
    JudgedSteps steps
) {
    const std::uint64_t apart = steps.member - steps.member / kTunedPart;
    Training tuning = dense(name, domains * (steps.member - apart));
    tuning.from = name + "-begin";
    return {
        name,
        about,
        Combination::Merged,
        members("begun", domains, JudgedText::Domain, apart),
        true,
        Merging{Experts{static_cast<std::uint32_t>(top), 1}, std::move(tuning)}};
}

/// Experts that are copies of the base, and trained together from the start.
Recipe upcycled(std::size_t domains, JudgedSteps steps) {
    Training tuning = dense("upcycled", domains * steps.member);
    tuning.from = "upcycled-begin";
    const auto copies = static_cast<std::uint32_t>(domains);
    const auto top = static_cast<std::uint32_t>(std::min(kTopMost, domains));
    return {
        "upcycled",
        "mixture of copies of the base",
        Combination::Merged,
        {},
        true,
        Merging{Experts{top, copies}, std::move(tuning)}};
}

/// A chain of members that are trained for a part of their steps; in the other steps of all of them
/// it is trained as one model.
Recipe whole_chain(
    const std::string& name, const std::string& about, std::size_t domains, JudgedSteps steps
) {
    const std::uint64_t apart = steps.member - steps.member / kTunedPart;
    Training tuning = dense(name, domains * (steps.member - apart));
    tuning.from = kJoinedChain;
    tuning.freeze = "embed,head";
    return {
        name,
        about,
        Combination::Merged,
        frozen_members("frozen-begun", domains, apart),
        true,
        Merging{std::nullopt, std::move(tuning)}};
}

/// A chain whose first member spends a part of its steps on coming closer to the second one.
Recipe aligned_chain(std::size_t domains, JudgedSteps steps) {
    const std::uint64_t apart = steps.member - steps.member / kTunedPart;
    Recipe aligned{
        "align",
        "a chain whose first member is aligned with the second in the end",
        Combination::Chain,
        frozen_members("frozen", domains, steps.member)};
    aligned.trainings.front() = frozen_members("frozen-begun", domains, apart).front();
    aligned.aligned_steps = steps.member - apart;
    return aligned;
}

/// Chains that differ from the plain one in one thing: the later members lack the layer that reads
/// the embedding, or what is trained in the end is the whole, the same with exits, or the first
/// member towards the second.
std::vector<Recipe> other_chains(std::size_t domains, JudgedSteps steps) {
    Recipe cut{
        "chain-cut",
        "the same, later members without their first layer",
        Combination::Chain,
        frozen_members("frozen", domains, steps.member)};
    cut.cuts_first_layer = true;
    Recipe exits = whole_chain("whole", "the same with an exit behind each member", domains, steps);
    exits.merging->tuning.exit_parts = domains;
    return {
        std::move(cut),
        whole_chain(
            "chain-whole", "a chain that is trained as one model in the end", domains, steps
        ),
        std::move(exits),
        aligned_chain(domains, steps)};
}

/// One model on all texts, some of whose steps read states in place of tokens.
Recipe looped(std::size_t domains, JudgedSteps steps) {
    Training training = dense("loop", domains * steps.member);
    training.loop_every = kLoopEvery;
    const std::string about =
        "one model on all texts, each " + std::to_string(kLoopEvery) + "th step looped";
    return {"loop", about, Combination::Alone, {std::move(training)}};
}

std::vector<Recipe> mixtures(std::size_t domains, JudgedSteps steps) {
    const std::size_t top = std::min(kTopMost, domains);
    Recipe large = upcycled(domains, steps);
    large.name += kLargeBatch;
    large.about = "the same, a member's number of steps";
    large.merging->tuning = large_batch(large.merging->tuning, domains);
    Recipe frozen = mixture("mixture-frozen", "the same, experts stay", top, domains, steps);
    frozen.merging->tuning.freeze = "experts";
    return {
        mixture("mixture", "members as experts (BTX)", top, domains, steps),
        mixture("mixture-one", "the same, one expert per token", 1, domains, steps),
        mixture("mixture-all", "the same, all experts per token", domains, domains, steps),
        frozen,
        upcycled(domains, steps),
        large};
}

}  // namespace

std::vector<Recipe> recipes_of(std::size_t domains, JudgedSteps steps) {
    const std::uint64_t together = domains * steps.member;
    const auto by_domain = members("member", domains, JudgedText::Domain, steps.member);
    const auto dealt = members("dealt", domains, JudgedText::Dealt, steps.member);
    const auto clustered = members("cluster", domains, JudgedText::Cluster, steps.member);
    const std::uint64_t more = together * 5 / 2 + steps.base * 3 / 2;
    std::vector<Recipe> recipes{
        {"dense", "one model on all texts", Combination::Alone, {dense("dense", together)}},
        {"dense-2.5",
         "the same with 2.5 times the compute",
         Combination::Alone,
         {dense("dense-2.5", more)}},
        {std::string("dense") + kLargeBatch,
         "one model, a member's number of steps",
         Combination::Alone,
         {large_batch(dense("dense", together), domains)}},
        {"best", "the best member alone", Combination::Best, by_domain},
        {"ensemble", "members by domain (BTM)", Combination::Ensemble, by_domain},
        {"ensemble-dealt", "members of random parts", Combination::Ensemble, dealt},
        {"clusters", "members by cluster (c-BTM)", Combination::ByCluster, clustered},
        {"average", "average of members by domain", Combination::Average, by_domain},
        {"average-dealt", "average of members of random parts", Combination::Average, dealt},
        {"chain",
         "members over the base's embedding",
         Combination::Chain,
         frozen_members("frozen", domains, steps.member)},
        {"chain-apart",
         "members with nothing in common",
         Combination::Chain,
         members_apart(domains, steps),
         false}};
    for (auto* const others : {other_chains, mixtures}) {
        for (Recipe& recipe : others(domains, steps)) {
            recipes.push_back(std::move(recipe));
        }
    }
    recipes.push_back(looped(domains, steps));
    return recipes;
}

std::vector<std::string> recipe_names() {
    std::vector<std::string> names;
    for (const Recipe& recipe : recipes_of(2, {1, 1})) {
        names.push_back(recipe.name);
    }
    return names;
}

std::vector<Training> trainings_of(const Recipe& recipe, JudgedSteps steps) {
    std::vector<Training> trainings;
    if (recipe.needs_base) {
        trainings.push_back({kJudgedBase, JudgedText::All, 0, steps.base, ""});
    }
    trainings.insert(trainings.end(), recipe.trainings.begin(), recipe.trainings.end());
    if (recipe.merging) {
        trainings.push_back(recipe.merging->tuning);
    }
    return trainings;
}

std::uint64_t batches_of(const Recipe& recipe, JudgedSteps steps) {
    std::uint64_t sum = recipe.aligned_steps;
    for (const Training& training : trainings_of(recipe, steps)) {
        sum += training.steps * training.batches;
    }
    return sum;
}

std::uint64_t parameters_per_token(const Recipe& recipe, const run::RunConfig& trained) {
    double ends = 0;  // embedding and head
    double first_layer = 0;
    double layers = 0;
    for (const run::StageLayout& stage : run::partition(trained)) {
        for (const run::PlacedTensor& tensor : run::all_tensors(stage)) {
            const std::string& name = tensor.spec->name;
            const double met =
                run::used_share(trained.model, name) * static_cast<double>(tensor.spec->elements());
            (name.starts_with("layers.") ? layers : ends) += met;
            first_layer += name.starts_with("layers.0.") ? met : 0;
        }
    }
    const auto members = static_cast<double>(recipe.trainings.size());
    double met = ends + layers;
    const bool is_cut = recipe.cuts_first_layer && trained.model.layers > 1;
    const bool is_ensemble = recipe.combination == Combination::Ensemble ||
                             recipe.combination == Combination::ByCluster;
    if (recipe.combination == Combination::Chain) {  // it has the ends once
        met = ends + members * layers;
        met -= is_cut ? (members - 1) * first_layer : 0;
    } else if (is_ensemble) {
        met *= members;
    }
    return static_cast<std::uint64_t>(met + 0.5);
}

bool is_shape(std::string_view key) {
    return key.starts_with("model.") && key != "model.context";
}

std::optional<CutText> cut_text(std::string_view text) {
    const std::size_t held = text.size() / kTenth;
    if (held < kHeldOutBytesLeast) {
        return std::nullopt;
    }
    std::size_t cut = text.size() - held;
    const std::size_t line = text.substr(cut, kLineNear).find('\n');
    cut += line == std::string_view::npos ? 0 : line + 1;
    return CutText{text.substr(0, cut), text.substr(cut)};
}

}  // namespace swarm::cli
