#include "swarm/protocol/message.hpp"

#include <utility>
#include <variant>

namespace swarm::protocol {

namespace {

const AnyMessage& base(const Body& body) {
    return body;
}

}  // namespace

Body::Body() = default;
Body::Body(const Body& other) = default;
Body::Body(Body&& other) noexcept = default;
Body& Body::operator=(const Body& other) = default;
Body& Body::operator=(Body&& other) noexcept = default;
Body::~Body() = default;

bool operator==(const Body& a, const Body& b) {
    return base(a) == base(b);
}

bool is_meant_for_a_hub(const Body& body) {
    return std::holds_alternative<Join>(body) || std::holds_alternative<Register>(body) ||
           std::holds_alternative<HostOffer>(body) || std::holds_alternative<Locate>(body);
}

const char* name_of(HubKind kind) {
    switch (kind) {
        case HubKind::Coordinator:
            return "the coordinator of a run";
        case HubKind::Directory:
            return "a directory";
        case HubKind::StageServer:
            return "a peer that serves a run";
        case HubKind::SessionServer:
            return "a peer that serves a model";
    }
    return "another process";
}

}  // namespace swarm::protocol
