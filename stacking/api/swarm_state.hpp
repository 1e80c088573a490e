// A view for people of the peers behind the API: who serves which layers, with what share, the
// rate of tokens, and the latest events with their reasons. The page at / and /events show it.
// Threading: one thread. Bounds: kEventsMax events, kRateSeconds counts.
#pragma once

#include "stacking/sessions/session_client.hpp"
#include "swarm/base/units.hpp"
#include "swarm/node/report.hpp"
#include "swarm/node/role.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stacking::api {

class SwarmState {
 public:
    static constexpr std::size_t kEventsMax = 50;
    static constexpr std::int64_t kRateSeconds = 5;  // over which the rate of tokens is a mean

    /// Makes the name of a peer that people see.
    using NameOf = std::function<std::string(const swarm::PeerId&)>;

    struct Load {
        std::string model;
        std::string join_line;  // the command that joins with another machine
        bool join_here_only = false;
        std::size_t running = 0;
        std::size_t waiting = 0;
    };

    explicit SwarmState(NameOf name_of) : name_of_(std::move(name_of)) {}

    void count_token(swarm::TimePoint now);
    void note(const swarm::node::SessionMoved& moved, swarm::TimePoint now);
    /// Notes links to peers that begin and end.
    void note(const swarm::node::Event& event, swarm::TimePoint now);
    /// Notes which peers have come and gone since the last call, and why.
    void watch(const std::vector<sessions::ClientContext>& models, swarm::TimePoint now);

    [[nodiscard]] std::string to_json(
        const std::vector<sessions::ClientContext>& models, const Load& load, swarm::TimePoint now
    ) const;

    /// Tells whether peers are known for all layers of all models.
    static bool are_served(const std::vector<sessions::ClientContext>& models);

 private:
    static bool is_served(const sessions::ClientContext& model);

    struct Event {
        swarm::TimePoint at;
        std::string what;
        std::string peer;  // empty: none
        std::string reason;
    };

    void add(swarm::TimePoint now, std::string what, std::string peer, std::string reason);
    [[nodiscard]] std::string why_gone(const swarm::PeerId& peer, swarm::TimePoint now) const;
    [[nodiscard]] double tokens_per_s(swarm::TimePoint now) const;

    NameOf name_of_;
    std::deque<Event> events_;                        // oldest first
    std::vector<swarm::PeerId> peers_;                // known ones, sorted
    std::map<swarm::PeerId, swarm::TimePoint> lost_;  // known ones whose link here has ended
    bool has_watched_ = false;
    std::array<std::uint32_t, static_cast<std::size_t>(kRateSeconds) + 1> tokens_{};  // by second
    std::int64_t second_ = 0;  // the one that is counted now
    std::uint64_t all_tokens_ = 0;
};

}  // namespace stacking::api
