// Recomputes every exchange of a run in mode sparse from the messages on the wires: the shared
// weights before the exchange and the shares that its REDUCE lists must give the committed weights.
// The hashes of replicas cannot show a share that all of them use wrongly; this watch can. It knows
// one share per peer and exchange, whatever epoch carried it: a share is made once.
// Threading: single strand; it watches the run as long as it lives. Bounds: the last exchange's.
#pragma once

#include "compression/codec.hpp"
#include "sim/run/run_world.hpp"
#include "stages/worker/sparse_sync.hpp"
#include "swarm/run/versions.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace sim {

class ExchangeWatch {
 public:
    ExchangeWatch(RunWorld& run, swarm::run::RunConfig config)
        : run_(run), config_(std::move(config)) {}

    void on_send(PeerId from, const node::Send& send) {
        const auto& body = send.message.body;
        if (const auto* const part = std::get_if<swarm::protocol::Part>(&body)) {
            if (swarm::run::is_exchange(config_, part->version.step)) {
                note_share(from, part->version, send.payload);
            }
        } else if (const auto* const reduce = std::get_if<swarm::protocol::Reduce>(&body)) {
            const auto* const boss = run_.coordinator_role();
            const auto* const first = boss && !reduce->group.empty()
                                          ? boss->context().roster.find(reduce->group.front())
                                          : nullptr;
            if (first && swarm::run::is_exchange(config_, reduce->version.step)) {
                lists_[{reduce->version, reduce->epoch, first->stage}] = senders_of(*reduce, *boss);
            }
        } else if (const auto* const commit = std::get_if<swarm::protocol::Commit>(&body)) {
            if (swarm::run::is_exchange(config_, commit->version.step) && !commit->skips()) {
                check(*commit);
            }
        }
    }

    /// One line for each stage and exchange that is not what its shares give.
    [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

    /// Number of stages' exchanges that were recomputed.
    [[nodiscard]] std::uint64_t recomputed() const { return recomputed_; }

 private:
    using Version = swarm::ParameterVersion;

    struct Sender {
        PeerId peer;
        std::uint64_t microbatches = 0;
    };

    static std::vector<Sender> senders_of(
        const swarm::protocol::Reduce& reduce, const swarm::coordinator::Coordinator& boss
    ) {
        std::vector<Sender> senders;
        for (const swarm::protocol::Trained& share : reduce.shares) {
            const auto* const info = boss.context().roster.find(share.slot);
            senders.push_back({info ? info->peer : PeerId{}, share.microbatches});
        }
        return senders;
    }

    void note_share(PeerId from, Version version, const node::Payload& payload) {
        const std::vector<std::byte> bytes(payload.bytes().begin(), payload.bytes().end());
        const auto [known, is_first] = shares_.try_emplace({version, from}, bytes);
        if (!is_first && known->second != bytes) {
            violations_.push_back(
                "a peer has made two shares in turn " + std::to_string(version.step)
            );
        }
    }

    void check(const swarm::protocol::Commit& commit) {
        if (judged_ == commit.version) {
            return;  // COMMIT is told to each member; at the first no member has applied it
        }
        judged_ = commit.version;
        for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
            check(commit, {stage});
        }
        std::erase_if(shares_, [&](const auto& each) { return each.first.first < commit.version; });
        std::erase_if(lists_, [&](const auto& each) {
            return std::get<Version>(each.first) < commit.version;
        });
    }

    void check(const swarm::protocol::Commit& commit, swarm::StageIndex stage) {
        const auto* const member = member_at(commit.version, stage);
        const auto list = lists_.find({commit.version, commit.epoch, stage});
        if (!member || list == lists_.end()) {
            return;
        }
        std::vector<stages::SparseShare> shares;
        for (const Sender& sender : list->second) {
            const auto share = shares_.find({commit.version, sender.peer});
            if (share == shares_.end()) {
                return;  // the stage's only replica sends its share to no peer
            }
            shares.push_back({share->second, sender.microbatches});
        }
        std::vector<float> weights = *member->replica->shared();
        if (!shares.empty()) {
            const auto* const codec = compression::find_codec(compression::CodecId::Sparse);
            const auto& layout = member->worker->layout();
            static_cast<void>(stages::apply_shares(layout, *codec, shares, weights));
        }
        ++recomputed_;
        const auto made = std::make_shared<const std::vector<float>>(std::move(weights));
        if (commit.result_hashes.at(stage.value) != stages::SparseReplica::hash_of(made)) {
            violations_.push_back(
                "stage " + std::to_string(stage.value) + ", turn " +
                std::to_string(commit.version.step) + ": not what its shares give"
            );
        }
    }

    /// A server that has the values that the stage's replicas shared before this exchange.
    [[nodiscard]] const stages::ServerContext* member_at(Version version, swarm::StageIndex stage) {
        const auto& roster = run_.coordinator_role()->context().roster;
        for (const swarm::SlotId slot : roster.members(stage)) {
            const auto* const server = run_.server(roster.find(slot)->peer);
            if (server && server->context().slot == slot && server->context().replica &&
                server->context().version == version && !server->context().applying) {
                return &server->context();
            }
        }
        return nullptr;
    }

    RunWorld& run_;
    swarm::run::RunConfig config_;
    std::map<std::pair<Version, PeerId>, std::vector<std::byte>> shares_;
    std::map<std::tuple<Version, swarm::Epoch, swarm::StageIndex>, std::vector<Sender>> lists_;
    std::optional<Version> judged_;
    std::vector<std::string> violations_;
    std::uint64_t recomputed_ = 0;
};

}  // namespace sim
