// The role of a peer that is to serve a model of which it lacks the files. It finds the model's
// servers by the directory, chooses the manifest of the files (stacking/sharing/README.md), fetches
// what opening the model takes, asks the directory for a place, fetches what these layers take,
// loads them, and then is the role of a server for the rest of its life.
// Invariants: nothing that a peer sent is used before its hash was checked. The server's role
// begins only with weights that are those of the peers that told the same manifest.
// Errors: the process ends (RunFailed) with one line when nobody gives the files for `patience`,
// when servers disagree equally, when the files are those of another model, when the weights are
// not the group's, when the disk is full, and when what answers is no directory.
// Threading: a role, single strand; the copy is used by jobs of the device.
// Bounds: kAskedMax servers, kUnsavedMax chunks in memory.
#pragma once

#include "stacking/sessions/directory_link.hpp"
#include "stacking/sharing/file_fetcher.hpp"
#include "stacking/sharing/manifest_fetch.hpp"
#include "stages/compute/device_queue.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stacking::sessions {

/// Facts about the model that opening a copy has shown.
struct OpenedModel {
    std::uint32_t layers = 0;
    std::vector<protocol::LayerRange> split{};    // ranges among which the directory chooses
    std::optional<protocol::LayerRange> fixed{};  // layers to serve, whatever is needed
};

/// The newcomer's copy of the files. Its functions are called by jobs of the device, one at a time.
class ModelCopy {
 public:
    /// The chunks that an attempt lacks; none where it has succeeded.
    using Lacking = std::vector<std::uint32_t>;

    ModelCopy() = default;
    ModelCopy(const ModelCopy&) = delete;
    ModelCopy& operator=(const ModelCopy&) = delete;
    virtual ~ModelCopy() = default;

    /// Begins the copy, or goes on with one of the same manifest. Returns the chunks' hashes.
    virtual swarm::Result<std::vector<swarm::Digest>> begin(std::span<const std::byte> manifest
    ) = 0;
    virtual swarm::Result<> put(std::uint32_t chunk, std::span<const std::byte> bytes) = 0;
    /// Opens the model. Returns Mismatch for another model than the one that is wanted.
    virtual swarm::Result<Lacking> open(OpenedModel& opened) = 0;
    /// Loads layers for the server. `weights`: their digest.
    virtual swarm::Result<Lacking> load(protocol::LayerRange layers, swarm::Digest& weights) = 0;
};

class Newcomer final : public node::Role {
 public:
    static constexpr std::size_t kAskedMax = 16;
    static constexpr std::size_t kUnsavedMax = 16;
    /// Servers that do not answer for so long after the first answer do not count.
    static constexpr swarm::Duration kTellWithin = std::chrono::seconds(20);
    static constexpr swarm::Duration kProgressEvery = std::chrono::seconds(5);

    struct Options {
        PeerId self;
        swarm::Digest model;
        std::string name = "the model";        // for people
        std::optional<swarm::Digest> files{};  // digest of the manifest; none: most servers'
        std::shared_ptr<ModelCopy> copy;
        /// Makes the role of the server with the layers that the copy has loaded last.
        std::function<std::unique_ptr<node::Role>(protocol::LayerRange, PeerId directory)> serve;
        PeerId directory{};  // PeerId{}: any peer that answers at the address
        std::string directory_address;
        std::uint64_t seed = 0;  // the order in which servers are asked
        swarm::Duration patience = std::chrono::seconds(60);
    };

    explicit Newcomer(Options options);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;
    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const override;

    [[nodiscard]] bool is_serving() const { return server_ != nullptr; }

 private:
    enum class Step { Choose, Manifest, Open, Place, Load, Done };

    /// A server of the model.
    struct Server {
        protocol::HostInfo info;
        TimePoint ask_at = swarm::kAtOnce;  // when it is asked for its manifest, again
        bool gone = false;                  // its last dial failed
        std::optional<protocol::FilesTold> told{};
    };

    void handle(const node::LinkUp& up, node::Turn turn);
    void handle(const node::LinkDown& down, node::Turn turn);
    void handle(const node::DialFailed& failed, node::Turn turn);
    void handle(const node::Received& received, node::Turn turn);
    void handle(const node::Computed& computed, node::Turn turn);

    template <class Other>
    void handle(const Other&, node::Turn) {}  // the role stores nothing; on() sees to deadlines

    void take(PeerId from, const protocol::Located& located, node::Turn turn);
    void take(PeerId from, const protocol::HostPlace& place, node::Turn turn);
    void take(PeerId from, const protocol::Registered& registered, node::Turn turn);
    void take(PeerId from, const protocol::Misdirected& misdirected, node::Turn turn);
    void take(PeerId from, const protocol::FilesTold& told, node::Turn turn);
    void take(
        PeerId from, const protocol::FileChunk& chunk, const node::Payload& payload, node::Turn turn
    );

    [[nodiscard]] bool is_linked(PeerId peer) const;
    void add_donor(PeerId peer, const Server& server);
    void advance(node::Turn turn);
    void ask_servers(node::Turn turn);
    void choose(node::Turn turn);
    [[nodiscard]] std::optional<swarm::Digest> agreed(node::Turn turn);
    void use(swarm::Digest files, node::Turn turn);
    void begin_copy(node::Turn turn);
    void open(node::Turn turn);
    void load(node::Turn turn);
    void save(std::uint32_t chunk, node::Payload payload, node::Turn turn);
    void try_again(node::Turn turn);
    [[nodiscard]] std::string refusal_of(const swarm::Digest& weights) const;
    void begin_serving(node::Turn turn);
    void beat(node::Turn turn);
    void show_progress(node::Turn turn);
    [[nodiscard]] std::string what_is_missing() const;
    void end(int exit_code, std::string text, node::Turn turn);

    Options options_;
    DirectoryLink directory_;
    LinkBook links_;
    std::map<std::pair<PeerId, node::Lane>, node::LinkUp> up_;  // for the server's role
    stages::DeviceQueue jobs_;
    Step step_ = Step::Choose;
    std::map<PeerId, Server> servers_;
    std::optional<swarm::Digest> files_;  // digest of the manifest that was chosen
    std::optional<sharing::ManifestFetch> manifest_;
    std::optional<sharing::FileFetcher> fetcher_;
    OpenedModel opened_;
    std::optional<protocol::LayerRange> place_;
    std::size_t unsaved_ = 0;  // chunks on their way to the disk
    std::size_t taken_ = 0;    // chunks that came since the start
    bool busy_ = false;        // a job of a step is under way
    bool begun_ = false;
    bool ended_ = false;
    bool located_ = false;  // the directory has answered
    TimePoint tell_until_ = swarm::kNever;
    TimePoint give_up_at_ = swarm::kNever;
    TimePoint progress_at_ = swarm::kNever;
    std::string refusal_;  // the directory's last one
    std::unique_ptr<node::Role> server_;
};

}  // namespace stacking::sessions
