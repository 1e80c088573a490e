// A world of session servers, a directory and one client on virtual time, with the oracle model;
// and what one process makes of the same prompts, to hold it against.
// Peers 1 to stages x replicas serve; stage by stage, `replicas` each; then those of the next
// member, where a stack is served.
#pragma once

#include "sim/world.hpp"
#include "stacking/sessions/directory.hpp"
#include "stacking/sessions/oracle_session_compute.hpp"
#include "stacking/sessions/session_client.hpp"
#include "stacking/sessions/session_server.hpp"
#include "stacking/stack/text_reader.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sim {

namespace protocol = swarm::protocol;
namespace sessions = stacking::sessions;

/// Changes what one server says.
using Lie = std::function<void(protocol::Body&)>;

struct SessionBedOptions {
    static constexpr std::uint64_t kAll = UINT64_MAX;

    std::uint32_t stages = 3;
    std::uint32_t replicas = 2;
    sessions::OracleModel model{.layers = 6};
    std::uint32_t members = 1;              // of a stack: models with other weights
    std::uint64_t budget_positions = 4096;  // of each peer
    std::uint64_t kept_bytes_max = 1 << 20;
    swarm::Duration ttl = std::chrono::minutes(5);
    swarm::Duration patience = std::chrono::seconds(60);
    double units_per_s = 4000;
    std::uint64_t line_bytes_per_s = 0;  // what each server can send; 0: without end
    std::vector<double> unequal{};       // units_per_s of the replicas of each stage; empty: equal
    std::uint64_t clients = 1;
    std::uint64_t seed = 1;
    std::uint64_t liar = 0;  // number of the server that tells it; 0: nobody, or kAll
    Lie lie = {};
    bool directory_places = false;  // else the layers of each are fixed
    bool bridged = false;           // the second member is behind a bridge
};

/// What came of one request.
struct Told {
    std::vector<std::uint32_t> tokens;
    std::vector<node::SessionMoved> moves;
    std::vector<node::MemberDropped> dropped;
    std::vector<protocol::CodecId> codecs{};  // of the rows between the hops of a model
    std::string failure;
    bool done = false;
    bool in_order = true;
};

class SessionBed {
 public:
    explicit SessionBed(SessionBedOptions options = {});

    static constexpr PeerId kDirectory{{100}};
    static constexpr PeerId kClient{{200}};

    World& world() { return world_; }

    /// By one of the clients; request numbers are the bed's.
    void ask(const node::SessionRequest& request, std::uint64_t client = 0);

    /// By one that has seen nothing yet; what it was asked is forgotten.
    void replace_client(std::uint64_t client);

    void cancel(std::uint64_t request) { world_.ask(kClient, {node::CancelRequest{request}}); }

    /// False when some request has not ended after `limit` of virtual time.
    bool run(swarm::Duration limit = std::chrono::seconds(120));

    [[nodiscard]] const Told& told(std::uint64_t request) const { return told_.at(request); }

    /// By one process: stages of the path one after the other, one row at a time.
    [[nodiscard]] std::vector<std::uint32_t> expected(const node::SessionRequest& request) const;

    /// Empty when every request ended with the expected tokens and no cache was ever mixed up.
    [[nodiscard]] std::string verdict() const;

    /// Positions that are reserved at the peer.
    [[nodiscard]] std::uint64_t reserved(PeerId server) const;
    [[nodiscard]] std::size_t largest_call() const;

    [[nodiscard]] std::uint32_t servers() const { return options_.members * of_member(); }

    /// Peers that serve one member.
    [[nodiscard]] std::uint32_t of_member() const { return options_.stages * options_.replicas; }

    [[nodiscard]] std::uint32_t member_of(PeerId server) const {
        return static_cast<std::uint32_t>(server.words[0] - 1) / of_member();
    }

    /// Of the next token, as one process reads the text with this member alone.
    [[nodiscard]] std::unique_ptr<stacking::stack::TextReader> reader(std::uint32_t member) const;

    [[nodiscard]] protocol::LayerRange layers_of(PeerId server) const;

    /// Where it is, or was, if the directory places.
    [[nodiscard]] protocol::LayerRange placed(PeerId server) const { return placed_.at(server); }

    [[nodiscard]] std::vector<protocol::LayerRange> split() const;

    static swarm::Digest digest(unsigned char first);

 private:
    void add_server(std::uint64_t number);
    void add_client(PeerId self);
    [[nodiscard]] sessions::OracleModel model_of(std::uint32_t member) const;

    /// A hop, as one process has it.
    struct Place {
        std::unique_ptr<sessions::OracleSessionCompute> compute;  // with a cache {1}
        bool bridged = false;
    };

    [[nodiscard]] std::vector<Place> path_of(const node::SessionRequest& request) const;
    [[nodiscard]] std::vector<std::uint32_t> expected_of_stack(const node::SessionRequest& request
    ) const;
    [[nodiscard]] node::SessionRequest as_told(std::uint64_t number) const;
    void see(const node::Send& send);
    void hear(const node::Report& report);

    SessionBedOptions options_;
    World world_;
    std::map<std::uint64_t, node::SessionRequest> asked_;
    std::map<std::uint64_t, Told> told_;
    std::map<PeerId, protocol::LayerRange> placed_;
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::set<protocol::CodecId>> sent_in_;  // hop
    std::map<PeerId, std::vector<std::shared_ptr<sessions::OracleSessionCompute>>> computes_;
};

/// A prompt of its own for each number.
node::SessionRequest session_request(
    std::uint64_t number, std::uint32_t prompt, std::uint32_t tokens, bool exact = true
);

/// The same of a stack of the bed's members, which have these priors.
node::SessionRequest stack_request(node::SessionRequest request, std::vector<double> priors);

/// Of a chain: one of the bed's members, or some of its layers.
struct ChainLink {
    std::uint32_t member = 0;
    std::optional<protocol::LayerRange> layers{};
    bool bridged = false;
};

node::SessionRequest chain_request(
    node::SessionRequest request, const std::vector<ChainLink>& links
);

}  // namespace sim
