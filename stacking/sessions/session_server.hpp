// The role of a peer that serves layers of a model to sessions. It asks the directory which layers
// need it, loads them, registers, and hosts hops (hop_table). It decides nothing about a session;
// the session's client does. It gives the files of its model to newcomers (stacking/sharing).
// Errors: a refusal of the directory is logged once per reason, and the peer tries again. The
// process ends (RunFailed) when layers cannot be loaded, when the directory does not answer within
// `first_contact_within`, and when what answers is no directory.
// Threading: a role, single strand; loading and computing are device work.
#pragma once

#include "stacking/sessions/directory_link.hpp"
#include "stacking/sessions/experts/expert_table.hpp"
#include "stacking/sessions/hop_table.hpp"
#include "stacking/sharing/file_donor.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stacking::sessions {

/// Layers that are ready to compute.
struct LoadedLayers {
    std::shared_ptr<SessionCompute> compute;  // null: the server lends experts and hosts no hop
    swarm::Digest weights;
    std::shared_ptr<const composition::BridgedInput> bridge{};  // bridge in front of the layers
    std::shared_ptr<ExpertTrunk> trunk{};                       // the compute, if it lacks experts
    ExpertSet lacking{};                                        // those
    std::shared_ptr<ExpertLender> lender{};                     // null: the server lends no experts
    ExpertSet lent{};
    swarm::Digest expert_weights{};  // the digest of requests for experts
};

class SessionServer final : public node::Role {
 public:
    struct Options {
        PeerId self;
        swarm::Digest model;
        std::uint32_t layers = 0;                     // number of layers of the whole model
        std::vector<protocol::LayerRange> split;      // ranges among which the directory chooses
        std::optional<protocol::LayerRange> fixed{};  // layers to serve, whatever is needed
        /// Loads layers; runs on the device's thread.
        std::function<swarm::Result<LoadedLayers>(protocol::LayerRange)> load;
        std::optional<sharing::FileShelf> files{};  // none: no files are given
        std::uint64_t kept_bytes_max = HopTable::kKeptBytesMax;
        swarm::Duration ttl = HopTable::kTtl;
        swarm::Duration keeps_for = KeptCaches::kTtl;  // pages of ended sessions; 0: not at all
        std::string address;                           // address at which others dial this peer
        PeerId directory;  // PeerId{}: any peer that answers at the address
        std::string directory_address;
        swarm::Duration first_contact_within = std::chrono::seconds(60);
    };

    explicit SessionServer(Options options);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;
    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const override;

    [[nodiscard]] std::size_t hops() const { return hops_ ? hops_->hops() : 0; }

 private:
    void handle(const node::LinkUp& up, node::Turn turn);
    void handle(const node::LinkDown& down, node::Turn turn);
    void handle(const node::DialFailed& failed, node::Turn turn);
    void handle(const node::Received& received, node::Turn turn);
    void handle(const node::Computed& computed, node::Turn turn);

    template <class Other>
    void handle(const Other&, node::Turn) {}  // the role stores nothing; on() sees to deadlines

    void begin(node::Turn turn);
    void load(protocol::LayerRange layers, node::Turn turn);
    void take(LoadedLayers& loaded, node::Turn turn);
    void beat(node::Turn turn);

    [[nodiscard]] bool is_loaded() const { return hops_ || lends_; }

    [[nodiscard]] std::string what() const;
    void take(const protocol::HostPlace& place, node::Turn turn);
    void take(const protocol::Registered& registered, node::Turn turn);
    void take(const protocol::Misdirected& misdirected, node::Turn turn);
    void end(int exit_code, std::string text, node::Turn turn);

    Options options_;
    LinkBook links_;
    DirectoryLink directory_;
    stages::DeviceQueue loading_;
    std::optional<sharing::FileDonor> donor_;
    std::optional<protocol::LayerRange> place_;  // layers that are loaded or being loaded
    std::optional<HopTable> hops_;               // present once the layers are loaded
    std::optional<ExpertTable> lends_;           // present once the experts to lend are loaded
    ExpertSet lent_;
    swarm::Digest weights_;
    std::string refusal_;  // directory's last refusal; empty: none
    bool listed_ = false;
    bool begun_ = false;
    bool ended_ = false;
    bool answered_ = false;                    // the directory has answered a beat
    TimePoint contact_until_ = swarm::kNever;  // deadline for that answer
};

}  // namespace stacking::sessions
