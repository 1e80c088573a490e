// Session servers, a session client and a newcomer fed by bytes: every message that decodes is
// delivered to them, from a client, the directory or a neighbour, in any order; their devices run
// at once. They may refuse and report, never crash, and no cache may take a row that does not
// continue it.
// Input: role_bench.hpp; the number of a piece is the value of which its rows are made. This target
// takes the corpus of server_fuzz.cpp.
#include "stacking/sessions/newcomer/newcomer.hpp"
#include "stacking/sessions/oracle_session_compute.hpp"
#include "stacking/sessions/session_client.hpp"
#include "stacking/sessions/session_server.hpp"
#include "swarm/base/check.hpp"
#include "tests/fuzz/any_experts.hpp"
#include "tests/fuzz/role_bench.hpp"
#include "tests/unit/protocol/sample_messages.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace {

namespace node = swarm::node;
namespace protocol = swarm::protocol;
namespace sessions = stacking::sessions;

constexpr swarm::PeerId kDirectory{{9, 0, 0, 0}};

/// The last stage of the model that the sample messages speak of.
std::shared_ptr<sessions::OracleSessionCompute> make_compute() {
    sessions::OracleModel model;
    model.layers = 20;
    model.context = 1U << 18;
    model.tied = true;  // the last stage takes tokens, too
    return std::make_shared<sessions::OracleSessionCompute>(
        model, protocol::LayerRange{10, 20}, 1U << 19
    );
}

/// Experts of the server's layers: all are there, or one is elsewhere, and the others are lent.
enum class Experts { AllHere, Lent };

std::unique_ptr<node::Role> make_server(
    std::shared_ptr<stacking::SessionCompute> compute, Experts experts = Experts::AllHere
) {
    sessions::SessionServer::Options options;
    options.self = {{2, 0, 0, 0}};
    options.model = protocol::sample_digest(6);
    options.layers = 20;
    options.fixed = {10, 20};
    options.load = [compute = std::move(compute), experts](protocol::LayerRange) {
        sessions::LoadedLayers loaded{compute, protocol::sample_digest(7)};
        if (experts == Experts::Lent) {
            loaded.trunk = std::make_shared<swarm::fuzz::StoppingTrunk>(compute, 10);
            loaded.lacking.add(1);
            loaded.lender = std::make_shared<swarm::fuzz::AnyLender>();
            loaded.lent.add(2);
            loaded.expert_weights = protocol::sample_digest(9);
        }
        return loaded;
    };
    options.files.emplace();
    options.files->prepare = []() -> swarm::Result<std::optional<stacking::sharing::ManifestName>> {
        return std::optional(stacking::sharing::ManifestName{
            protocol::sample_digest(8), 32U << 20, 1U << 19});
    };
    options.files->read = [](bool, std::uint32_t) -> swarm::Result<std::vector<std::byte>> {
        return std::vector<std::byte>(7);
    };
    options.directory = kDirectory;
    return std::make_unique<sessions::SessionServer>(std::move(options));
}

/// A copy that takes every chunk and never lacks one.
class AnyCopy final : public sessions::ModelCopy {
 public:
    swarm::Result<std::vector<swarm::Digest>> begin(std::span<const std::byte>) override {
        return std::vector<swarm::Digest>(8);
    }

    swarm::Result<> put(std::uint32_t, std::span<const std::byte>) override { return {}; }

    swarm::Result<Lacking> open(sessions::OpenedModel& opened) override {
        opened.layers = 30;
        opened.split = {{0, 11}, {11, 30}};
        return Lacking();
    }

    swarm::Result<Lacking> load(protocol::LayerRange, swarm::Digest&) override { return Lacking(); }
};

std::unique_ptr<node::Role> make_newcomer() {
    sessions::Newcomer::Options options;
    options.self = {{2, 0, 0, 0}};
    options.model = protocol::sample_digest(6);
    options.copy = std::make_shared<AnyCopy>();
    options.serve = [](protocol::LayerRange, swarm::PeerId) { return make_server(make_compute()); };
    options.directory = kDirectory;
    return std::make_unique<sessions::Newcomer>(std::move(options));
}

std::unique_ptr<node::Role> make_client() {
    sessions::SessionClient::Options options;
    options.self = {{2, 0, 0, 0}};
    options.incarnation = {5};
    options.directory = kDirectory;
    options.models = {{protocol::sample_digest(6), 97}};
    return std::make_unique<sessions::SessionClient>(std::move(options));
}

/// The sender: the directory, two others, or the hop before that the sample messages name.
swarm::PeerId sender_of(std::uint8_t byte) {
    const swarm::PeerId senders[] = {
        kDirectory, {{1, 0, 0, 0}}, {{3, 0, 0, 0}}, protocol::sample_peer(14)};
    return senders[byte % 4];
}

/// The payload of the rows that the message speaks of, all numbers alike; without a shape for 255.
node::Payload payload_of(const protocol::Message& message, std::uint8_t number) {
    std::uint32_t count = 1;  // the outputs of an expert for a token
    if (const auto* const rows = std::get_if<protocol::SessionRows>(&message.body)) {
        count = rows->rows;
    } else if (const auto* const asked = std::get_if<protocol::ExpertRows>(&message.body)) {
        count = asked->rows;
    }
    count = number == 255 ? 0 : count;
    const std::vector<float> values(std::size_t{count} * 4, number);
    const auto bytes = std::as_bytes(std::span(values));
    return {
        {protocol::Dtype::Float32, protocol::CodecId::None, {count, 4}},
        std::vector<std::byte>(bytes.begin(), bytes.end())};
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<swarm::PeerId> peers{{{1, 0, 0, 0}}, {{3, 0, 0, 0}}, kDirectory};
    const auto compute = make_compute();
    swarm::fuzz::RoleBench server(make_server(compute), peers);
    swarm::fuzz::RoleBench trunk(make_server(make_compute(), Experts::Lent), peers);
    swarm::fuzz::RoleBench client(make_client(), peers);
    swarm::fuzz::RoleBench newcomer(make_newcomer(), peers);
    node::SessionRequest request;
    request.prompt = {1, 2, 3};
    request.tokens = 4;
    client.deliver(node::Asked{request});
    request.request = 3;  // a session whose hops choose the codecs of rows
    request.codecs = {std::nullopt};
    client.deliver(node::Asked{request});
    request.codecs.clear();
    request.request = 1;  // a session of an ensemble
    request.members = {{protocol::sample_digest(6), 1}, {protocol::sample_digest(6), 2}};
    client.deliver(node::Asked{request});
    request.request = 2;  // a session of a chain
    request.members.clear();
    request.chain = {{protocol::sample_digest(6)}, {protocol::sample_digest(6), {{10, 20}}}};
    client.deliver(node::Asked{request});
    const auto take = [&](std::uint8_t sender,
                          std::uint8_t number,
                          std::uint16_t kind,
                          const protocol::Message& message) {
        const node::Received received{
            sender_of(sender),
            protocol::lane_of(message.body),
            message,
            protocol::carries_tensor(kind) ? payload_of(message, number) : node::Payload()};
        server.deliver(received);
        trunk.deliver(received);
        client.deliver(received);
        newcomer.deliver(received);
    };
    swarm::fuzz::for_each_message(data, size, take);
    SWARM_ASSERT(compute->gaps() == 0);
    return 0;
}
