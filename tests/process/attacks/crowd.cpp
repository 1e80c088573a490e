#include "tests/process/attacks/crowd.hpp"

#include "swarm/protocol/limits.hpp"

#include <csignal>

namespace swarm::test {
namespace {

constexpr std::size_t kSentBytes = 64U << 10;
constexpr int kUnreadAnswers = 200;

protocol::FrameHeader located_header() {
    protocol::FrameHeader header;
    header.kind = static_cast<std::uint16_t>(protocol::Body(protocol::Located{}).index());
    header.control_bytes = protocol::kLocatedBytesMax;
    return header;
}

/// Does the part of the crowd's member of this number; returns false when it is not let in.
bool act(BadPeer& peer, std::size_t number) {
    if (!peer.start_tls()) {
        return false;
    }
    const std::size_t part = number % 4;
    peer.say_hello(peer.good_hello(part == 1 ? protocol::Lane::Bulk : protocol::Lane::Control));
    if (part == 1) {
        begin_a_tensor(peer, protocol::kTensorBytesMax, kSentBytes);
    } else if (part == 2) {
        protocol::Join client;
        client.client = true;
        for (int i = 0; i < kUnreadAnswers; ++i) {
            peer.say_message({0, 0, client});
        }
    } else if (part == 3) {
        peer.say_under_tls(frame_of(located_header(), kSentBytes));
    }
    return true;
}

}  // namespace

Crowd::Crowd(std::uint16_t port, std::size_t size) {
    std::signal(SIGPIPE, SIG_IGN);
    for (std::size_t i = 0; i < size; ++i) {
        auto peer = std::make_unique<BadPeer>(port);
        if (act(*peer, i)) {
            ++let_in_;
            peers_.push_back(std::move(peer));
        }
    }
}

void begin_a_tensor(BadPeer& peer, std::uint64_t tensor_bytes, std::size_t sent) {
    const std::vector<std::byte> control =
        protocol::encode_control({0, 0, protocol::Chunk{{}, {}, 0}});
    const auto elements = static_cast<std::uint32_t>(tensor_bytes / sizeof(float));
    const std::vector<std::byte> envelope =
        protocol::encode_envelope({protocol::Dtype::Float32, protocol::CodecId::None, {elements}});
    protocol::FrameHeader header;
    header.kind = static_cast<std::uint16_t>(protocol::Body(protocol::Chunk{}).index());
    header.control_bytes = static_cast<std::uint32_t>(control.size());
    header.envelope_bytes = static_cast<std::uint32_t>(envelope.size());
    header.tensor_bytes = tensor_bytes;
    std::vector<std::byte> frame = frame_of(header, 0);
    frame.insert(frame.end(), control.begin(), control.end());
    frame.insert(frame.end(), envelope.begin(), envelope.end());
    frame.resize(frame.size() + sent);
    peer.say_under_tls(frame);
}

}  // namespace swarm::test
