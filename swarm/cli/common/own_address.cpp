#include "swarm/cli/common/own_address.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

namespace swarm::cli {
namespace {

namespace asio = boost::asio;
using asio::ip::udp;

/// An address of TEST-NET-1 (RFC 5737): it is routed like any other, and nobody answers there.
const net::Address kSomewhere{"192.0.2.1", 9};

bool is_any(const std::string& host) {
    return host == "0.0.0.0" || host == "::";
}

}  // namespace

Result<net::Address> parse_listen_address(const std::string& text) {
    if (!text.ends_with(":0")) {
        return net::parse_address(text);
    }
    Result<net::Address> address = net::parse_address(text.substr(0, text.size() - 1) + "1");
    if (address) {
        address->port = 0;
    }
    return address;
}

Result<std::string> local_address_towards(const net::Address& remote) {
    asio::io_context io;
    boost::system::error_code error;
    udp::resolver resolver(io);
    const auto endpoints = resolver.resolve(remote.host, std::to_string(remote.port), error);
    if (error || endpoints.empty()) {
        return Error{
            ErrorCode::Unreachable,
            Reaction::Retry,
            "cannot find " + remote.host + ": " + error.message()};
    }
    udp::socket socket(io);
    socket.connect(endpoints.begin()->endpoint(), error);
    if (!error) {
        const udp::endpoint local = socket.local_endpoint(error);
        if (!error) {
            return local.address().to_string();
        }
    }
    return Error{
        ErrorCode::Unreachable,
        Reaction::Retry,
        "no route to " + net::to_text(remote) + ": " + error.message()};
}

std::string advertised_host(const std::string& listen_host, const net::Address* remote) {
    if (!is_any(listen_host)) {
        return listen_host;
    }
    const Result<std::string> local = local_address_towards(remote ? *remote : kSomewhere);
    return local ? *local : "127.0.0.1";
}

}  // namespace swarm::cli
