// One answer, or an endpoint for clients, by a directory and N peers, real processes on loopback,
// with faults by the token or by the clock: `swarm local` with a model or a stack. The peers serve
// the model, or the members of the stack in turn.
// Invariant: a peer is disturbed only while another peer with the same layers is listed and runs. A
// peer that ends by itself starts again if it has served, as after a kill by hand.
// Threading: the loop's thread. Times: real.
#pragma once

#include "swarm/cli/answer/open_stack.hpp"
#include "swarm/cli/answer/remote_answer.hpp"
#include "swarm/cli/api/api_endpoint.hpp"
#include "swarm/cli/local/local_fleet.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/net/event_loop.hpp"
#include "swarm/net/host.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace swarm::cli {

/// A fault that `swarm local` did to a peer that serves.
struct ServiceFault {
    enum class Kind : std::uint8_t { Kill, Freeze };

    Kind kind = Kind::Kill;
    std::size_t token = 0;  // tokens that had come
    PeerId peer;
};

/// Returns the object of --json: that of the answer, the faults, and whether one process gives the
/// same tokens; nullopt: it was not asked.
boost::json::object to_json(
    const AnswerRecord& answer,
    const std::vector<ServiceFault>& faults,
    std::optional<bool> is_verified
);

class LocalService {
 public:
    /// `directory` exists; `options` has a prompt or asks for the API. `parts`: peers serve them in
    /// turn; each is listed once. `options` and `console` outlive this object.
    LocalService(
        const LocalOptions& options,
        std::vector<ServedPart> parts,
        std::filesystem::path directory,
        Console& console
    );

    /// Returns the exit code.
    int run();

 private:
    using Peer = LocalFleet::Peer;
    using Fault = ServiceFault::Kind;

    Result<> start();
    Result<> start_directory();
    [[nodiscard]] std::vector<std::string> flags_of(const ServedPart& part) const;
    void on_listed(const node::HostListed& host);
    void on_peer_end(Peer& peer, int exit_code);
    void start_again(Peer& peer);
    void on_token(std::size_t count);
    void disturb_by_the_clock();
    void disturb();
    [[nodiscard]] std::vector<PeerId> serving() const;
    [[nodiscard]] bool may_disturb(const Peer& peer) const;
    void disturb(Fault fault, Peer& peer);
    void end(const Error& error);
    int answer();
    int answer_clients();
    int verify();
    [[nodiscard]] int write_report();

    const LocalOptions& options_;
    GenerateOptions question_;
    std::vector<ServedPart> parts_;
    std::filesystem::path directory_;
    Console& console_;
    net::EventLoop loop_;
    std::optional<net::Host> listing_;
    LocalFleet fleet_;
    std::map<PeerId, protocol::LayerRange> listed_;  // peers that serve, by their layers
    std::set<PeerId> have_served_;                   // peers whose process has served
    std::optional<RemoteAnswer> answer_;
    std::map<std::uint32_t, std::vector<PeerId>> routes_;  // by member
    std::deque<Fault> due_;
    std::vector<ServiceFault> faults_;
    std::optional<bool> equal_;  // to one process
    std::optional<int> exit_code_;
};

}  // namespace swarm::cli
