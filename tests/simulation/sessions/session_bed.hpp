// A world of session servers, a directory and clients on virtual time, with the oracle model; and
// the tokens that one process makes of the same prompts, for comparison.
// Peers 1 to stages x replicas serve the first member of a stack, stage by stage with `replicas`
// peers each; the peers of the next member follow.
#pragma once

#include "sim/world.hpp"
#include "stacking/composition/text_reader.hpp"
#include "stacking/sessions/directory.hpp"
#include "stacking/sessions/oracle_session_compute.hpp"
#include "stacking/sessions/session_client.hpp"
#include "stacking/sessions/session_server.hpp"

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
using sessions::Replay;

/// Changes the messages of a server.
using Lie = std::function<void(protocol::Body&)>;

struct SessionBedOptions {
    static constexpr std::uint64_t kAll = UINT64_MAX;

    std::uint32_t stages = 3;
    std::uint32_t replicas = 2;
    sessions::OracleModel model{.layers = 6};
    std::uint32_t members = 1;              // members of a stack: models with different weights
    std::uint64_t budget_positions = 4096;  // budget of each peer
    std::uint64_t kept_bytes_max = 1 << 20;
    swarm::Duration ttl = std::chrono::minutes(5);
    swarm::Duration patience = std::chrono::seconds(60);
    double units_per_s = 4000;
    std::uint64_t line_bytes_per_s = 0;  // rate of each server's uplink; 0: unlimited
    std::vector<double> unequal{};       // units_per_s of a stage's replicas; empty: equal
    std::uint64_t clients = 1;
    std::uint64_t seed = 1;
    std::uint64_t liar = 0;  // number of the server that lies; 0: none; or kAll
    Lie lie = {};
    bool directory_places = false;  // false: the layers of each server are fixed
    bool bridged = false;           // the second member is behind a bridge
};

/// Reports about one request.
struct Told {
    std::vector<std::uint32_t> tokens;
    std::vector<node::SessionMoved> moves;
    std::vector<node::MemberDropped> dropped;
    std::vector<protocol::CodecId> codecs{};  // codecs of the rows between the hops
    std::vector<std::uint32_t> read{};  // tokens of the prompt that were read, again and again
    std::size_t guesses = 0;
    std::size_t right_guesses = 0;
    std::uint32_t reused = 0;  // tokens of the prompt that no hop had to read on the first route
    std::uint64_t refilled = 0;   // rows that hops read again
    std::uint64_t found = 0;      // rows that new peers had read for another session
    swarm::TimePoint first_at{};  // time of the first token
    std::size_t routes = 0;
    std::string failure;
    bool done = false;
    bool in_order = true;
};

class SessionBed {
 public:
    explicit SessionBed(SessionBedOptions options = {});

    static constexpr PeerId kDirectory{{1000}};
    static constexpr PeerId kClient{{2000}};

    World& world() { return world_; }

    /// Lets one of the clients make a request. Request numbers are unique in the bed.
    void ask(const node::SessionRequest& request, std::uint64_t client = 0);

    /// Restarts a client: it has seen no peer yet, and its requests are forgotten.
    void replace_client(std::uint64_t client);

    void cancel(std::uint64_t request) { world_.ask(kClient, {node::CancelRequest{request}}); }

    /// Runs until all requests have ended; false when one has not after `limit` of virtual time.
    bool run(swarm::Duration limit = std::chrono::seconds(120));

    [[nodiscard]] const Told& told(std::uint64_t request) const { return told_.at(request); }

    /// Computes the tokens in one process: the stages of the path one after the other, row by row.
    [[nodiscard]] std::vector<std::uint32_t> expected(const node::SessionRequest& request) const;

    /// Says what went wrong; empty when every request ended with the expected tokens and every row
    /// continued its cache.
    [[nodiscard]] std::string verdict() const;

    /// Number of positions that are reserved at the peer.
    [[nodiscard]] std::uint64_t reserved(PeerId server) const;
    [[nodiscard]] std::size_t largest_call() const;

    /// Number of rows that all peers have computed.
    [[nodiscard]] std::uint64_t rows() const;

    [[nodiscard]] std::uint32_t servers() const { return options_.members * of_member(); }

    /// Number of peers that serve one member.
    [[nodiscard]] std::uint32_t of_member() const { return options_.stages * options_.replicas; }

    [[nodiscard]] std::uint32_t member_of(PeerId server) const {
        return static_cast<std::uint32_t>(server.words[0] - 1) / of_member();
    }

    /// Makes a reader that reads texts in one process with this member alone.
    [[nodiscard]] std::unique_ptr<stacking::composition::TextReader> reader(std::uint32_t member
    ) const;

    [[nodiscard]] protocol::LayerRange layers_of(PeerId server) const;

    /// The layers that the server has loaded last.
    [[nodiscard]] protocol::LayerRange placed(PeerId server) const { return placed_.at(server); }

    [[nodiscard]] std::vector<protocol::LayerRange> split() const;

    static swarm::Digest digest(unsigned char first);

    /// Names the first member's model.
    static swarm::Digest model();

 private:
    void add_server(std::uint64_t number);
    void add_client(PeerId self);
    [[nodiscard]] sessions::OracleModel model_of(std::uint32_t member) const;

    /// A hop of the path in one process.
    struct Place {
        std::unique_ptr<sessions::OracleSessionCompute> compute;  // has the cache {1}
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
    /// Codecs of the rows that came to each (session, hop).
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::set<protocol::CodecId>> sent_in_;
    std::map<PeerId, std::vector<std::shared_ptr<sessions::OracleSessionCompute>>> computes_;
};

/// Makes a request; each number has its own prompt.
node::SessionRequest session_request(
    std::uint64_t number, std::uint32_t prompt, std::uint32_t tokens, Replay replay = Replay::Exact
);

/// Makes it a request for an ensemble of the bed's members with these priors.
node::SessionRequest stack_request(node::SessionRequest request, std::vector<double> priors);

/// A link of a chain: one of the bed's members, or some of its layers.
struct ChainLink {
    std::uint32_t member = 0;
    std::optional<protocol::LayerRange> layers{};
    bool bridged = false;
};

node::SessionRequest chain_request(
    node::SessionRequest request, const std::vector<ChainLink>& links
);

}  // namespace sim
