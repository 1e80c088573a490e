// How a peer comes to hold the state of its stage. The coordinator assigns it a stage; it builds
// version 0 from the seed, or downloads a snapshot that a donor froze at a commit. Then it follows
// every commit as an observer, and asks for a slot as soon as its version is the current one. A
// peer that was fenced and came back too late does the same. A peer that restarts with a cached
// state takes that first: if its version is the current one, nothing is downloaded.
// Invariants: a state is used only when its hash is the one in its manifest; commits are replayed
// in order, each with the values of exactly its epoch.
// Threading: single strand. Bounds: only the kFollowedMax versions from its own (or the snapshot's)
// on are followed, whatever others say; a peer that falls further behind asks for a newer snapshot.
// Memory: 4 bytes per parameter and followed commit.
// Errors: fatal() when this machine cannot serve the run; all else is tried again.
// Source: step protocol, section 7.
#pragma once

#include "stages/files/cached_state.hpp"
#include "stages/server/server_context.hpp"
#include "swarm/run/state_fetcher.hpp"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stages {

/// Builds the model side of a stage. It returns an Error when this machine cannot build it.
using ComputeFactory = std::function<swarm::Result<
    std::unique_ptr<StageCompute>>(const swarm::run::RunConfig&, const swarm::run::StageLayout&)>;

class Joining {
 public:
    Joining(
        ServerContext& context,
        ComputeFactory make_compute,
        std::string address,
        std::optional<CachedState> cached,
        std::optional<CachedState> unsent
    )
        : context_(context),
          make_compute_(std::move(make_compute)),
          address_(std::move(address)),
          cached_(std::move(cached)),
          unsent_(std::move(unsent)) {}

    /// Tells the coordinator by JOIN what this peer has; is called when the link is up.
    void greet(node::Turn turn);
    /// Takes over a stage. fatal() says so when the run cannot be served here.
    void on(const protocol::Assign& assign, node::Turn turn);
    /// Waits, and asks again: no stage keeps this peer apart from the one that it cannot reach.
    void on(const protocol::Standby& standby, node::Turn turn);
    void on(PeerId from, const protocol::Chunk& chunk, node::Payload payload, node::Turn turn);
    void on(PeerId from, const protocol::ChunkRefused& refused, node::Turn turn);
    /// Gives up donors that the roster no longer lists: a fenced donor has nothing to give.
    void follow_roster(node::Turn turn);
    void link_up(PeerId peer, node::Turn turn);
    /// Pauses the download from this peer, which may come back.
    void link_down(PeerId peer, node::Turn turn);
    /// Gives up a donor that is lost for good.
    void peer_lost(PeerId peer, node::Turn turn);

    /// Notes, as an observer, the group and the shares of an epoch.
    void follow(const protocol::Reduce& reduce);
    /// Keeps, as an observer, values of an epoch.
    void follow(PeerId from, const protocol::Part& part, node::Payload values, node::Turn turn);
    /// Follows a commit that this peer cannot apply from a result of its own. A commit that orders
    /// a
    /// snapshot for this peer starts the download.
    void follow(const protocol::Commit& commit, node::Turn turn);

    void wake(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    /// True once after each change of the state: a new stage, a download, a replayed commit.
    bool take_changed() { return std::exchange(changed_, false); }

    /// Why this machine cannot serve the run; empty when it can.
    [[nodiscard]] const std::optional<std::string>& fatal() const { return fatal_; }

    /// A line for people about the progress.
    [[nodiscard]] std::string status(TimePoint now) const;

    /// Bytes of states that were downloaded since the process started.
    [[nodiscard]] std::uint64_t downloaded_bytes() const { return downloaded_bytes_; }

    /// Run file of the run to which the state belongs; empty before the first stage.
    [[nodiscard]] const std::string& run_file() const { return run_file_; }

    /// Number of commits of which something is kept.
    [[nodiscard]] std::size_t kept() const { return followed_.size(); }

 private:
    static constexpr std::size_t kFollowedMax = 16;
    static constexpr swarm::Duration kAskAgainAfter = std::chrono::seconds(2);
    static constexpr swarm::Duration kSnapshotWithin = std::chrono::seconds(60);

    /// Everything that an observer has of one commit.
    struct Followed {
        ParameterVersion version;
        swarm::Epoch epoch;
        bool changes_state = true;  // false for a local step of mode sparse: others' weights change
        std::uint32_t members = 0;  // size of the group; 0: unknown
        std::uint32_t parts = 0;    // parts that the members send
        std::vector<protocol::Trained> shares{};  // owners of the parts of an exchange
        std::map<std::uint32_t, node::Payload> slices{};
        std::optional<protocol::Commit> commit{};

        /// True when everything that the commit needs is here.
        [[nodiscard]] bool complete() const {
            const bool all = members > 0 && slices.size() == parts;
            return commit && commit->epoch == epoch && (all || !changes_state || commit->skips());
        }
    };

    /// The buffer that a replica of mode sparse had not sent at this version.
    struct Unsent {
        ParameterVersion version;
        std::vector<float> values;
    };

    /// The shares of an exchange, in the order of its list.
    static std::vector<SparseShare> shares_in(const Followed& step);

    /// Refuses a stage for which neither the memory lent nor the machine's is enough. Nothing has
    /// been made of the assignment then, so one that is too large costs nothing.
    [[nodiscard]] swarm::Result<> check_memory(
        const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
    ) const;
    void build(const protocol::Assign& assign, swarm::run::RunConfig config, node::Turn turn);
    void start_from_seed(node::Turn turn);
    /// Takes the cached state, if it belongs to this coordinator's run.
    void start_from_cache(node::Turn turn);
    /// Makes the chunks the worker's state, on the device.
    void start_from_chunks(
        ParameterVersion version,
        std::shared_ptr<const std::vector<node::Payload>> chunks,
        node::Turn turn
    );
    void start_download(ParameterVersion version, std::vector<PeerId> donors, node::Turn turn);
    void finish_download(node::Turn turn);
    void replay_followed(node::Turn turn);
    void replay_front(node::Turn turn);
    /// Takes the buffer that an earlier process of this peer has kept; empty unless it belongs to
    /// this stage.
    std::optional<Unsent> take_unsent(node::Turn turn);
    void have_state(ParameterVersion version, swarm::Digest hash, node::Turn turn);
    /// The version that this peer has, or will have when the download is over; empty while it waits
    /// for a donor.
    [[nodiscard]] std::optional<ParameterVersion> base() const;
    [[nodiscard]] std::string download_status(TimePoint now) const;
    /// Applies a followed commit on the device and returns the state hash. The result is empty when
    /// the values that came are not those that were decided.
    static std::optional<swarm::Digest> replay(
        const Followed& step, StageWorker& worker, SparseReplica* replica, const Slices& slices
    );
    /// Number of versions, from its own on, that the peer follows.
    [[nodiscard]] std::uint64_t followed_max() const;
    /// Finds or begins the entry of a version; null when the peer does not follow it.
    Followed* followed(ParameterVersion version, swarm::Epoch epoch);

    ServerContext& context_;
    ComputeFactory make_compute_;
    std::string address_;
    std::optional<CachedState> cached_;  // cached state, until the first contact
    std::optional<CachedState> unsent_;  // cached buffer, until the first state of mode sparse
    std::string run_file_;
    std::uint64_t downloaded_bytes_ = 0;
    std::optional<swarm::run::StateFetcher> fetcher_;
    TimePoint download_began_{};
    std::deque<Followed> followed_;
    bool busy_ = false;        // true while the device builds or replays a state
    ParameterVersion builds_;  // version under construction, while busy_ without a version
    bool changed_ = false;
    TimePoint ask_at_ = swarm::kNever;
    std::optional<PeerId> unreached_;  // set while the coordinator has no stage for this peer
    std::optional<std::string> fatal_;
};

}  // namespace stages
