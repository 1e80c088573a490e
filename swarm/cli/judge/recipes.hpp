// The recipes that `swarm stack judge` compares: the trainings that each of them needs, and the
// stack that it makes of them.
// Invariant: all recipes but the control with more compute see the same number of training tokens:
// base steps, and then the steps of all members together. One model takes them in as many steps of
// a member's batch, or, with a large batch, in as many steps as a member makes.
// Threading: pure functions.
// Source: Branch-Train-Merge (arXiv 2208.03306, tables 2 and 4: random splits, averages), c-BTM
// (arXiv 2303.14177), Branch-Train-MiX (arXiv 2403.07816: mixtures, beside sparse upcycling), model
// stacking (chains over a shared embedding, aligned members, looped steps), CALM (arXiv 2207.07061:
// early exits).
#pragma once

#include "stacking/composition/stack_file.hpp"
#include "swarm/run/config.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::cli {

/// The text of a training, among those of a seed.
enum class JudgedText : std::uint8_t { All, Domain, Dealt, Cluster };

/// The training that all members begin with, on all texts.
inline constexpr const char* kJudgedBase = "base";

/// A training: its name is that of its folder.
struct Training {
    std::string name;
    JudgedText text = JudgedText::All;
    std::size_t number = 0;  // index of the domain, part or cluster
    std::uint64_t steps = 0;
    std::string from = kJudgedBase;  // folder of the model that it begins with; empty: none
    std::string freeze = "";         // tensors that stay, as train.freeze has them
    std::uint32_t loop_every = 0;    // each of so many steps is looped; 0: none is
    std::size_t exit_parts = 1;      // equal parts of the layers; an exit behind each but the last
    std::uint32_t batches = 1;       // batches of a member that each step takes

    friend bool operator==(const Training&, const Training&) = default;
};

/// The way in which trained members become one model.
enum class Combination : std::uint8_t { Alone, Best, Ensemble, ByCluster, Average, Chain, Merged };

/// Members as the experts of a mixture.
struct Experts {
    std::uint32_t top = 2;     // experts per token
    std::uint32_t copies = 1;  // experts that each member becomes
};

/// Members that become one model, which is then trained on all texts.
struct Merging {
    std::optional<Experts> experts{};  // nullopt: their layers follow each other, as in a chain
    Training tuning{};                 // begins with the folder that the model is written to
};

struct Recipe {
    std::string name;
    std::string about;  // for people
    Combination combination = Combination::Alone;
    std::vector<Training> trainings;  // the members, without the base; empty: it is the member
    bool needs_base = true;
    std::optional<Merging> merging{};
    bool cuts_first_layer = false;  // a chain without the first layer of all members but the first
    /// Steps in which a chain's first member is trained towards what the second one wants to read.
    std::uint64_t aligned_steps = 0;
};

/// Steps of the base and of each member.
struct JudgedSteps {
    std::uint64_t base = 0;
    std::uint64_t member = 0;
};

/// All recipes for so many domains, in the order of the table.
std::vector<Recipe> recipes_of(std::size_t domains, JudgedSteps steps);

/// The trainings of a recipe in their order: the base, the members, and what they become.
std::vector<Training> trainings_of(const Recipe& recipe, JudgedSteps steps);

/// Stands for each recipe where names are given.
inline constexpr std::string_view kAllRecipes = "all";

/// Names of all recipes.
std::vector<std::string> recipe_names();

/// Batches of a member that the recipe trains on, the base's included.
std::uint64_t batches_of(const Recipe& recipe, JudgedSteps steps);

/// Parameters that compute one token. `trained`: the run of a member, or of what they become.
std::uint64_t parameters_per_token(const Recipe& recipe, const run::RunConfig& trained);

/// Whether a key of a run file is one of the shape of a model, which a model has that a training
/// begins with.
bool is_shape(std::string_view key);

/// A text cut for a judge: the end of it, a tenth, is held out. Cuts behind a line, if one is near.
struct CutText {
    std::string_view train;
    std::string_view held_out;
};

/// nullopt: the text is too short; kHeldOutBytesLeast must be held out.
inline constexpr std::size_t kHeldOutBytesLeast = 2000;
std::optional<CutText> cut_text(std::string_view text);

}  // namespace swarm::cli
