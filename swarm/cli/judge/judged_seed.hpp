// The texts, trainings and measurements of one seed of `swarm stack judge`, in a folder of its own.
// Invariant: a training that was done is not done again; one that was interrupted begins anew. All
// recipes are measured on the same tokens: those of the held-out texts behind a beginning by which
// members are chosen.
// Threading: the main thread. Errors: those of training and of the readers; Fatal for a training
// that has ended badly, after its own line; its exit code is exit_code().
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/answer/open_stack.hpp"
#include "swarm/cli/judge/judge.hpp"
#include "swarm/cli/judge/judge_report.hpp"
#include "swarm/cli/judge/recipes.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

class JudgedSeed {
 public:
    /// `may_begin`: asked before each training.
    JudgedSeed(const JudgeOptions& options, std::uint64_t seed, std::function<bool()> may_begin)
        : options_(options),
          seed_(seed),
          folder_(std::filesystem::path(options.folder) / ("seed-" + std::to_string(seed))),
          may_begin_(std::move(may_begin)) {}

    /// Cuts and writes the texts, if they are not there.
    Result<> prepare();

    /// Trains what the recipe needs, and measures it. nullopt: a training may not begin.
    Result<std::optional<Judged>> judge(const Recipe& recipe);

    /// Tokens of a member's batch, once a training is there.
    [[nodiscard]] std::uint64_t tokens_per_batch() const { return tokens_per_batch_; }

    /// Exit code of the training that has ended badly.
    [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
    struct Measured {
        std::vector<double> losses;  // by domain
        double tokens_per_s = 0;
    };

    /// Returns false when the training may not begin.
    Result<bool> train_one(const Training& training);
    [[nodiscard]] std::filesystem::path text_of(const Training& training) const;
    Result<> make_clusters();
    Result<Measured> measure(const stacking::composition::StackFile& stack) const;
    /// Measures how many held-out tokens leave a training with exits early.
    [[nodiscard]] Result<EarlyExits> early_exits(const std::string& name) const;
    /// Measures one training alone, once.
    Result<Measured> alone(const std::string& name);
    /// Paths of the recipe's members.
    [[nodiscard]] std::vector<std::string> members_of(const Recipe& recipe) const;
    Result<bool> align(const Recipe& recipe);
    Result<bool> tune(const Recipe& recipe);
    Result<> write_average(const Recipe& recipe, const std::filesystem::path& folder) const;
    [[nodiscard]] Result<stacking::composition::StackFile> stack_of_members(const Recipe& recipe
    ) const;
    Result<stacking::composition::StackFile> stack_of(const Recipe& recipe);
    Result<std::uint64_t> parameters_of(const Recipe& recipe) const;
    [[nodiscard]] Result<double> sent_bytes(
        const Recipe& recipe, const std::vector<Training>& trainings
    ) const;
    [[nodiscard]] Error ended(const std::string& name) const;

    const JudgeOptions& options_;
    std::uint64_t seed_;
    std::filesystem::path folder_;
    std::function<bool()> may_begin_;
    std::map<std::string, Measured> alone_;  // by training
    std::uint64_t tokens_per_batch_ = 0;
    int exit_code_ = 0;
};

}  // namespace swarm::cli
