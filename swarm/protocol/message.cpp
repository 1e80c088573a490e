#include "swarm/protocol/message.hpp"

#include <utility>

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

}  // namespace swarm::protocol
