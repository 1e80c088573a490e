#include "swarm/cli/answer/member_priors.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::composition::ClusterFile;

/// The share of a text in a cluster may be too small for a number.
constexpr double kShareLeast = 1e-9;

}  // namespace

Result<MemberPriors> MemberPriors::read(
    const std::filesystem::path& path, const stacking::composition::StackFile& file
) {
    MemberPriors read;
    for (const auto& member : file.members) {
        read.priors_.push_back(member.prior);
    }
    if (file.clusters.empty()) {
        return read;
    }
    const std::filesystem::path beside = path.parent_path() / file.clusters;
    SWARM_TRY(const std::string json, read_file(beside, stacking::composition::kClusterBytesMax));
    SWARM_TRY(ClusterFile clusters, stacking::composition::parse_clusters(json, beside.string()));
    if (clusters.centers.size() != file.members.size()) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            beside.string() + " has " + std::to_string(clusters.centers.size()) +
                " clusters, the stack " + std::to_string(file.members.size()) +
                " members; member N belongs to cluster N"};
    }
    read.experts_ = file.experts;
    read.clusters_ = std::move(clusters);
    return read;
}

std::vector<double> MemberPriors::of_text(
    std::span<const stacking::TokenId> beginning,
    const stacking::tokenizers::ModelTokenizer& tokenizer
) const {
    std::vector<double> priors = priors_;
    if (!clusters_) {
        return priors;
    }
    const Result<std::string> words = tokenizer.decode(beginning);
    const std::vector<double> shares =
        stacking::composition::cluster_shares(*clusters_, words ? *words : std::string(), experts_);
    for (std::size_t i = 0; i < priors.size(); ++i) {
        const bool is_needed = shares[i] > 0 || experts_ == 0;
        priors[i] *= is_needed ? std::max(shares[i], kShareLeast) : 0;
    }
    return priors;
}

}  // namespace swarm::cli
