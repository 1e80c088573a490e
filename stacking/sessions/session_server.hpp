// The role of a peer that serves layers of a model to sessions: registers at the directory, and
// hosts hops (hop_table). It decides nothing about a session: its client does.
// Errors: what the directory refuses is logged once per reason, and tried again.
// Threading: a role, single strand; its compute is touched by device work only.
#pragma once

#include "stacking/sessions/directory_link.hpp"
#include "stacking/sessions/hop_table.hpp"

#include <string>

namespace stacking::sessions {

class SessionServer final : public node::Role {
 public:
    struct Options {
        HopTable::Options hops;
        std::string address;  // where others dial this peer
        PeerId directory;
        std::string directory_address;
    };

    explicit SessionServer(Options options);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;

    [[nodiscard]] const HopTable& hops() const { return hops_; }

 private:
    void handle(const node::LinkUp& up, node::Turn turn);
    void handle(const node::LinkDown& down, node::Turn turn);
    void handle(const node::DialFailed& failed, node::Turn turn);
    void handle(const node::Received& received, node::Turn turn);
    void handle(const node::Computed& computed, node::Turn turn);

    template <class Other>
    void handle(const Other&, node::Turn) {}  // it stores and loads nothing; deadlines: below

    Options options_;
    LinkBook links_;
    DirectoryLink directory_;
    HopTable hops_;
    std::string refusal_;  // the last one
    bool ended_ = false;
};

}  // namespace stacking::sessions
