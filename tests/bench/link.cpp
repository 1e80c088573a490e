#include "tests/bench/link.hpp"

#include "compression/codec.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/net/link.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace swarm::bench {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using net::Link;
using protocol::Lane;

constexpr auto kBeat = std::chrono::milliseconds(5);

std::shared_ptr<const Link::Terms> terms_of(const net::Identity& identity) {
    return std::make_shared<const Link::Terms>(Link::Terms{
        net::TlsContext(identity), identity.peer(), {1}, "", std::chrono::seconds(10)});
}

double seconds_since(TimePoint start) {
    return std::chrono::duration<double>(net::clock_now() - start).count();
}

double percentile(std::vector<double> values, double share) {
    SWARM_ASSERT(!values.empty());
    std::sort(values.begin(), values.end());
    const auto last = static_cast<double>(values.size() - 1);
    return values[static_cast<std::size_t>(last * share)];
}

/// Two sockets that talk to each other.
std::pair<tcp::socket, tcp::socket> connect_pair(asio::io_context& one, asio::io_context& other) {
    tcp::acceptor acceptor(one, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    tcp::socket client(other);
    client.connect(acceptor.local_endpoint());
    tcp::socket server = acceptor.accept();
    client.set_option(tcp::no_delay(true));
    server.set_option(tcp::no_delay(true));
    return {std::move(server), std::move(client)};
}

asio::awaitable<void> introduce(std::shared_ptr<Link> link, Lane lane, int& introduced) {
    const auto remote = co_await link->introduce(lane);
    SWARM_ASSERT(remote.has_value());
    ++introduced;
}

asio::awaitable<void> write_queue(std::shared_ptr<Link> link) {
    co_await link->write_queue();
}

/// Bell-shaped, as activations are.
std::shared_ptr<const std::vector<float>> make_activation() {
    Rng rng(1, kFrameBytes);
    std::vector<float> values(kFrameBytes / sizeof(float));
    for (float& value : values) {
        value = static_cast<float>(rng.unit() + rng.unit() + rng.unit() + rng.unit() - 2);
    }
    return std::make_shared<const std::vector<float>>(std::move(values));
}

/// A bulk and a control link from a sending thread to a receiving one.
class LinkPair {
 public:
    LinkPair() {
        for (const Lane lane : {Lane::Control, Lane::Bulk}) {
            auto [server, client] = connect_pair(receiving_, sending_);
            auto& ends = lane == Lane::Control ? control_ : bulk_;
            ends.receiver = std::make_shared<Link>(std::move(server), theirs_, net::Side::Server);
            ends.sender = std::make_shared<Link>(std::move(client), ours_, net::Side::Client);
            int introduced = 0;
            asio::co_spawn(receiving_, introduce(ends.receiver, lane, introduced), asio::detached);
            asio::co_spawn(sending_, introduce(ends.sender, lane, introduced), asio::detached);
            while (introduced < 2) {
                receiving_.poll();
                sending_.poll();
            }
        }
        protocol::TensorEnvelope envelope;
        envelope.shape = {static_cast<std::uint32_t>(kFrameBytes)};
        payload_ = node::Payload(envelope, std::vector<std::byte>(kFrameBytes));
    }

    ~LinkPair() {
        for (const auto& link :
             {control_.sender, control_.receiver, bulk_.sender, bulk_.receiver}) {
            link->close_now();
        }
        receiving_.restart();
        sending_.restart();
        receiving_.poll();
        sending_.poll();
    }

    LinkPair(const LinkPair&) = delete;
    LinkPair& operator=(const LinkPair&) = delete;

    /// Bytes per second.
    double transfer() {
        asio::co_spawn(sending_, send_frames(), asio::detached);
        asio::co_spawn(receiving_, receive_frames(), asio::detached);
        const TimePoint start = net::clock_now();
        run_both();
        return kFramesPerRound * static_cast<double>(kFrameBytes) / seconds_since(start);
    }

    /// Bytes of fp32 per second, of activations in this codec. As a stage server does it: `none`
    /// sends the tensor as it lies, and the receiver uses it as it came.
    double transfer(const compression::Codec& codec) {
        asio::co_spawn(sending_, send_coded(codec), asio::detached);
        asio::co_spawn(receiving_, receive_coded(codec), asio::detached);
        const TimePoint start = net::clock_now();
        run_both();
        return kFramesPerRound * static_cast<double>(kFrameBytes) / seconds_since(start);
    }

    /// Milliseconds from the sending to the arrival of each heartbeat.
    std::vector<double> heartbeat_delays() {
        delays_.clear();
        beating_ = true;
        asio::co_spawn(sending_, keep_bulk_full(), asio::detached);
        asio::co_spawn(receiving_, receive_all(bulk_.receiver), asio::detached);
        asio::co_spawn(sending_, send_heartbeats(), asio::detached);
        asio::co_spawn(receiving_, receive_heartbeats(), asio::detached);
        run_both();
        return delays_;
    }

 private:
    struct Ends {
        std::shared_ptr<Link> sender;
        std::shared_ptr<Link> receiver;
    };

    void run_both() {
        receiving_.restart();
        sending_.restart();
        std::thread sender([this] { sending_.run(); });
        receiving_.run();
        sender.join();
    }

    void queue_frame() {
        const protocol::Message message{0, 0, protocol::Chunk{}};
        SWARM_ASSERT(bulk_.sender->enqueue(message, payload_).has_value());
    }

    asio::awaitable<void> send_frames() {
        for (int i = 0; i < kFramesPerRound; ++i) {
            queue_frame();
        }
        SWARM_ASSERT(bulk_.sender->needs_writer());
        co_await bulk_.sender->write_queue();
        sending_.stop();
    }

    asio::awaitable<void> receive_frames() {
        for (int i = 0; i < kFramesPerRound; ++i) {
            const auto frame = co_await bulk_.receiver->read_frame();
            SWARM_ASSERT(frame && frame->payload.bytes().size() == kFrameBytes);
        }
        receiving_.stop();
    }

    node::Payload activation_in(const compression::Codec& codec) {
        constexpr auto kValues = kFrameBytes / sizeof(float);
        const protocol::TensorEnvelope envelope{
            protocol::Dtype::Float32, codec.id(), {static_cast<std::uint32_t>(kValues)}};
        if (codec.id() == protocol::CodecId::None) {
            return {envelope, std::as_bytes(std::span(*activation_)), activation_};
        }
        std::vector<std::byte> bytes(codec.encoded_bytes(kValues));
        const auto role = compression::TensorRole::Activation;
        SWARM_ASSERT(codec.encode(*activation_, role, 1, bytes).has_value());
        return {envelope, std::move(bytes)};
    }

    asio::awaitable<void> send_coded(const compression::Codec& codec) {
        for (int i = 0; i < kFramesPerRound; ++i) {
            const protocol::Message message{0, 0, protocol::Chunk{}};
            SWARM_ASSERT(bulk_.sender->enqueue(message, activation_in(codec)).has_value());
            SWARM_ASSERT(bulk_.sender->needs_writer());
            co_await bulk_.sender->write_queue();
        }
        sending_.stop();
    }

    asio::awaitable<void> receive_coded(const compression::Codec& codec) {
        for (int i = 0; i < kFramesPerRound; ++i) {
            const auto frame = co_await bulk_.receiver->read_frame();
            SWARM_ASSERT(frame && frame->payload.envelope().codec == codec.id());
            if (codec.id() != protocol::CodecId::None) {
                std::vector<float> values(frame->payload.envelope().elements());
                SWARM_ASSERT(codec.decode(frame->payload.bytes(), values).has_value());
            }
        }
        receiving_.stop();
    }

    asio::awaitable<void> keep_bulk_full() {
        while (beating_) {
            queue_frame();
            queue_frame();
            SWARM_ASSERT(bulk_.sender->needs_writer());
            co_await bulk_.sender->write_queue();
        }
        bulk_.sender->close_now();
        sending_.stop();
    }

    static asio::awaitable<void> receive_all(std::shared_ptr<Link> link) {
        for (bool up = true; up;) {
            const auto frame = co_await link->read_frame();
            up = frame.has_value();
        }
    }

    asio::awaitable<void> send_heartbeats() {
        asio::steady_timer beat(sending_);
        for (int i = 0; i < kHeartbeats; ++i) {
            beat.expires_after(kBeat);
            co_await beat.async_wait(asio::as_tuple(asio::use_awaitable));
            protocol::Heartbeat heartbeat;
            const auto now = net::clock_now().time_since_epoch().count();
            heartbeat.roster = static_cast<std::uint64_t>(now);
            const protocol::Message message{0, 0, heartbeat};
            SWARM_ASSERT(control_.sender->enqueue(message, {}).has_value());
            if (control_.sender->needs_writer()) {
                asio::co_spawn(sending_, write_queue(control_.sender), asio::detached);
            }
        }
        beating_ = false;
    }

    asio::awaitable<void> receive_heartbeats() {
        for (int i = 0; i < kHeartbeats; ++i) {
            const auto frame = co_await control_.receiver->read_frame();
            SWARM_ASSERT(frame.has_value());
            const auto& heartbeat = std::get<protocol::Heartbeat>(frame->message.body);
            const Duration sent(static_cast<Duration::rep>(heartbeat.roster));
            const Duration delay = net::clock_now().time_since_epoch() - sent;
            delays_.push_back(std::chrono::duration<double, std::milli>(delay).count());
        }
        receiving_.stop();
    }

    net::Identity our_identity_ = net::Identity::make_ephemeral();
    net::Identity their_identity_ = net::Identity::make_ephemeral();
    std::shared_ptr<const Link::Terms> ours_ = terms_of(our_identity_);
    std::shared_ptr<const Link::Terms> theirs_ = terms_of(their_identity_);
    asio::io_context receiving_{1};
    asio::io_context sending_{1};
    Ends control_;
    Ends bulk_;
    node::Payload payload_;
    std::shared_ptr<const std::vector<float>> activation_ = make_activation();
    bool beating_ = false;  // the sending thread's
    std::vector<double> delays_;
};

/// asio::ssl::stream as its documentation shows it: blocking writes and reads of whole buffers.
class RawPair {
 public:
    RawPair() {
        std::thread client([this] { client_.handshake(Stream::client); });
        server_.handshake(Stream::server);
        client.join();
    }

    double transfer() {
        const TimePoint start = net::clock_now();
        std::thread sender([this] {
            for (int i = 0; i < kFramesPerRound; ++i) {
                asio::write(client_, asio::buffer(sent_));
            }
        });
        for (int i = 0; i < kFramesPerRound; ++i) {
            asio::read(server_, asio::buffer(received_));
        }
        sender.join();
        return kFramesPerRound * static_cast<double>(kFrameBytes) / seconds_since(start);
    }

 private:
    using Stream = asio::ssl::stream<tcp::socket>;

    static asio::ssl::context context_of(const net::TlsContext& tls) {
        SSL_CTX_up_ref(tls.get());
        return asio::ssl::context(tls.get());
    }

    net::Identity identity_ = net::Identity::make_ephemeral();
    net::TlsContext tls_{identity_};
    asio::ssl::context context_ = context_of(tls_);
    asio::io_context receiving_{1};
    asio::io_context sending_{1};
    std::pair<tcp::socket, tcp::socket> sockets_ = connect_pair(receiving_, sending_);
    Stream server_{std::move(sockets_.first), context_};
    Stream client_{std::move(sockets_.second), context_};
    std::vector<std::byte> sent_ = std::vector<std::byte>(kFrameBytes);
    std::vector<std::byte> received_ = std::vector<std::byte>(kFrameBytes);
};

}  // namespace

LinkFigures measure_link() {
    LinkPair links;
    RawPair raw;
    links.transfer();  // the first round of each warms up
    raw.transfer();
    std::vector<double> framed_rates;
    std::vector<double> raw_rates;
    std::vector<double> ratios;
    for (int round = 0; round < kLinkRounds; ++round) {
        framed_rates.push_back(links.transfer());
        raw_rates.push_back(raw.transfer());
        ratios.push_back(framed_rates.back() / raw_rates.back());
    }
    const std::vector<double> delays = links.heartbeat_delays();
    LinkFigures figures;
    figures.framed_bytes_per_s = percentile(framed_rates, 0.5);
    figures.raw_bytes_per_s = percentile(raw_rates, 0.5);
    figures.framed_to_raw = percentile(ratios, 0.5);
    figures.heartbeat_p50_ms = percentile(delays, 0.5);
    figures.heartbeat_p99_ms = percentile(delays, 0.99);
    return figures;
}

std::vector<TransferRow> measure_transfers() {
    LinkPair links;
    const compression::Codec& none = *compression::find_codec(protocol::CodecId::None);
    links.transfer(none);
    std::vector<TransferRow> rows;
    for (int id = 0; id <= static_cast<int>(protocol::kLastCodecId); ++id) {
        const auto* const codec = compression::find_codec(static_cast<protocol::CodecId>(id));
        if (codec == nullptr || !codec->check_role(compression::TensorRole::Activation)) {
            continue;
        }
        std::vector<double> rates;
        std::vector<double> ratios;
        for (int round = 0; round < kLinkRounds; ++round) {
            const double plain = links.transfer(none);
            rates.push_back(links.transfer(*codec));
            ratios.push_back(rates.back() / plain);
        }
        rows.push_back({std::string(codec->name()), percentile(rates, 0.5), percentile(ratios, 0.5)}
        );
    }
    return rows;
}

}  // namespace swarm::bench
