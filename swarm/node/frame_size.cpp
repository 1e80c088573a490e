#include "swarm/node/frame_size.hpp"

#include "swarm/protocol/frame.hpp"

#include <variant>

namespace swarm::node {
namespace {

using namespace protocol;

// Bytes per element in Protobuf: varints of small ids, 8 bytes of a double, digests with their tag.
constexpr std::uint64_t kFields = 24;  // the numbers of one small message
constexpr std::uint64_t kToken = 3;
constexpr std::uint64_t kSlot = 10;
constexpr std::uint64_t kId = 2;
constexpr std::uint64_t kDouble = 8;
constexpr std::uint64_t kDigest = 34;
constexpr std::uint64_t kSlotInfo = 64;
constexpr std::uint64_t kRowRates = 20;
constexpr std::uint64_t kHostInfo = 46 + kRowRates;
constexpr std::uint64_t kLayerRange = 8;
constexpr std::uint64_t kRate = 30;
constexpr std::uint64_t kFailedItem = 14;
constexpr std::uint64_t kSnapshotOrder = 48;
constexpr std::uint64_t kScalars = 36;
constexpr std::uint64_t kTokenScore = 14;
constexpr std::uint64_t kEnvelope = 32;

struct ListBytes {
    std::uint64_t operator()(const Join& join) const {
        return kDigest + join.address.size() + join.compute_class.size();
    }

    std::uint64_t operator()(const Assign& assign) const { return assign.run_file.size(); }

    std::uint64_t operator()(const Roster& roster) const {
        std::uint64_t bytes = kSlotInfo * roster.slots.size();
        for (const SlotInfo& slot : roster.slots) {
            bytes += slot.address.size();
        }
        return bytes;
    }

    std::uint64_t operator()(const Leave& leave) const { return leave.reason.size(); }

    std::uint64_t operator()(const Heartbeat& beat) const { return kRate * beat.rates.size(); }

    std::uint64_t operator()(const Forward& forward) const {
        return kSlot * forward.path.size() + kToken * forward.tokens.size() + forward.codecs.size();
    }

    std::uint64_t operator()(const Backward& back) const {
        return kSlot * back.path.size() + back.codecs.size();
    }

    std::uint64_t operator()(const Path& path) const { return kSlot * path.path.size(); }

    std::uint64_t operator()(const Fail& fail) const { return kFailedItem * fail.items.size(); }

    std::uint64_t operator()(const Recall& recall) const { return kId * recall.ids.size(); }

    std::uint64_t operator()(const Held& held) const { return kId * held.ids.size(); }

    std::uint64_t operator()(const Reduce& reduce) const {
        return kId * reduce.ids.size() + kSlot * (reduce.group.size() + reduce.observers.size());
    }

    std::uint64_t operator()(const Reduced& reduced) const {
        return kDigest + kDouble * reduced.sums_of_squares.size();
    }

    std::uint64_t operator()(const Mismatch& mismatch) const { return kId * mismatch.ids.size(); }

    std::uint64_t operator()(const Stuck& stuck) const { return kSlot * stuck.waits_for.size(); }

    std::uint64_t operator()(const Commit& commit) const {
        return kScalars + kDigest * commit.result_hashes.size() +
               kSnapshotOrder * commit.snapshots.size();
    }

    std::uint64_t operator()(const Applied&) const { return kDigest; }

    std::uint64_t operator()(const Infer& infer) const { return kToken * infer.tokens.size(); }

    std::uint64_t operator()(const Evaluate& evaluate) const {
        return kToken * evaluate.tokens.size();
    }

    std::uint64_t operator()(const Inferred& inferred) const {
        return kTokenScore * inferred.top.size();
    }

    std::uint64_t operator()(const Register& body) const {
        return 2 * kDigest + kRowRates + body.address.size() + kDouble * body.experts.size();
    }

    std::uint64_t operator()(const Registered& body) const { return body.refusal.size(); }

    std::uint64_t operator()(const Locate&) const { return kDigest; }

    std::uint64_t operator()(const HostOffer& offer) const {
        return kDigest + kLayerRange * offer.split.size();
    }

    std::uint64_t operator()(const HostPlace&) const { return kDigest + kLayerRange; }

    std::uint64_t operator()(const Located& located) const {
        std::uint64_t bytes = kDigest + kHostInfo * located.hosts.size();
        for (const HostInfo& host : located.hosts) {
            bytes += host.address.size() + kDouble * host.experts.size();
        }
        return bytes;
    }

    std::uint64_t operator()(const ExpertRows&) const { return kDigest; }

    std::uint64_t operator()(const SessionLacks& lacks) const { return kId * lacks.experts.size(); }

    std::uint64_t operator()(const SessionShare& share) const { return kId * share.prefix.size(); }

    std::uint64_t operator()(const SessionOpen& open) const {
        return 4 * kDigest + open.previous.address.size() + open.next.address.size() +
               kToken * open.text.size();
    }

    std::uint64_t operator()(const SessionRows& rows) const {
        return kToken * (rows.tokens.size() + rows.hop_us.size());
    }

    std::uint64_t operator()(const SessionToken& token) const {
        return kTokenScore * token.top.size() + kToken * token.hop_us.size();
    }

    template <class Plain>
    std::uint64_t operator()(const Plain&) const {
        return 0;
    }
};

}  // namespace

std::uint64_t frame_bytes(const Message& message, const Payload& payload) {
    const std::uint64_t control = kFields + std::visit(ListBytes{}, message.body);
    const std::uint64_t tensor = payload.empty() ? 0 : kEnvelope + payload.bytes().size();
    return kHeaderBytes + control + tensor;
}

}  // namespace swarm::node
