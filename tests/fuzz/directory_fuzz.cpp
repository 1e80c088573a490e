// A directory fed by bytes: each piece comes from a peer whose network is drawn with it, so that
// senders are strangers, listed peers, clients that have asked too much, and peers that come back
// from another network. The directory may refuse and report, never crash; its table stays within
// its bounds, no peer is listed twice, and an honest peer of a network of its own stays listed.
// Input: role_bench.hpp; the sender's byte names one of eight peers, and the number of a piece what
// happens before it: the peer's link breaks (1), or comes back from another network (2).
#include "stacking/sessions/directory.hpp"
#include "swarm/base/check.hpp"
#include "swarm/protocol/limits.hpp"
#include "tests/fuzz/role_bench.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace {

namespace node = swarm::node;
namespace protocol = swarm::protocol;
namespace sessions = stacking::sessions;

constexpr swarm::PeerId kHonest{{100, 0, 0, 0}};
constexpr std::uint64_t kHonestNetwork = 1000;
constexpr std::uint64_t kPeers = 8;

protocol::Register honest_registration() {
    protocol::Register body;
    body.layers = 4;
    body.hosted = {0, 4};
    return body;
}

void check_table(const sessions::DirectoryTable& table) {
    std::set<swarm::PeerId> seen;
    SWARM_ASSERT(table.models().size() <= protocol::kModelsMax);
    for (const auto& [model, hosts] : table.models()) {
        SWARM_ASSERT(!hosts.empty() && hosts.size() <= protocol::kHostsMax);
        for (const auto& [peer, host] : hosts) {
            SWARM_ASSERT(seen.insert(peer).second);
        }
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto role = std::make_unique<sessions::Directory>();
    const sessions::Directory& directory = *role;
    swarm::fuzz::RoleBench bench(std::move(role), {});
    const auto control = node::Lane::Control;
    bench.deliver(node::LinkUp{kHonest, control, {1}, false, kHonestNetwork});
    const auto take = [&](std::uint8_t sender,
                          std::uint8_t number,
                          std::uint16_t /*kind*/,
                          const protocol::Message& message) {
        const swarm::PeerId peer{{1U + sender % kPeers, 0, 0, 0}};
        if (number % 4 == 1 || number % 4 == 2) {
            bench.deliver(node::LinkDown{peer, control});
        }
        if (number % 4 == 2) {
            bench.deliver(node::LinkUp{peer, control, {1}, false, sender % 3U});
        }
        bench.deliver(node::Received{peer, control, message, {}});
        bench.deliver(node::Received{kHonest, control, {0, 0, honest_registration()}, {}});
        check_table(directory.table());
        SWARM_ASSERT(directory.table().contains(kHonest));
    };
    swarm::fuzz::for_each_message(data, size, take);
    return 0;
}
