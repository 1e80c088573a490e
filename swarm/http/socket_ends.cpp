#include "swarm/http/socket_ends.hpp"

#include <boost/asio/ip/address.hpp>

namespace swarm::http {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

asio::ip::address plain(const asio::ip::address& address) {
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
        return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    }
    return address;
}

}  // namespace

std::string client_address(const tcp::endpoint& from) {
    return plain(from.address()).to_string();
}

Gate::Reach reach_of(const tcp::socket& socket) {
    boost::system::error_code gone;
    const tcp::endpoint local = socket.local_endpoint(gone);
    const bool is_loopback = !gone && plain(local.address()).is_loopback();
    return is_loopback ? Gate::Reach::ThisMachine : Gate::Reach::Everybody;
}

}  // namespace swarm::http
