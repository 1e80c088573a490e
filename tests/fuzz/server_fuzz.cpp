// A whole stage server fed by bytes: whatever decodes is delivered, from the coordinator or from a
// neighbour, in any order; its device runs at once. It may refuse and report, never crash.
// Input: pieces of [sender u8][kind u16][length u16][control bytes][payload bytes u8].
#include "stages/oracle_compute.hpp"
#include "stages/stage_server.hpp"
#include "swarm/protocol/frame.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace {

namespace node = swarm::node;
namespace protocol = swarm::protocol;

constexpr swarm::PeerId kCoordinator{{9, 0, 0, 0}};

class Bench {
 public:
    Bench() {
        stages::StageServer::Options options;
        options.self = {{2, 0, 0, 0}};
        options.incarnation = {5};
        options.coordinator = kCoordinator;
        options.make_compute = [](const auto& config, const auto& layout) {
            return swarm::Result<std::unique_ptr<stages::StageCompute>>(
                stages::make_oracle_compute(config, layout)
            );
        };
        server_ = std::make_unique<stages::StageServer>(std::move(options));
        for (const auto lane : {node::Lane::Control, node::Lane::Bulk}) {
            deliver(node::LinkUp{kCoordinator, lane, {1}});
            deliver(node::LinkUp{{{1, 0, 0, 0}}, lane, {1}});
            deliver(node::LinkUp{{{3, 0, 0, 0}}, lane, {1}});
        }
    }

    void deliver(const node::Event& event) {
        events_.push_back(event);
        while (!events_.empty()) {
            const node::Event next = std::move(events_.front());
            events_.pop_front();
            now_ += std::chrono::milliseconds(100);
            node::Outbox out;
            server_->on(next, now_, out);
            for (node::Action& action : out.actions) {
                if (auto* compute = std::get_if<node::Compute>(&action)) {
                    compute->work->run();
                    if (compute->answered) {
                        events_.push_back(node::Computed{compute->job, {}});
                    }
                }
            }
            if (server_->next_deadline() <= now_) {
                events_.push_back(node::Woke{});
            }
        }
    }

 private:
    std::unique_ptr<stages::StageServer> server_;
    std::deque<node::Event> events_;
    swarm::TimePoint now_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bench bench;
    std::span<const std::uint8_t> rest(data, size);
    std::uint64_t number = 0;
    while (rest.size() >= 6) {
        const swarm::PeerId from =
            rest[0] % 3 == 0 ? kCoordinator : swarm::PeerId{{rest[0] % 3 == 1 ? 1U : 3U, 0, 0, 0}};
        const auto kind = static_cast<std::uint16_t>(rest[1] | (rest[2] << 8));
        const std::size_t claimed = rest[3] + (std::size_t{rest[4]} << 8U);
        const std::size_t length = std::min<std::size_t>(claimed, rest.size() - 6);
        const std::size_t payload_bytes = rest[5];
        const auto message = protocol::decode_control(kind, std::as_bytes(rest.subspan(6, length)));
        rest = rest.subspan(6 + length);
        if (!message) {
            continue;
        }
        node::Received received{from, protocol::lane_of(message->body), *message, {}};
        if (from == kCoordinator && received.message.number != 0) {
            received.message.number = ++number;  // else every other one only ends the stream
        }
        if (protocol::carries_tensor(kind)) {
            received.payload = node::Payload(
                {protocol::Dtype::Float32, protocol::CodecId::None, {1, 1, 13}},
                std::vector<std::byte>(payload_bytes)
            );
        }
        bench.deliver(received);
    }
    return 0;
}
