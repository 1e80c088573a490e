// Gives the files of the model that a server serves to newcomers that lack them.
// Invariants: a chunk is named by its number under one manifest, so nobody can ask for another
// file. At most kOpenFetchesMax requests of one peer wait, and kWaitingMax of all; others are
// refused as busy. One chunk is read at a time, in the order of the requests, and while sessions
// are open here a chunk leaves at most each kPauseBesideSessions, so that their rows find the line
// free. The manifest is made in pieces, between which the device computes for sessions, when
// somebody asks for the first time.
// Threading: single strand; reading and hashing are jobs of the device. Bound: kAskersMax askers.
// Cost: a chunk of memory for each that is under way.
#pragma once

#include "stacking/sharing/file_shelf.hpp"
#include "swarm/node/role.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace stacking::sharing {

namespace node = swarm::node;
namespace protocol = swarm::protocol;
using swarm::PeerId;
using swarm::TimePoint;

class FileDonor {
 public:
    static constexpr std::size_t kWaitingMax = 16;
    static constexpr std::size_t kAskersMax = 64;
    static constexpr swarm::Duration kPauseBesideSessions = std::chrono::milliseconds(40);
    /// The numbers of this object's jobs; those of a DeviceQueue stay far below.
    static constexpr std::uint64_t kFirstJob = std::uint64_t{1} << 62;

    FileDonor(swarm::Digest model, FileShelf shelf) : model_(model), shelf_(std::move(shelf)) {}

    void take(PeerId from, const protocol::FilesAsk& ask, node::Turn turn);
    void take(PeerId from, const protocol::FileFetch& fetch, node::Turn turn);
    /// The peer's control link is gone: nothing that it asked for is sent.
    void lost(PeerId peer);

    static bool is_its_job(swarm::JobId job) { return job.value >= kFirstJob; }

    void computed(swarm::JobId job, node::Turn turn);

    /// Begins what may begin now. Call it after each event, and at next_deadline().
    void advance(bool beside_sessions, node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    /// Whether the peer waits for something here.
    [[nodiscard]] bool serves(PeerId peer) const;

 private:
    struct Request {
        PeerId peer;
        bool of_manifest = false;
        std::uint32_t chunk = 0;
    };

    enum class Work { None, Prepare, Read };

    struct Outcome {
        std::optional<swarm::Result<std::optional<ManifestName>>> prepared{};
        std::optional<swarm::Result<std::vector<std::byte>>> read{};
    };

    class DonorJob;

    void tell(PeerId peer, node::Turn turn) const;
    void refuse(const Request& request, bool busy, node::Turn turn) const;
    [[nodiscard]] bool exists(const Request& request) const;
    [[nodiscard]] std::uint32_t waiting_of(PeerId peer) const;
    void submit(Work work, node::Turn turn);

    swarm::Digest model_;
    FileShelf shelf_;
    std::optional<ManifestName> name_;
    bool gives_nothing_ = false;  // the manifest cannot be made
    std::set<PeerId> askers_;     // wait for the manifest's name
    std::deque<Request> waiting_;
    std::optional<Request> reading_;
    std::shared_ptr<Outcome> outcome_;
    Work work_ = Work::None;
    std::uint64_t next_job_ = kFirstJob;
    TimePoint not_before_ = swarm::kAtOnce;
};

}  // namespace stacking::sharing
