// The peers that a client uses, of all that a directory lists for a model. Peers that say they have
// other weights for the same layers are another group; a session's text depends on the group, so a
// client takes one group for each range of layers.
// The rule: of the groups that the user has named by the first digits of their digests, or of all
// groups if the user named none, the one with the most peers; of equal ones that with the smallest
// digest. A group stays chosen while a session that uses it is under way.
// Threading: single strand. Errors: none; an unknown name leaves no peers.
// Cost: O(peers log peers).
#pragma once

#include "swarm/protocol/session_messages.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stacking::sessions {

namespace protocol = swarm::protocol;

class WeightGroups {
 public:
    /// `named`: the first hexadecimal digits of digests; empty: the groups with the most peers.
    explicit WeightGroups(std::vector<std::string> named = {}) : named_(std::move(named)) {}

    enum class Use { Idle, UnderWay };

    /// Returns the peers of the chosen groups, in their order. `use`: whether a session of this
    /// model is under way.
    std::vector<protocol::HostInfo> choose(
        const std::vector<protocol::HostInfo>& hosts, const std::string& model, Use use
    );

    /// A line for people about peers that disagree, after a choice that was not told before; else
    /// empty.
    [[nodiscard]] const std::string& news() const { return news_; }

 private:
    std::vector<std::string> named_;
    std::map<protocol::LayerRange, swarm::Digest> chosen_;
    std::map<protocol::LayerRange, swarm::Digest> told_;
    std::string news_;
};

}  // namespace stacking::sessions
