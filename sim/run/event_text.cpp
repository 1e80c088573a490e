#include "sim/run/event_text.hpp"

#include <array>
#include <cstdio>

namespace sim {
namespace {

namespace protocol = swarm::protocol;

/// The names are in the order of protocol::Body.
constexpr std::array kMessageNames{
    "Acknowledge",   "Join",           "Assign",       "Roster",         "Leave",
    "Heartbeat",     "HeartbeatReply", "Forward",      "Backward",       "Accepted",
    "Refused",       "Passed",         "Path",         "Fail",           "Recall",
    "Held",          "Reduce",         "Part",         "Reduced",        "Mismatch",
    "Stuck",         "Commit",         "Applied",      "Fetch",          "Chunk",
    "ChunkRefused",  "Infer",          "Inferred",     "Finished",       "Register",
    "Registered",    "Locate",         "Located",      "SessionOpen",    "SessionOpened",
    "SessionResume", "SessionRows",    "SessionToken", "SessionTrouble", "SessionClose",
    "HostOffer",     "HostPlace",      "SessionTaken", "Misdirected",    "Standby",
    "FilesAsk",      "FilesTold",      "FileFetch",    "FileChunk",      "FileRefused",
    "Evaluate",      "Evaluated",      "ExpertRows",   "ExpertOutputs",  "ExpertRefused",
    "SessionLacks",  "SessionShare"};
static_assert(kMessageNames.size() == protocol::kMessageKinds, "one name per message");

std::string number(const PeerId& peer) {
    return "peer " + std::to_string(peer.words[0]);
}

const char* name_of(protocol::Lane lane) {
    return lane == protocol::Lane::Control ? "control" : "bulk";
}

std::string text(swarm::Epoch epoch) {
    return std::to_string(epoch.value >> 32) + "." + std::to_string(epoch.value & 0xffffffff);
}

std::string text(const protocol::LegId& leg) {
    return std::string(leg.leg == protocol::Leg::Forward ? " forward" : " backward") + " step " +
           std::to_string(leg.version.step) + " microbatch " +
           std::to_string(leg.microbatch.value) + " attempt " + text(leg.attempt);
}

/// Writes the details that people look for first; the rest is in the kind's name.
struct Details {
    std::string operator()(const protocol::Forward& leg) const {
        return text({leg.version, leg.microbatch, leg.attempt, protocol::Leg::Forward});
    }

    std::string operator()(const protocol::Backward& leg) const {
        return text({leg.version, leg.microbatch, leg.attempt, protocol::Leg::Backward});
    }

    std::string operator()(const protocol::Accepted& answer) const { return text(answer.leg); }

    std::string operator()(const protocol::Refused& answer) const { return text(answer.leg); }

    std::string operator()(const protocol::Passed& answer) const { return text(answer.leg); }

    std::string operator()(const protocol::Recall& recall) const {
        return " epoch " + text(recall.epoch) + ", " + std::to_string(recall.ids.size()) + " ids" +
               (recall.void_all ? ", void" : "");
    }

    std::string operator()(const protocol::Held& held) const {
        return " epoch " + text(held.epoch) + ", " + std::to_string(held.ids.size()) + " ids";
    }

    std::string operator()(const protocol::Reduce& reduce) const {
        return " epoch " + text(reduce.epoch) + ", " + std::to_string(reduce.ids.size()) + " ids";
    }

    std::string operator()(const protocol::Reduced& reduced) const {
        return " epoch " + text(reduced.epoch);
    }

    std::string operator()(const protocol::Commit& commit) const {
        return " step " + std::to_string(commit.version.step) + " epoch " + text(commit.epoch);
    }

    template <class Other>
    std::string operator()(const Other&) const {
        return "";
    }
};

struct EventText {
    std::string operator()(const node::LinkUp& up) const {
        return std::string("LinkUp ") + name_of(up.lane) + " with " + number(up.peer);
    }

    std::string operator()(const node::LinkDown& down) const {
        return std::string("LinkDown ") + name_of(down.lane) + " with " + number(down.peer);
    }

    std::string operator()(const node::DialFailed& failed) const {
        return std::string("DialFailed ") + name_of(failed.lane) + " to " + number(failed.peer);
    }

    std::string operator()(const node::Received& received) const {
        const protocol::Body& body = received.message.body;
        return std::string("Received ") + kMessageNames.at(body.index()) +
               std::visit(Details{}, body) + " from " + number(received.peer);
    }

    std::string operator()(const node::Computed& computed) const {
        return "Computed job " + std::to_string(computed.job.value);
    }

    std::string operator()(const node::Stored& stored) const {
        return "Stored record " + std::to_string(stored.store.value);
    }

    std::string operator()(const node::Loaded& loaded) const {
        return "Loaded " + std::to_string(loaded.records.size()) + " records";
    }

    std::string operator()(const node::Woke&) const { return "Woke"; }

    std::string operator()(const node::Asked&) const { return "Asked"; }

    std::string operator()(const node::Stop&) const { return "Stop"; }
};

}  // namespace

std::string event_text(TimePoint at, PeerId peer, const node::Event& event) {
    const double at_s = std::chrono::duration<double>(at.time_since_epoch()).count();
    char time[32];
    std::snprintf(time, sizeof time, "%14.6f ", at_s);
    return time + number(peer) + ": " + std::visit(EventText{}, event);
}

}  // namespace sim
