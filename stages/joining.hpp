// How a peer comes to hold the state of its stage: assigned a stage, it builds version 0 from the
// seed, or downloads a snapshot that a donor froze at a commit, follows every commit since as an
// observer, and asks for a slot as soon as its version is the current one. The same path serves a
// peer that was fenced and came back too late. Who restarts with a cached state takes that first:
// while its version is the current one there is nothing to download.
// Invariants: a state is used only when its hash is the one its manifest says; commits are replayed
// in order, each with the values of exactly its epoch.
// Threading: single strand. Bounds: only the kFollowedMax versions from its own (or the snapshot's)
// on are followed, whatever others say; when the run is past them a newer snapshot is asked for.
// Memory: 4 bytes per parameter and commit kept.
// Source: step protocol, section 7.
#pragma once

#include "stages/cached_state.hpp"
#include "stages/server_context.hpp"
#include "swarm/run/state_fetcher.hpp"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stages {

/// Builds the model side of a stage; an Error when this machine cannot.
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

    /// The coordinator hears us (again): says what we have.
    void greet(node::Turn turn);
    /// Returns false when the run cannot be served here; fatal() says why.
    void on(const protocol::Assign& assign, node::Turn turn);
    void on(PeerId from, const protocol::Chunk& chunk, node::Payload payload, node::Turn turn);
    void on(PeerId from, const protocol::ChunkRefused& refused, node::Turn turn);
    /// Donors that were fenced have nothing to give.
    void follow_roster(node::Turn turn);
    void link_up(PeerId peer, node::Turn turn);
    /// It may come back.
    void link_down(PeerId peer, node::Turn turn);
    /// It is no member of the run any more.
    void peer_lost(PeerId peer, node::Turn turn);

    // As an observer.
    void follow(const protocol::Reduce& reduce);
    void follow(PeerId from, const protocol::Part& part, node::Payload values, node::Turn turn);
    /// A commit that this peer cannot apply from a result of its own.
    void follow(const protocol::Commit& commit, node::Turn turn);

    void wake(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    /// The state changed: a new stage, a download, a replayed commit.
    bool take_changed() { return std::exchange(changed_, false); }

    [[nodiscard]] const std::optional<std::string>& fatal() const { return fatal_; }

    [[nodiscard]] std::string status(TimePoint now) const;

    /// Of states, since the process started.
    [[nodiscard]] std::uint64_t downloaded_bytes() const { return downloaded_bytes_; }

    /// Of the run that the state belongs to; empty before the first.
    [[nodiscard]] const std::string& run_file() const { return run_file_; }

    /// Commits of which something is kept.
    [[nodiscard]] std::size_t kept() const { return followed_.size(); }

 private:
    static constexpr std::size_t kFollowedMax = 16;
    static constexpr swarm::Duration kAskAgainAfter = std::chrono::seconds(2);
    static constexpr swarm::Duration kSnapshotWithin = std::chrono::seconds(60);

    /// One commit as an observer sees it.
    struct Followed {
        ParameterVersion version;
        swarm::Epoch epoch;
        bool changes_state = true;  // false: a local step of mode sparse, of others' weights
        std::uint32_t members = 0;  // 0: not known yet
        std::uint32_t parts = 0;    // that the members send
        std::vector<protocol::Trained> shares{};  // whose they are, in an exchange
        std::map<std::uint32_t, node::Payload> slices{};
        std::optional<protocol::Commit> commit{};

        /// What the commit needs is there.
        [[nodiscard]] bool complete() const {
            const bool all = members > 0 && slices.size() == parts;
            return commit && commit->epoch == epoch && (all || !changes_state || commit->skips());
        }
    };

    /// What a replica of mode sparse had not sent at this version.
    struct Unsent {
        ParameterVersion version;
        std::vector<float> values;
    };

    /// The shares of an exchange, in the order of its list.
    static std::vector<SparseShare> shares_in(const Followed& step);

    void build(const protocol::Assign& assign, swarm::run::RunConfig config, node::Turn turn);
    void start_from_seed(node::Turn turn);
    /// Takes the cached state, if it is of this coordinator's run.
    void start_from_cache(node::Turn turn);
    /// On the device: the chunks become the worker's state.
    void start_from_chunks(
        ParameterVersion version,
        std::shared_ptr<const std::vector<node::Payload>> chunks,
        node::Turn turn
    );
    void start_download(ParameterVersion version, std::vector<PeerId> donors, node::Turn turn);
    void finish_download(node::Turn turn);
    void replay_followed(node::Turn turn);
    void replay_front(node::Turn turn);
    /// What an earlier process of this peer has kept, if it is of this stage.
    std::optional<Unsent> take_unsent(node::Turn turn);
    void have_state(ParameterVersion version, swarm::Digest hash, node::Turn turn);
    /// What it has, or will have when the download is over; nothing while it waits for a donor.
    [[nodiscard]] std::optional<ParameterVersion> base() const;
    [[nodiscard]] std::string download_status(TimePoint now) const;
    /// On the device. Nothing: what came is not what was decided.
    static std::optional<swarm::Digest> replay(
        const Followed& step, StageWorker& worker, SparseReplica* replica, const Slices& slices
    );
    /// How many versions from its own on it follows.
    [[nodiscard]] std::uint64_t followed_max() const;
    /// Null when the version is none that it follows.
    Followed* followed(ParameterVersion version, swarm::Epoch epoch);

    ServerContext& context_;
    ComputeFactory make_compute_;
    std::string address_;
    std::optional<CachedState> cached_;  // until the first contact
    std::optional<CachedState> unsent_;  // until the first state of mode sparse
    std::string run_file_;
    std::uint64_t downloaded_bytes_ = 0;
    std::optional<swarm::run::StateFetcher> fetcher_;
    TimePoint download_began_{};
    std::deque<Followed> followed_;
    bool busy_ = false;        // the device builds or replays a state
    ParameterVersion builds_;  // while busy_ without a version
    bool changed_ = false;
    TimePoint ask_at_ = swarm::kNever;
    std::optional<std::string> fatal_;
};

}  // namespace stages
