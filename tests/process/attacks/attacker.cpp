#include "tests/process/attacks/attacker.hpp"

#include "swarm/protocol/limits.hpp"
#include "tests/process/attacks/crowd.hpp"

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

namespace swarm::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// A peer that is hung up on comes back after this time.
constexpr milliseconds kPause(20);

Digest junk_hash() {
    Digest digest;
    digest.bytes.fill(std::byte{0x22});
    return digest;
}

protocol::Join join_as_volunteer() {
    protocol::Join join;
    join.address = "127.0.0.1:9";
    return join;
}

/// Returns false when the run does not let it in.
bool come_in(BadPeer& peer, protocol::Lane lane) {
    if (!peer.start_tls()) {
        return false;
    }
    peer.say_hello(peer.good_hello(lane));
    return true;
}

}  // namespace

Attacker::Attacker(std::uint16_t port, Attack attack, milliseconds lasts)
    : port_(port), attack_(attack), until_(Clock::now() + lasts) {
    std::signal(SIGPIPE, SIG_IGN);
    thread_ = std::thread([this] { run(); });
}

Attacker::~Attacker() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    stop_.notify_all();
    wait();
}

void Attacker::wait() {
    if (thread_.joinable()) {
        thread_.join();
    }
}

bool Attacker::is_over() const {
    return stopped_ || Clock::now() >= until_;
}

bool Attacker::pause() {
    std::unique_lock lock(mutex_);
    stop_.wait_for(lock, kPause, [&] { return stopped_.load(); });
    return !is_over();
}

void Attacker::run() {
    while (!is_over()) {
        visit();
        pause();
    }
}

void Attacker::visit() {
    if (attack_ == Attack::Tensor) {
        return send_a_tensor();
    }
    BadPeer peer(port_);
    if (!come_in(peer, protocol::Lane::Control)) {
        return;
    }
    ++visits_;
    switch (attack_) {
        case Attack::Poison:
            return poison(peer);
        case Attack::Observer:
            return observe(peer);
        case Attack::Forger:
            return forge(peer);
        case Attack::Flood:
            return flood(peer);
        case Attack::Steal:
            return steal(peer);
        case Attack::LargeHead:
            return send_a_large_head(peer);
        case Attack::Tensor:
            return;
    }
}

template <class Body>
std::optional<Body> Attacker::hear(BadPeer& peer) {
    while (!is_over()) {
        const auto message = peer.hears_message(milliseconds(1000));
        if (!message) {
            return std::nullopt;
        }
        if (const auto* body = std::get_if<Body>(&message->body)) {
            return *body;
        }
    }
    return std::nullopt;
}

void Attacker::poison(BadPeer& peer) {
    protocol::Join join = join_as_volunteer();
    join.stage = StageIndex{0};
    join.state_hash = junk_hash();
    peer.say_message({0, 0, join});
    peer.say_message({0, 0, protocol::Heartbeat{}});
    while (const auto reply = hear<protocol::HeartbeatReply>(peer)) {
        join.version = reply->version;
        for (std::uint32_t stage = 0; stage < 2; ++stage) {
            join.stage = StageIndex{stage};
            peer.say_message({0, 0, join});
        }
        pause();
        peer.say_message({0, 0, protocol::Heartbeat{}});
    }
}

/// The word for the next version is there before the honest ones, which must compute first.
void Attacker::observe(BadPeer& peer) {
    peer.say_message({0, 0, join_as_volunteer()});
    std::uint64_t heard = 0;
    std::optional<protocol::Applied> next;
    while (!is_over() && !peer.is_ended()) {
        const auto message = peer.hears_message(milliseconds(1));
        if (message) {
            heard = std::max(heard, message->number);
        }
        if (const auto* commit =
                message ? std::get_if<protocol::Commit>(&message->body) : nullptr) {
            next = protocol::Applied{commit->version, junk_hash()};
            next->version.step += 2;
        }
        if (next) {
            peer.say_message({0, heard, *next});
        }
    }
}

void Attacker::forge(BadPeer& peer) {
    protocol::Join client;
    client.client = true;
    peer.say_message({0, 0, client});
    const auto roster = hear<protocol::Roster>(peer);
    if (!roster) {
        return;
    }
    std::vector<SlotId> slots;
    for (const protocol::SlotInfo& info : roster->slots) {
        slots.push_back(info.slot);
    }
    if (slots.empty()) {
        return;
    }
    peer.say_message({0, 0, protocol::Heartbeat{}});
    while (const auto reply = hear<protocol::HeartbeatReply>(peer)) {
        const std::vector<MicrobatchId> ids{{0}, {1}, {2}, {3}};
        const ParameterVersion version = reply->version;
        const Epoch epoch = reply->epoch;
        peer.say_message({0, 0, protocol::Mismatch{version, epoch, ids}});
        peer.say_message(
            {0, 0, protocol::Stuck{version, epoch, {slots.front()}, protocol::Owed::Sums}}
        );
        peer.say_message({0, 0, protocol::Held{version, epoch, ids, {}}});
        peer.say_message({0, 0, protocol::Reduced{version, epoch, {}, junk_hash(), 8, 0, 0}});
        peer.say_message({0, 0, protocol::Applied{version, junk_hash()}});
        protocol::Path path;
        path.version = version;
        path.attempt = {epoch};
        path.path = slots;
        peer.say_message({0, 0, path});
        protocol::Fail fail;
        fail.version = version;
        fail.about = slots.front();
        peer.say_message({0, 0, fail});
        peer.say_message({0, 0, protocol::Leave{"the attacker leaves"}});
        pause();
        peer.say_message({0, 0, protocol::Heartbeat{}});
    }
}

void Attacker::send_a_tensor() {
    BadPeer peer(port_);
    if (!come_in(peer, protocol::Lane::Bulk)) {
        return;
    }
    ++visits_;
    begin_a_tensor(peer, protocol::kTensorBytesMax, 0);
    const std::vector<std::byte> piece(1U << 20);
    for (int i = 0; i < 255 && !is_over(); ++i) {
        peer.say_under_tls(piece);
        if (peer.is_ended()) {
            return;
        }
    }
    while (pause() && !peer.is_ended()) {
    }
}

void Attacker::flood(BadPeer& peer) {
    protocol::Join client;
    client.client = true;
    for (int i = 0; i < 4000 && !is_over() && !peer.is_ended(); ++i) {
        peer.say_message({0, 0, client});
    }
}

void Attacker::steal(BadPeer& peer) {
    BadPeer bulk(port_, peer.identity());
    if (!come_in(bulk, protocol::Lane::Bulk)) {
        return;
    }
    peer.say_message({0, 0, protocol::Heartbeat{}});
    while (const auto reply = hear<protocol::HeartbeatReply>(peer)) {
        for (std::uint64_t step = 0; step <= reply->version.step; ++step) {
            protocol::Fetch fetch;
            fetch.version = {reply->version.gen, step};
            peer.say_message({0, 0, fetch});
        }
        while (const auto message = bulk.hears_message(kPause)) {
            stolen_ += std::holds_alternative<protocol::Chunk>(message->body) ? 1 : 0;
        }
        peer.say_message({0, 0, protocol::Heartbeat{}});
    }
}

void Attacker::send_a_large_head(BadPeer& peer) {
    protocol::FrameHeader header;
    header.kind = static_cast<std::uint16_t>(protocol::Body(protocol::Roster{}).index());
    header.control_bytes = protocol::kRosterBytesMax;
    peer.say_under_tls(frame_of(header, 1U << 20));
    while (pause() && !peer.is_ended()) {
    }
}

}  // namespace swarm::test
