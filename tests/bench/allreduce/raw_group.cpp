#include "tests/bench/allreduce/raw_group.hpp"

#include "swarm/base/check.hpp"
#include "swarm/net/link.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <map>
#include <utility>

namespace swarm::bench {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Stream = asio::ssl::stream<tcp::socket>;

/// Sockets of all pairs, by (index of the owner, index of the peer): made before the fork, so that
/// no process needs to be found.
using Sockets = std::map<std::pair<std::size_t, std::size_t>, int>;

Sockets connect_all(std::size_t processes) {
    Sockets sockets;
    asio::io_context io;
    tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    for (std::size_t low = 0; low < processes; ++low) {
        for (std::size_t high = low + 1; high < processes; ++high) {
            tcp::socket client(io);
            client.connect(acceptor.local_endpoint());
            tcp::socket server = acceptor.accept();
            client.set_option(tcp::no_delay(true));
            server.set_option(tcp::no_delay(true));
            sockets[{high, low}] = client.release();
            sockets[{low, high}] = server.release();
        }
    }
    return sockets;
}

class Exchange {
 public:
    Exchange(const Sockets& sockets, std::size_t own, std::size_t processes, std::size_t bytes)
        : sent_(bytes) {
        for (std::size_t other = 0; other < processes; ++other) {
            if (other == own) {
                continue;
            }
            tcp::socket socket(io_, tcp::v4(), sockets.at({own, other}));
            streams_.push_back(std::make_unique<Stream>(std::move(socket), context_));
            streams_.back()->handshake(own < other ? Stream::server : Stream::client);
            received_.emplace_back(bytes);
        }
    }

    void run() {
        for (std::size_t i = 0; i < streams_.size(); ++i) {
            const auto done = [](const boost::system::error_code& error, std::size_t) {
                SWARM_ASSERT(!error);
            };
            asio::async_write(*streams_[i], asio::buffer(sent_), done);
            asio::async_read(*streams_[i], asio::buffer(received_[i]), done);
        }
        io_.restart();
        io_.run();
    }

 private:
    static asio::ssl::context context_of(const net::TlsContext& tls) {
        SSL_CTX_up_ref(tls.get());
        return asio::ssl::context(tls.get());
    }

    net::Identity identity_ = net::Identity::make_ephemeral();
    net::TlsContext tls_{identity_};
    asio::ssl::context context_ = context_of(tls_);
    asio::io_context io_{1};
    std::vector<std::unique_ptr<Stream>> streams_;
    std::vector<std::byte> sent_;
    std::vector<std::vector<std::byte>> received_;
};

}  // namespace

RawGroup::RawGroup(std::size_t processes, std::size_t bytes_per_pair) {
    const Sockets sockets = connect_all(processes);
    for (std::size_t own = 0; own < processes; ++own) {
        processes_.push_back(std::make_unique<Forked>([&](const Line& parent) {
            Exchange exchange(sockets, own, processes, bytes_per_pair);
            while (parent.receive<char>()) {
                exchange.run();
                parent.send('d');
            }
        }));
    }
    for (const auto& [ends, socket] : sockets) {
        ::close(socket);
    }
}

Result<double> RawGroup::round() {
    const TimePoint start = net::clock_now();
    for (const auto& process : processes_) {
        process->line().send('g');
    }
    for (const auto& process : processes_) {
        if (!process->line().receive<char>()) {
            return Error{
                ErrorCode::ConnectionLost, Reaction::Fatal, "a process of the raw link is gone"};
        }
    }
    return std::chrono::duration<double>(net::clock_now() - start).count();
}

}  // namespace swarm::bench
