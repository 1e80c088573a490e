#include "stacking/sessions/weight_groups.hpp"

#include <algorithm>
#include <iterator>

namespace stacking::sessions {
namespace {

using swarm::Digest;

using Groups = std::map<Digest, std::size_t>;  // number of peers

std::string short_text(const Digest& digest) {
    constexpr std::size_t kDigits = 8;
    return to_hex(digest).substr(0, kDigits);
}

std::string line_of(
    const std::string& model, protocol::LayerRange layers, const Groups& groups, const Digest& taken
) {
    constexpr std::size_t kOthersTold = 3;
    std::string others;
    std::size_t count = 0;
    for (const auto& [digest, peers] : groups) {
        if (digest == taken) {
            continue;
        }
        if (++count <= kOthersTold) {
            others += (others.empty() ? "" : ", ") + short_text(digest) + " (" +
                      std::to_string(peers) + ")";
        }
    }
    if (count > kOthersTold) {
        others += " and " + std::to_string(count - kOthersTold) + " more";
    }
    return "peers disagree about the weights of layers " + std::to_string(layers.first) + " to " +
           std::to_string(layers.end - 1) + " of " + model + ": " + short_text(taken) +
           " is taken (" + std::to_string(groups.at(taken)) +
           (groups.at(taken) == 1 ? " peer" : " peers") + "); there is also " + others +
           "; --digest names another one";
}

}  // namespace

std::vector<protocol::HostInfo> WeightGroups::choose(
    const std::vector<protocol::HostInfo>& hosts, const std::string& model, Use use
) {
    const auto is_meant = [&](const protocol::HostInfo& host) {
        const std::string text = to_hex(host.weights);
        return named_.empty() || std::ranges::any_of(named_, [&](const std::string& name) {
                   return text.starts_with(name);
               });
    };
    std::map<protocol::LayerRange, Groups> ranges;
    for (const protocol::HostInfo& host : hosts) {
        if (is_meant(host)) {
            ++ranges[host.hosted][host.weights];
        }
    }
    news_.clear();
    for (const auto& [layers, groups] : ranges) {
        if (use == Use::Idle || !chosen_.contains(layers)) {
            // The first one of equal groups has the smallest digest.
            const auto most = std::ranges::max_element(groups, {}, &Groups::value_type::second);
            chosen_[layers] = most->first;
        }
        const Digest taken = chosen_.at(layers);
        if (groups.size() > 1 && groups.contains(taken) && told_[layers] != taken) {
            told_[layers] = taken;
            news_ = line_of(model, layers, groups, taken);
        }
    }
    std::vector<protocol::HostInfo> taken;
    std::ranges::copy_if(hosts, std::back_inserter(taken), [&](const protocol::HostInfo& host) {
        return is_meant(host) && chosen_.at(host.hosted) == host.weights;
    });
    return taken;
}

}  // namespace stacking::sessions
