// How much each member of an ensemble counts for a text: its prior in STACK.toml, times the share
// that the text has in its cluster, where the stack has clusters.
// Invariant: at least one member counts. Threading: a value.
// Errors: those of the file of the clusters; Mismatch: it has another number of clusters than the
// stack has members; Reject.
#pragma once

#include "stacking/composition/clusters/cluster_file.hpp"
#include "stacking/composition/stack_file.hpp"
#include "stacking/session_compute.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/base/result.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace swarm::cli {

class MemberPriors {
 public:
    MemberPriors() = default;

    /// `path`: where the file of the stack lies.
    static Result<MemberPriors> read(
        const std::filesystem::path& path, const stacking::composition::StackFile& file
    );

    [[nodiscard]] bool depend_on_text() const { return clusters_.has_value(); }

    /// One number per member for a text that begins so; 0: the text does not need the member.
    [[nodiscard]] std::vector<double> of_text(
        std::span<const stacking::TokenId> beginning,
        const stacking::tokenizers::ModelTokenizer& tokenizer
    ) const;

 private:
    std::vector<double> priors_;
    std::uint32_t experts_ = 0;
    std::optional<stacking::composition::ClusterFile> clusters_;
};

}  // namespace swarm::cli
