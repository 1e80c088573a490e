#include "swarm/coordinator/state_votes.hpp"

namespace swarm::coordinator {

void StateVotes::say(StageIndex stage, PeerId peer, const Digest& hash) {
    said_[stage][peer] = hash;
    changed_ = true;
}

void StateVotes::forget(PeerId peer) {
    for (auto& [stage, said] : said_) {
        changed_ = said.erase(peer) > 0 || changed_;
    }
}

bool StateVotes::has_spoken(StageIndex stage, PeerId peer) const {
    const auto said = said_.find(stage);
    return said != said_.end() && said->second.contains(peer);
}

std::vector<StageIndex> StateVotes::stages() const {
    std::vector<StageIndex> stages;
    for (const auto& [stage, said] : said_) {
        if (!said.empty()) {
            stages.push_back(stage);
        }
    }
    return stages;
}

StateVotes::Verdict StateVotes::judge(
    StageIndex stage,
    std::span<const PeerId> electors,
    const std::optional<Digest>& fixed,
    Silent silent
) const {
    const auto found = said_.find(stage);
    if (found == said_.end()) {
        return {fixed, {}};
    }
    std::vector<std::pair<PeerId, Digest>> heard;  // the oldest elector first
    std::map<Digest, std::size_t> votes;
    for (const PeerId peer : electors) {
        if (const auto said = found->second.find(peer); said != found->second.end()) {
            heard.emplace_back(peer, said->second);
            ++votes[said->second];
        }
    }
    std::optional<Digest> hash = fixed;
    std::size_t most = 0;
    for (const auto& [peer, said] : heard) {
        if (!fixed && votes[said] > most) {
            most = votes[said];
            hash = said;
        }
    }
    const bool all_heard = heard.size() == electors.size() || silent == Silent::Ignore;
    if (!fixed && 2 * most <= electors.size() && !all_heard) {
        return {};
    }
    std::vector<PeerId> wrong;
    for (const auto& [peer, said] : heard) {
        if (said != *hash) {
            wrong.push_back(peer);
        }
    }
    return {hash, wrong};
}

}  // namespace swarm::coordinator
