// What the sub-machines of a stage server share: who it is, what it hosts, whom it knows.
// Owned by the stage server role; single strand. `worker` and `replica` are touched by device work
// only.
#pragma once

#include "stages/device_queue.hpp"
#include "stages/sparse_replica.hpp"
#include "stages/stage_worker.hpp"
#include "swarm/node/frame_size.hpp"
#include "swarm/run/control_stream.hpp"
#include "swarm/run/memory_plan.hpp"
#include "swarm/run/planted_bugs.hpp"
#include "swarm/run/roster.hpp"
#include "swarm/run/turns.hpp"

#include <boost/container/flat_set.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace stages {

using swarm::MicrobatchId;
using swarm::ParameterVersion;
using swarm::PeerId;
using swarm::SlotId;
using swarm::StageIndex;
using swarm::TimePoint;
namespace protocol = swarm::protocol;

/// In order; flat, as they are few and asked for at every leg.
using MicrobatchIds = boost::container::flat_set<MicrobatchId>;

struct ServerContext {
    PeerId self;
    PeerId coordinator;
    swarm::Incarnation incarnation;
    std::uint64_t lent_memory_bytes = 0;                       // 0: no bound
    std::uint64_t slice_bytes_max = protocol::kSliceBytesMax;  // alike in the whole stage
    swarm::run::PlantedBugs bugs;

    swarm::run::RunConfig config;    // of the run, once assigned
    swarm::run::StageLayout layout;  // of the stage, once assigned

    /// Where the other use of a tied matrix is: the last stage for the first one, and vice versa.
    struct TiedStage {
        StageIndex stage;
        std::uint64_t elements = 0;  // of that stage
    };

    std::optional<TiedStage> tied;            // of the run, once assigned
    double next_offer_units = 0;              // what we send costs the next stage; 0: there is none
    swarm::run::MemoryPlan memory;            // of the stage, once assigned
    std::shared_ptr<StageWorker> worker;      // null until assigned
    std::shared_ptr<SparseReplica> replica;   // of mode sparse; of the worker
    std::optional<ParameterVersion> version;  // of the worker's state, once it has one
    swarm::Digest state_hash;                 // of mode sparse: that of the shared weights
    /// On the device: `version` is about to be the one before.
    std::optional<protocol::Commit> applying;
    std::uint64_t assignment = 0;  // ASSIGNs so far; what began under an earlier one is void

    swarm::run::Roster roster{1};
    std::optional<SlotId> slot;  // of this incarnation as a member
    swarm::run::ControlStream control;
    bool control_up = false;
    DeviceQueue device;
    std::uint64_t wire_bytes = 0;  // of this step's legs to other stage servers, framed; a report

    [[nodiscard]] StageIndex stage() const { return layout.stage; }

    /// The turn of `of` is one in which the replicas of mode sparse exchange.
    [[nodiscard]] bool is_exchange(ParameterVersion of) const {
        return swarm::run::is_exchange(config, of.step);
    }

    [[nodiscard]] bool is_tail() const { return layout.has_head; }

    /// Tokens x layers of one forward leg here.
    [[nodiscard]] double forward_units() const {
        const double tokens = static_cast<double>(config.batch) * config.model.context;
        return tokens * layout.layers;
    }

    /// Of a reduction among so many members.
    [[nodiscard]] Slices slices(std::size_t members) const {
        return slices_of(layout.elements(), members);
    }

    /// As slices(), in a stage of so many parameters.
    [[nodiscard]] Slices slices_of(std::uint64_t elements, std::size_t members) const {
        return {
            elements + config.microbatches, static_cast<std::uint32_t>(members), slice_bytes_max};
    }

    /// In order, repeated after a reconnect until acknowledged.
    void tell_coordinator(protocol::Body body, node::Turn turn) {
        protocol::Message message = control.number(std::move(body));
        if (control_up) {
            turn.out.add(node::Send{coordinator, std::move(message)});
        }
    }

    /// Once, if there is a link.
    static void send(PeerId peer, protocol::Body body, node::Payload payload, node::Turn turn) {
        turn.out.add(node::Send{peer, {0, 0, std::move(body)}, std::move(payload)});
    }

    /// As send(), counted in wire_bytes.
    void send_leg(PeerId peer, protocol::Body body, node::Payload payload, node::Turn turn) {
        protocol::Message message{0, 0, std::move(body)};
        wire_bytes += node::frame_bytes(message, payload);
        turn.out.add(node::Send{peer, std::move(message), std::move(payload)});
    }

    /// An answer to whoever sent the leg.
    void answer(PeerId peer, protocol::Body body, node::Turn turn) {
        if (peer == coordinator) {
            tell_coordinator(std::move(body), turn);
        } else {
            send(peer, std::move(body), {}, turn);
        }
    }
};

}  // namespace stages
