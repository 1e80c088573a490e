#include "swarm/net/listen.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/v6_only.hpp>

namespace swarm::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

enum class Families { One, Both };

void open_at(
    tcp::acceptor& acceptor, const tcp::endpoint& endpoint, Families families, error_code& error
) {
    acceptor.open(endpoint.protocol(), error);
    const auto then = [&](auto step) {
        if (!error) {
            step();
        }
    };
    if (families == Families::Both) {
        then([&] { acceptor.set_option(asio::ip::v6_only(false), error); });
    }
    then([&] { acceptor.set_option(tcp::acceptor::reuse_address(true), error); });
    then([&] { acceptor.bind(endpoint, error); });
    then([&] { acceptor.listen(tcp::acceptor::max_listen_connections, error); });
}

void open_everywhere(tcp::acceptor& acceptor, std::uint16_t port, error_code& error) {
    open_at(acceptor, {asio::ip::address_v6::any(), port}, Families::Both, error);
    if (error == asio::error::address_family_not_supported ||
        error == boost::system::errc::address_not_available) {  // a machine without IPv6
        error_code ignored;
        acceptor.close(ignored);
        open_at(acceptor, {asio::ip::address_v4::any(), port}, Families::One, error);
    }
}

Error unusable(std::string detail) {
    return {ErrorCode::Usage, Reaction::Fatal, std::move(detail)};
}

}  // namespace

Result<tcp::acceptor> listen_at(const asio::any_io_executor& executor, const Address& address) {
    const std::string where = to_text(address) + ": ";
    tcp::acceptor acceptor(executor);
    error_code error;
    if (address.host == kEveryHost) {
        open_everywhere(acceptor, address.port, error);
    } else {
        const auto ip = asio::ip::make_address(address.host, error);
        if (error) {
            return unusable(
                where + "listen on an IPv4 or IPv6 address, or on * for all of this machine"
            );
        }
        open_at(acceptor, {ip, address.port}, Families::One, error);
    }
    if (error) {
        const bool busy = error == asio::error::address_in_use;
        return unusable(
            "cannot listen on " + where + error.message() +
            (busy ? "; choose another port, or 0 for a free one" : "")
        );
    }
    return acceptor;
}

}  // namespace swarm::net
