// A tiny mixture in parts, for tests of roles: the layers of a trunk and of lenders, a server's and
// a client's options, and the text of one process that holds everything.
#pragma once

#include "stacking/llama/llama_lender.hpp"
#include "stacking/sessions/session_client.hpp"
#include "stacking/sessions/session_server.hpp"
#include "stages/compute/top_tokens.hpp"
#include "tests/unit/stacking_llama/random_llama.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

namespace sim {

namespace node = swarm::node;
namespace llama = stacking::llama;
namespace protocol = swarm::protocol;
namespace sessions = stacking::sessions;
using llama::test::kLayers;
using stacking::ExpertSet;

inline constexpr std::uint32_t kExperts = 4;
inline constexpr std::uint32_t kPrompt = 5;
inline constexpr std::uint32_t kTokens = 32;

using Experts = std::vector<std::uint32_t>;

inline ExpertSet set_of(const Experts& experts) {
    ExpertSet set;
    for (const std::uint32_t expert : experts) {
        set.add(expert);
    }
    return set;
}

inline ExpertSet others_than(const ExpertSet& own) {
    ExpertSet others;
    for (std::uint32_t expert = 0; expert < kExperts; ++expert) {
        if (!own.has(expert)) {
            others.add(expert);
        }
    }
    return others;
}

inline swarm::Digest digest(unsigned char first) {
    swarm::Digest digest;
    digest.bytes[0] = static_cast<std::byte>(first);
    return digest;
}

inline const stacking::models::ModelSource& model() {
    static const stacking::models::ModelSource source = llama::test::random_mixture();
    return source;
}

inline std::shared_ptr<const llama::StageWeights> load(const llama::HeldParts& held) {
    const auto layout = stacking::models::layers_of(model().architecture(), 0, kLayers);
    return *llama::load_stage(
        model(), layout, llama::WeightChoice::as_is(), llama::Exits::None, held
    );
}

inline node::SessionRequest request(std::uint64_t number, std::uint32_t tokens = kTokens) {
    node::SessionRequest request;
    request.request = number;
    for (std::uint32_t at = 0; at < kPrompt; ++at) {
        request.prompt.push_back(llama::test::token_of(number, at));
    }
    request.tokens = tokens;
    return request;
}

/// The text of one process that holds everything.
inline std::vector<std::uint32_t> expected(std::uint64_t number) {
    llama::LlamaSessions all(load({}), {});
    EXPECT_TRUE(all.reserve({1}, 64));
    std::vector<std::uint32_t> text = request(number).prompt;
    std::size_t read = 0;
    while (text.size() < kPrompt + kTokens) {
        std::vector<stacking::SessionRow> rows;
        for (std::size_t at = read; at < text.size(); ++at) {
            rows.push_back({{1}, static_cast<std::uint32_t>(at)});
        }
        const std::vector<std::uint32_t> wanted{static_cast<std::uint32_t>(rows.size() - 1)};
        const std::span<const std::uint32_t> tokens(text);
        const auto logits = all.forward(rows, tokens.subspan(read), wanted);
        read = text.size();
        text.push_back(stages::top_tokens(*logits, 1).front().token);
    }
    return {text.begin() + kPrompt, text.end()};
}

inline sessions::LoadedLayers trunk_with(const ExpertSet& own) {
    const auto trunk =
        std::make_shared<llama::LlamaSessions>(load({true, own}), llama::LlamaSessions::Options{});
    sessions::LoadedLayers loaded{trunk, digest(2)};
    loaded.trunk = trunk;
    loaded.lacking = others_than(own);
    loaded.expert_weights = digest(3);
    return loaded;
}

inline sessions::LoadedLayers lender_of(const ExpertSet& lent) {
    sessions::LoadedLayers loaded{nullptr, digest(3)};
    loaded.lender = std::make_shared<llama::LlamaLender>(load({false, lent}), nullptr);
    loaded.lent = lent;
    loaded.expert_weights = digest(3);
    return loaded;
}

inline sessions::SessionServer::Options server_options(
    swarm::PeerId self, std::function<sessions::LoadedLayers()> make
) {
    sessions::SessionServer::Options server;
    server.self = self;
    server.model = digest(1);
    server.layers = kLayers;
    server.fixed = protocol::LayerRange{0, kLayers};
    server.load = [make = std::move(make)](protocol::LayerRange) {
        return swarm::Result<sessions::LoadedLayers>(make());
    };
    return server;
}

inline sessions::SessionClient::Options client_options(
    swarm::PeerId self, swarm::Incarnation incarnation
) {
    sessions::SessionClient::Options client;
    client.self = self;
    client.incarnation = incarnation;
    client.models.push_back({digest(1), llama::test::kVocabulary});
    return client;
}

}  // namespace sim
