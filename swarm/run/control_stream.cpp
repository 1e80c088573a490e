#include "swarm/run/control_stream.hpp"

#include <utility>

namespace swarm::run {
namespace {

/// Messages after which an acknowledgement is due. A heartbeat acknowledges every 2 s, so only a
/// busy stream gets here.
constexpr std::uint64_t kAcknowledgeEvery = 64;

}  // namespace

protocol::Message ControlStream::number(protocol::Body body) {
    sent_.push_back({next_number_++, 0, std::move(body)});
    protocol::Message message = sent_.back();
    message.acknowledged = told_ = received_;
    return message;
}

protocol::Message ControlStream::unnumbered(protocol::Body body) {
    told_ = received_;
    return {0, received_, std::move(body)};
}

ControlStream::Verdict ControlStream::receive(const protocol::Message& message) {
    while (!sent_.empty() && sent_.front().number <= message.acknowledged) {
        sent_.pop_front();
    }
    if (message.number == 0) {
        return Verdict::Deliver;
    }
    if (message.number <= received_) {
        return Verdict::Duplicate;
    }
    if (message.number != received_ + 1) {
        return Verdict::Broken;
    }
    received_ = message.number;
    return Verdict::Deliver;
}

void ControlStream::go_on_from(const protocol::Message& message) {
    next_number_ = message.acknowledged + 1;
    received_ = told_ = message.number > 0 ? message.number - 1 : 0;
}

std::vector<protocol::Message> ControlStream::unacknowledged() const {
    std::vector<protocol::Message> messages(sent_.begin(), sent_.end());
    for (protocol::Message& message : messages) {
        message.acknowledged = received_;
    }
    return messages;
}

bool ControlStream::owes_acknowledgement() const {
    return received_ - told_ >= kAcknowledgeEvery;
}

}  // namespace swarm::run
