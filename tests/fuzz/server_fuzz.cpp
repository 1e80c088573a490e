// A whole stage server fed by bytes: every message that decodes is delivered, from the coordinator
// or from a neighbour, in any order; the server's device runs at once. The server may refuse and
// report, never crash.
// Input: role_bench.hpp; the number of a piece is the length of its payload.
#include "stages/compute/oracle_compute.hpp"
#include "stages/server/stage_server.hpp"
#include "tests/fuzz/role_bench.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace {

namespace node = swarm::node;
namespace protocol = swarm::protocol;

constexpr swarm::PeerId kCoordinator{{9, 0, 0, 0}};

std::unique_ptr<node::Role> make_server() {
    stages::StageServer::Options options;
    options.self = {{2, 0, 0, 0}};
    options.incarnation = {5};
    options.coordinator = kCoordinator;
    options.make_compute = [](const auto& config, const auto& layout) {
        return swarm::Result<std::unique_ptr<stages::StageCompute>>(
            stages::make_oracle_compute(config, layout)
        );
    };
    return std::make_unique<stages::StageServer>(std::move(options));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<swarm::PeerId> others{{{1, 0, 0, 0}}, {{3, 0, 0, 0}}};
    swarm::fuzz::RoleBench bench(make_server(), {kCoordinator, others[0], others[1]});
    std::uint64_t numbered = 0;
    const auto take = [&](std::uint8_t sender,
                          std::uint8_t payload_bytes,
                          std::uint16_t kind,
                          const protocol::Message& message) {
        const swarm::PeerId from = sender % 3 == 0 ? kCoordinator : others[sender % 3 - 1];
        node::Received received{from, protocol::lane_of(message.body), message, {}};
        if (from == kCoordinator && received.message.number != 0) {
            received.message.number = ++numbered;  // another number would only end the stream
        }
        if (protocol::carries_tensor(kind)) {
            received.payload = node::Payload(
                {protocol::Dtype::Float32, protocol::CodecId::None, {1, 1, 13}},
                std::vector<std::byte>(payload_bytes)
            );
        }
        bench.deliver(received);
    };
    swarm::fuzz::for_each_message(data, size, take);
    return 0;
}
