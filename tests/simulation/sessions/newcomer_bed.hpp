// A world of a directory, servers that give their files, and a newcomer that has none. The files of
// the model are a chunk of headers and some chunks for each layer; a copy is in memory and outlives
// the newcomer's process.
#pragma once

#include "sim/world.hpp"
#include "stacking/sessions/directory.hpp"
#include "stacking/sessions/newcomer/newcomer.hpp"
#include "stacking/sessions/oracle_session_compute.hpp"
#include "stacking/sessions/session_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sim {

using namespace std::chrono_literals;
namespace protocol = swarm::protocol;
namespace sessions = stacking::sessions;
namespace sharing = stacking::sharing;
using protocol::LayerRange;
using sessions::ModelCopy;
using swarm::Digest;
using swarm::Result;

constexpr PeerId kDirectory{{1000}};
constexpr PeerId kNewcomer = peer(50);
constexpr std::uint32_t kLayers = 6;
constexpr std::uint32_t kChunksPerLayer = 20;
constexpr std::size_t kChunkBytes = 1000;

inline Digest digest(unsigned char first) {
    Digest digest;
    digest.bytes[0] = static_cast<std::byte>(first);
    return digest;
}

/// The files of a model: a chunk of headers, and then those of each layer. The manifest of these
/// tests has the hashes alone.
struct Files {
    explicit Files(unsigned char seed) {
        for (std::size_t chunk = 0; chunk < 1 + kLayers * kChunksPerLayer; ++chunk) {
            std::vector<std::byte> bytes(kChunkBytes, static_cast<std::byte>(seed));
            bytes[0] = static_cast<std::byte>(chunk);
            const Digest hash = swarm::sha256(bytes);
            manifest.insert(manifest.end(), hash.bytes.begin(), hash.bytes.end());
            chunks.push_back(std::move(bytes));
        }
    }

    [[nodiscard]] Digest name() const { return swarm::sha256(manifest); }

    std::vector<std::vector<std::byte>> chunks;
    std::vector<std::byte> manifest;
};

/// The weights of layers are named by the chunks that have them.
inline Digest weights_of(const Files& files, LayerRange layers) {
    swarm::Sha256 hash;
    for (std::size_t i = 1 + layers.first * kChunksPerLayer; i < 1 + layers.end * kChunksPerLayer;
         ++i) {
        hash.add(files.chunks[i]);
    }
    return hash.finish();
}

inline sharing::FileShelf shelf_of(const Files& files) {
    const auto pieces = std::make_shared<int>(3);  // the manifest takes three jobs
    return {
        [files, pieces]() -> Result<std::optional<sharing::ManifestName>> {
            if (--*pieces > 0) {
                return std::optional<sharing::ManifestName>();
            }
            return std::optional(sharing::ManifestName{
                files.name(),
                static_cast<std::uint32_t>(files.manifest.size()),
                static_cast<std::uint32_t>(files.chunks.size())});
        },
        [files](bool of_manifest, std::uint32_t chunk) -> Result<std::vector<std::byte>> {
            return of_manifest ? files.manifest : files.chunks.at(chunk);
        }};
}

/// A copy in memory, which outlives the newcomer's process as a disk does.
class MemoryCopy final : public ModelCopy {
 public:
    Result<std::vector<Digest>> begin(std::span<const std::byte> manifest) override {
        hashes_.resize(manifest.size() / sizeof(Digest));
        std::memcpy(hashes_.data(), manifest.data(), hashes_.size() * sizeof(Digest));
        return hashes_;
    }

    Result<> put(std::uint32_t chunk, std::span<const std::byte> bytes) override {
        EXPECT_EQ(swarm::sha256(bytes), hashes_.at(chunk));
        EXPECT_FALSE(chunks.contains(chunk)) << "chunk " << chunk << " came twice";
        chunks[chunk].assign(bytes.begin(), bytes.end());
        return {};
    }

    Result<Lacking> open(sessions::OpenedModel& opened) override {
        opened.layers = kLayers;
        opened.split = {{0, 2}, {2, 4}, {4, 6}};
        return lacking(0, 1);
    }

    Result<Lacking> load(LayerRange layers, Digest& weights) override {
        const std::uint32_t first = 1 + layers.first * kChunksPerLayer;
        const std::uint32_t end = 1 + layers.end * kChunksPerLayer;
        Lacking missing = lacking(first, end);
        if (missing.empty()) {
            swarm::Sha256 hash;
            for (std::uint32_t chunk = first; chunk < end; ++chunk) {
                hash.add(chunks.at(chunk));
            }
            weights = other_weights ? digest(99) : hash.finish();
            loaded = weights;
        }
        return missing;
    }

    std::map<std::uint32_t, std::vector<std::byte>> chunks;
    bool other_weights = false;
    Digest loaded;

 private:
    [[nodiscard]] Lacking lacking(std::uint32_t first, std::uint32_t end) const {
        Lacking missing;
        for (std::uint32_t chunk = first; chunk < end; ++chunk) {
            if (!chunks.contains(chunk)) {
                missing.push_back(chunk);
            }
        }
        return missing;
    }

    std::vector<Digest> hashes_;
};

/// A server that changes what it sends.
class LyingServer final : public node::Role {
 public:
    using Lie = std::function<void(node::Send&)>;

    LyingServer(std::unique_ptr<node::Role> honest, Lie lie)
        : honest_(std::move(honest)), lie_(std::move(lie)) {}

    void on(const node::Event& event, swarm::TimePoint now, node::Outbox& out) override {
        honest_->on(event, now, out);
        for (node::Action& action : out.actions) {
            if (auto* send = std::get_if<node::Send>(&action)) {
                lie_(*send);
            }
        }
    }

    [[nodiscard]] swarm::TimePoint next_deadline() const override {
        return honest_->next_deadline();
    }

 private:
    std::unique_ptr<node::Role> honest_;
    Lie lie_;
};

struct GivingServer {
    LayerRange layers;
    unsigned char files = 1;  // which files it has
    LyingServer::Lie lie{};
    bool gives = true;
};

class NewcomerBed {
 public:
    explicit NewcomerBed(std::vector<GivingServer> servers, std::uint64_t seed = 1)
        : world_(options(seed)) {
        world_.add_peer(kDirectory, [](swarm::Incarnation) {
            return std::make_unique<sessions::Directory>();
        });
        for (std::uint64_t i = 0; i < servers.size(); ++i) {
            add_server(peer(i + 1), servers[i]);
        }
        world_.on_send([this](PeerId from, const node::Send& send) { see(from, send); });
        world_.on_report([this](PeerId from, const node::Report& report) {
            const auto* failed = std::get_if<node::RunFailed>(&report);
            if (failed != nullptr && from == kNewcomer) {
                failure = failed->text;
            }
        });
        world_.run_for(1s);  // the servers are listed
    }

    void add_newcomer(std::optional<Digest> files = std::nullopt) {
        world_.add_peer(kNewcomer, [this, files](swarm::Incarnation incarnation) {
            sessions::Newcomer::Options newcomer;
            newcomer.self = kNewcomer;
            newcomer.model = digest(1);
            newcomer.files = files;
            newcomer.copy = copy;
            newcomer.directory = kDirectory;
            newcomer.seed = incarnation.value;
            newcomer.patience = 40s;
            newcomer.serve = [this](LayerRange layers, PeerId directory) {
                return make_server(kNewcomer, {layers}, copy->loaded, directory);
            };
            return std::make_unique<sessions::Newcomer>(std::move(newcomer));
        });
    }

    /// Runs until the newcomer is listed or has ended.
    bool run(swarm::Duration limit = 120s) {
        return world_.run_until([this] { return registered || !failure.empty(); }, limit);
    }

    [[nodiscard]] World& world() { return world_; }

    /// Number of chunks that the newcomer has, but that of the headers.
    [[nodiscard]] std::size_t taken() const { return copy->chunks.size() - 1; }

    std::shared_ptr<MemoryCopy> copy = std::make_shared<MemoryCopy>();
    std::string failure;
    std::optional<protocol::Register> registered;  // the newcomer's last one
    std::map<PeerId, std::size_t> fetches;         // by server
    std::size_t offers = 0;

 private:
    static WorldOptions options(std::uint64_t seed) {
        WorldOptions options;
        options.seed = seed;
        options.network = {1ms, 3ms};
        return options;
    }

    static std::unique_ptr<sessions::SessionServer> make_server(
        PeerId self, const GivingServer& server, const Digest& weights, PeerId directory
    ) {
        sessions::SessionServer::Options options;
        options.self = self;
        options.model = digest(1);
        options.layers = kLayers;
        options.fixed = server.layers;
        options.load = [weights](LayerRange layers) {
            sessions::OracleModel model;
            model.layers = kLayers;
            return sessions::LoadedLayers{
                std::make_shared<sessions::OracleSessionCompute>(model, layers, 1000), weights};
        };
        if (server.gives) {
            options.files = shelf_of(Files(server.files));
        }
        options.directory = directory;
        return std::make_unique<sessions::SessionServer>(std::move(options));
    }

    void add_server(PeerId self, const GivingServer& server) {
        world_.add_peer(self, [=](swarm::Incarnation) -> std::unique_ptr<node::Role> {
            const Digest weights = weights_of(Files(server.files), server.layers);
            auto role = make_server(self, server, weights, kDirectory);
            if (server.lie) {
                return std::make_unique<LyingServer>(std::move(role), server.lie);
            }
            return role;
        });
    }

    void see(PeerId from, const node::Send& send) {
        const protocol::Body& body = send.message.body;
        if (from == kNewcomer && std::holds_alternative<protocol::FileFetch>(body)) {
            fetches[send.peer] += 1;
        } else if (from == kNewcomer && std::holds_alternative<protocol::HostOffer>(body)) {
            offers += 1;
        } else if (from == kNewcomer && std::holds_alternative<protocol::Register>(body)) {
            registered = std::get<protocol::Register>(body);
        }
    }

    World world_;
};

}  // namespace sim
