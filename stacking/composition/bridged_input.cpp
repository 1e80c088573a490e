#include "stacking/composition/bridged_input.hpp"

#include <memory>
#include <utility>

namespace stacking::composition {

BridgedInput bridged_input(Bridge bridge, ReadEmbedding embed) {
    const auto shared = std::make_shared<const Bridge>(std::move(bridge));
    const std::size_t width = shared->outputs();
    auto read = [shared, width, embed = std::move(embed)](
                    std::span<const TokenId> tokens, std::vector<float> said
                ) {
        std::vector<float> x(tokens.size() * width);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            embed(tokens[i], std::span(x).subspan(i * width, width));
        }
        normalise_rows(said, shared->inputs());
        shared->add(said, x);
        return x;
    };
    return {shared->inputs(), std::move(read)};
}

swarm::Digest identity_over(const swarm::Digest& model, const Bridge& bridge) {
    swarm::Sha256 hash;
    hash.add(model.bytes);
    hash.add_text(", over the bridge ");
    hash.add(bridge.to_file());
    return hash.finish();
}

}  // namespace stacking::composition
