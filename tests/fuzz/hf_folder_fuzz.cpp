// Fuzzes a Hugging Face folder from anybody. The input is a line of config.json, and then the
// header of a safetensors file that claims as many bytes of values as follow the header.
#include "stacking/models/hf_config.hpp"
#include "stages/files/safetensors_header.hpp"
#include "swarm/base/check.hpp"

#include <string_view>

using namespace stacking::models;

namespace {

void read_config(std::string_view text) {
    const auto architecture = parse_hf_config(text, "fuzz");
    if (!architecture || !check(*architecture)) {
        return;
    }
    SWARM_ASSERT(!tensors_of(*architecture).empty());
    const auto again = parse_hf_config(make_hf_config(*architecture), "fuzz");
    SWARM_ASSERT(again && again->model.width == architecture->model.width);
}

void read_header(std::string_view text, std::uint64_t value_bytes) {
    const auto entries = stages::parse_safetensors_header(text, value_bytes);
    if (!entries) {
        return;
    }
    std::uint64_t next = 0;
    for (const stages::SafetensorsEntry& entry : *entries) {
        SWARM_ASSERT(entry.begin == next && entry.end >= entry.begin);
        next = entry.end;
    }
    SWARM_ASSERT(next == value_bytes);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t line = text.find('\n');
    read_config(text.substr(0, line));
    if (line == std::string_view::npos) {
        return 0;
    }
    const std::string_view rest = text.substr(line + 1);
    const std::size_t header = rest.find('\n');
    if (header != std::string_view::npos) {
        read_header(rest.substr(0, header), rest.size() - header - 1);
    }
    return 0;
}
