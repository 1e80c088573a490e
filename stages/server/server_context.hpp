// The state that the sub-machines of a stage server share: who the server is, what it hosts, whom
// it knows.
// Threading: single strand; `worker` and `replica` are touched by device work only. Owner: the
// stage server role.
#pragma once

#include "stages/compute/device_queue.hpp"
#include "stages/worker/sparse_replica.hpp"
#include "stages/worker/stage_worker.hpp"
#include "swarm/node/frame_size.hpp"
#include "swarm/run/control_stream.hpp"
#include "swarm/run/memory_plan.hpp"
#include "swarm/run/planted_bugs.hpp"
#include "swarm/run/roster.hpp"
#include "swarm/run/training/boundary_maps.hpp"
#include "swarm/run/versions.hpp"

#include <boost/container/flat_set.hpp>

#include <algorithm>
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

/// Ids in order. The set is flat, because it is small and looked up at every leg.
using MicrobatchIds = boost::container::flat_set<MicrobatchId>;

struct ServerContext {
    PeerId self;
    PeerId coordinator;
    swarm::Incarnation incarnation;
    std::uint64_t lent_memory_bytes = 0;  // memory lent; 0: no bound
    std::uint64_t machine_bytes = 0;      // whole memory; 0: not known

    /// Memory that a stage may take here; 0: no bound is known.
    [[nodiscard]] std::uint64_t usable_memory_bytes() const {
        if (lent_memory_bytes == 0 || machine_bytes == 0) {
            return std::max(lent_memory_bytes, machine_bytes);
        }
        return std::min(lent_memory_bytes, machine_bytes);
    }

    std::uint64_t slice_bytes_max = protocol::kSliceBytesMax;  // equal in the whole stage
    swarm::run::PlantedBugs bugs;

    swarm::run::RunConfig config;    // configuration of the run, once assigned
    swarm::run::StageLayout layout;  // layout of the stage, once assigned

    /// The stage with the other use of a tied matrix: the last stage for the first one, and the
    /// first stage for the last one.
    struct TiedStage {
        StageIndex stage;
        std::uint64_t elements = 0;  // elements of that stage
    };

    std::optional<TiedStage> tied;            // empty until assigned, or where nothing is tied
    double next_offer_units = 0;              // work units of an offer to the next stage; 0: tail
    swarm::run::MemoryPlan memory;            // plan of the stage, once assigned
    std::shared_ptr<StageWorker> worker;      // null until assigned
    std::shared_ptr<SparseReplica> replica;   // the worker's replica in mode sparse, else null
    std::optional<ParameterVersion> version;  // version of the worker's state, once it has one
    swarm::Digest state_hash;                 // hash of the state; in mode sparse, shared weights
    /// The commit that the device applies to `version`, which becomes the next version after it.
    std::optional<protocol::Commit> applying;
    std::uint64_t assignment = 0;  // ASSIGNs so far; work begun under an earlier one is void

    swarm::run::Roster roster{1};
    std::optional<SlotId> slot;  // slot of this incarnation as a member
    swarm::run::ControlStream control;
    bool control_up = false;
    DeviceQueue device;
    std::uint64_t wire_bytes = 0;  // framed bytes of this step's legs to stage servers; a report

    [[nodiscard]] StageIndex stage() const { return layout.stage; }

    /// True when the commit of version `of` is one in which the replicas of mode sparse exchange.
    [[nodiscard]] bool is_exchange(ParameterVersion of) const {
        return swarm::run::is_exchange(config, of.step);
    }

    [[nodiscard]] bool is_tail() const { return layout.has_head; }

    /// Work units of one forward leg of this stage: tokens x layers.
    [[nodiscard]] double forward_units() const {
        const double tokens = static_cast<double>(config.batch) * config.model.context;
        return tokens * layout.layers;
    }

    /// Bytes of the largest tensor that a peer of the run sends: an activation, a slice of a
    /// reduction or a chunk. A codec adds less to small tensors than they have themselves.
    [[nodiscard]] std::uint64_t tensor_bytes_max() const {
        const std::uint64_t tokens = std::uint64_t{config.batch} * config.model.context;
        const std::uint64_t activation =
            sizeof(float) * tokens * swarm::run::widest_activation(config);
        const std::uint64_t most = 2 * std::max(activation, slice_bytes_max);
        return std::min(
            std::max(most, protocol::kChunkTensorBytesMax) + (64U << 10), protocol::kTensorBytesMax
        );
    }

    /// The cut of this stage for a reduction among so many members.
    [[nodiscard]] Slices slices(std::size_t members) const {
        return slices_of(layout.elements(), members);
    }

    /// The cut of a stage of so many parameters.
    [[nodiscard]] Slices slices_of(std::uint64_t elements, std::size_t members) const {
        return {
            elements + config.microbatches,
            static_cast<std::uint32_t>(members),
            std::min(slice_bytes_max, layout.slice_bytes_max)};
    }

    /// Sends a message to the coordinator in order; it is repeated after a reconnect until it is
    /// acknowledged.
    void tell_coordinator(protocol::Body body, node::Turn turn) {
        protocol::Message message = control.number(std::move(body));
        if (control_up) {
            turn.out.add(node::Send{coordinator, std::move(message)});
        }
    }

    /// Sends a message once, if there is a link.
    static void send(PeerId peer, protocol::Body body, node::Payload payload, node::Turn turn) {
        turn.out.add(node::Send{peer, {0, 0, std::move(body)}, std::move(payload)});
    }

    /// Sends a leg and adds its framed size to wire_bytes.
    void send_leg(PeerId peer, protocol::Body body, node::Payload payload, node::Turn turn) {
        protocol::Message message{0, 0, std::move(body)};
        wire_bytes += node::frame_bytes(message, payload);
        turn.out.add(node::Send{peer, std::move(message), std::move(payload)});
    }

    /// Answers the sender of a leg, which is a peer or the coordinator.
    void answer(PeerId peer, protocol::Body body, node::Turn turn) {
        if (peer == coordinator) {
            tell_coordinator(std::move(body), turn);
        } else {
            send(peer, std::move(body), {}, turn);
        }
    }
};

}  // namespace stages
