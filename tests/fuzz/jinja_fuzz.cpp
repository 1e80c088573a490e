// Fuzzes a chat template from anybody: the input is the template. Its data are a small
// conversation. A rendering ends, within its bounds, with UTF-8 or with one line.
#include "stacking/tokenizers/jinja/limits.hpp"
#include "stacking/tokenizers/jinja/template.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/check.hpp"

#include <boost/json/parse.hpp>

#include <cstdint>
#include <string>
#include <string_view>

using namespace stacking::tokenizers;

namespace {

constexpr const char* kData = R"({"messages": [
    {"role": "system", "content": "Be <|x|> kind."},
    {"role": "user", "content": "añ中\n "},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments":
        {"a": 1, "b": [true, null, 2.5]}}}]}],
    "tools": [{"name": "f"}], "add_generation_prompt": true, "n": 3})";

jinja::Variables variables() {
    const boost::json::value data = boost::json::parse(kData);
    jinja::Variables all;
    for (const auto& [name, json] : data.as_object()) {
        all.emplace_back(std::string(name), *jinja::from_json(json, jinja::Origin::Data));
    }
    return all;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const jinja::Variables kVariables = variables();
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const auto compiled = jinja::Template::compile(input.substr(0, utf8_prefix(input)));
    if (!compiled) {
        return 0;
    }
    const auto text = compiled->render(kVariables, 0);
    if (!text) {
        SWARM_ASSERT(!text.error().detail.empty());
        return 0;
    }
    SWARM_ASSERT(text->size() <= jinja::kTextBytesMax);
    SWARM_ASSERT(utf8_prefix(text->bytes()) == text->size());
    SWARM_ASSERT(text->empty() == text->runs().empty());
    SWARM_ASSERT(text->empty() || text->runs().back().end == text->size());
    return 0;
}
