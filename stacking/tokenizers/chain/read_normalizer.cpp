#include "stacking/tokenizers/chain/json_fields.hpp"
#include "stacking/tokenizers/chain/part_readers.hpp"
#include "swarm/base/try.hpp"

#include <utility>

namespace stacking::tokenizers {

namespace json = boost::json;
using swarm::Result;

Result<> read_normalizer(const json::value& part, Chain& chain) {
    constexpr PartNames kNormalizerNames{"normalizer", "normalizers"};
    return for_each_step(part, kNormalizerNames, [&](const json::object& step) -> Result<> {
        const std::string_view type = text_field(step, "type");
        if (type == "NFC") {
            chain.normalizer.emplace_back(ComposeCharacters{});
        } else if (type == "Prepend") {
            SWARM_TRY(auto text, read_step_text(step, "prepend"));
            chain.normalizer.emplace_back(PrependText{std::move(text)});
        } else if (type == "Replace") {
            SWARM_TRY(auto pattern, read_pattern(step));
            SWARM_TRY(auto text, read_step_text(step, "content"));
            chain.normalizer.emplace_back(ReplaceMatches{std::move(pattern), std::move(text)});
        } else {
            return unknown_step(kNormalizerNames, step);
        }
        return {};
    });
}

}  // namespace stacking::tokenizers
