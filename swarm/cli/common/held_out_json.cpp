#include "swarm/cli/common/held_out_json.hpp"

#include <boost/json.hpp>

#include <cmath>
#include <utility>

namespace swarm::cli {
namespace {

namespace json = boost::json;

json::value finite_or_null(double value) {
    return std::isfinite(value) ? json::value(value) : json::value(nullptr);
}

}  // namespace

json::array held_out_texts_json(std::span<const HeldOutFound::Text> texts) {
    json::array array;
    for (const HeldOutFound::Text& text : texts) {
        array.push_back(
            {{"name", text.name},
             {"loss", finite_or_null(text.loss)},
             {"perplexity", finite_or_null(std::exp(text.loss))},
             {"bits_per_byte",
              text.bits_per_byte ? json::value(*text.bits_per_byte) : json::value(nullptr)}}
        );
    }
    return array;
}

json::array held_out_json(const std::map<std::uint64_t, HeldOutFound>& by_step) {
    json::array array;
    for (const auto& [step, found] : by_step) {
        array.push_back(
            {{"step", step},
             {"loss", finite_or_null(found.loss)},
             {"best", found.is_best},
             {"texts", held_out_texts_json(found.texts)}}
        );
    }
    return array;
}

}  // namespace swarm::cli
