// The role that tells clients who serves which layers of which model. Peers register and repeat it
// every 2 s; it computes nothing and no token passes through it.
// Invariants: a peer is listed while its link is up and it was heard within 6 s; all peers of one
// layer range have the same weights, those of the first one listed; all of one model agree on its
// layers. Who does not is refused with a line that says why.
// Threading: a role, single strand. Bounds: kModelsMax models, kHostsMax peers each.
// Cost: O(log peers) per registration, O(peers) per Locate.
#pragma once

#include "stacking/sessions/link_book.hpp"

#include <map>
#include <string>

namespace stacking::sessions {

class Directory final : public node::Role {
 public:
    static constexpr swarm::Duration kSilentMax = std::chrono::seconds(6);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;

    [[nodiscard]] std::size_t listed() const;

 private:
    struct Entry {
        protocol::Register registration;
        TimePoint heard;
    };

    using Entries = std::map<PeerId, Entry>;

    void take(PeerId from, const protocol::Register& registration, node::Turn turn);
    void take(PeerId from, const protocol::Locate& locate, node::Turn turn) const;
    [[nodiscard]] std::string refusal(PeerId from, const protocol::Register& registration) const;
    void forget(PeerId peer);

    std::map<swarm::Digest, Entries> models_;
    bool ended_ = false;
};

}  // namespace stacking::sessions
