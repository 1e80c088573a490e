#include "swarm/cli/doctor/reach_check.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/common/own_address.hpp"
#include "swarm/cli/common/swarm_key.hpp"
#include "swarm/cli/owners/owner_check.hpp"

#include <algorithm>
#include <chrono>

namespace swarm::cli {
namespace {

using Level = Finding::Level;
using protocol::DialBack;

constexpr auto kAnswersWithin = std::chrono::seconds(5);
constexpr const char* kName = "reach";

struct Asked {
    net::DialBackAnswer answer;
    std::vector<net::Address> own;
};

Result<Asked> ask(const ReachFlags& flags, Console& console) {
    net::DialBackQuestion question{.host = flags.join};
    SWARM_TRY(const auto hosts, net::parse_addresses(flags.join));
    SWARM_TRY(question.listen, parse_listen_address(flags.listen));
    question.first_contact = make_owner_check(flags.owner, console);
    SWARM_TRY(question.swarm_key, read_swarm_key(flags.swarm_key_file));
    if (!flags.advertise.empty()) {
        SWARM_TRY(const auto advertised, net::parse_address(flags.advertise));
        question.port = advertised.port;
    }
    const net::Identity self = net::Identity::make_ephemeral();
    SWARM_TRY(auto answer, net::ask_dial_back(question, self, kAnswersWithin));
    return Asked{std::move(answer), advertised_addresses(question.listen, &hosts.front())};
}

/// Says which deed lets others in.
std::string mend_of(const net::DialBackAnswer& answer, bool behind_router) {
    const std::string port = std::to_string(answer.port);
    const std::string lend = "serve --listen :" + port;
    if (!behind_router) {
        return "let TCP port " + port + " through the firewall of this machine, then " + lend;
    }
    return "forward TCP port " + port + " of the router to this machine, then " + lend +
           " --advertise " + net::to_text(net::Address{answer.seen_from, answer.port});
}

}  // namespace

Finding describe_reach(
    const std::string& host, const net::DialBackAnswer& answer, const std::vector<net::Address>& own
) {
    const std::string at = net::to_text(net::Address{answer.seen_from, answer.port});
    const bool behind_router = std::ranges::none_of(own, [&](const net::Address& address) {
        return address.host == answer.seen_from;
    });
    const std::string sees = host + " sees this machine as " + answer.seen_from +
                             (behind_router ? ", the address of a router" : "");
    const std::string one_way =
        "; it still works beside peers that can be reached, but not beside another like it";
    switch (answer.outcome) {
        case DialBack::Reached:
            return {Level::Good, kName, sees + " and reaches it at " + at};
        case DialBack::Refused:
        case DialBack::Silent: {
            const bool refused = answer.outcome == DialBack::Refused;
            const std::string met = refused ? " is refused" : " gets no answer";
            return {
                Level::Warning,
                kName,
                sees + ", and a dial to " + at + met + one_way,
                mend_of(answer, behind_router)};
        }
        case DialBack::AnotherPeer:
            return {
                Level::Warning,
                kName,
                sees + ", and another program answers at " + at + one_way,
                mend_of(answer, behind_router)};
        case DialBack::Busy:
            return {Level::Warning, kName, host + " answers others just now", "ask again"};
        case DialBack::Unasked:
            break;
    }
    return {
        Level::Warning,
        kName,
        host + " does not say whether it reaches this machine",
        "ask a coordinator, a directory or a peer of this version"};
}

Finding check_reach(const ReachFlags& flags, Console& console) {
    const Result<Asked> asked = ask(flags, console);
    if (!asked) {
        return {
            Level::Bad,
            kName,
            asked.error().detail,
            "--join wants what serve --join takes: the line that the coordinator printed"};
    }
    return describe_reach(flags.join, asked->answer, asked->own);
}

}  // namespace swarm::cli
